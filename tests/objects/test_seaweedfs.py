"""What a server adds that looks at signatures, and keeps its bytes when it is killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.core.errors import StoreUnreachable
from angelia.store.media.cached_blobs import CachedBlobs
from angelia.store.objects.s3 import S3Objects, S3Patience
from tests.objects.conftest import fresh_prefix
from tests.objects.s3_server import credentials
from tests.objects.seaweedfs import SeaweedFS, seaweedfs_server

pytestmark = [pytest.mark.anyio, pytest.mark.real("seaweedfs")]

ONCE = S3Patience(connect_s=10.0, request_s=20.0, all_s=30.0, repeats=1)


async def nothing(_: object) -> set[str]:
    return set()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[SeaweedFS]:
    """One of its own, which a test may kill."""
    (tmp_path / "server").mkdir()
    with seaweedfs_server(tmp_path / "server") as server:
        yield server


def test_keys_that_are_wrong_are_refused_and_told(seaweedfs: SeaweedFS) -> None:
    wrong = {**credentials(seaweedfs.port), "AWS_SECRET_ACCESS_KEY": "another-secret"}
    with pytest.raises(StoreUnreachable, match="refuses to store a file") as told:
        S3Objects(fresh_prefix(), wrong, ONCE).create("blobs/one", b"x")
    assert "AWS_SECRET_ACCESS_KEY" in told.value.then
    assert "another-secret" not in str(told.value)


def test_a_bucket_that_is_not_there_is_told(seaweedfs: SeaweedFS) -> None:
    objects = S3Objects("s3://no-such-bucket/x", credentials(seaweedfs.port), ONCE)
    with pytest.raises(StoreUnreachable, match="There is no bucket"):
        objects.move("blobs/old", "trash/old")


@pytest.mark.soak
async def test_a_server_that_is_killed_and_comes_back_has_all_that_was_acknowledged(
    own: SeaweedFS, tmp_path: Path
) -> None:
    objects = S3Objects(fresh_prefix(), credentials(own.port), ONCE)
    blobs = CachedBlobs(tmp_path, objects, 1_000_000, nothing)
    kept = [await blobs.put(f"{number}".encode() * 10_000) for number in range(20)]
    own.kill()
    with pytest.raises(StoreUnreachable):
        await blobs.put(b"while it is away")
    own.start()
    for number, ref in enumerate(kept):
        blobs.path(ref.sha256).unlink()
        assert await blobs.get(ref.sha256) == f"{number}".encode() * 10_000
    late = await blobs.put(b"while it is away")
    blobs.path(late.sha256).unlink()
    assert await blobs.get(late.sha256) == b"while it is away"
