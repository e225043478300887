"""A server that is down, busy, silent or lies: said clearly, and nothing is lost by it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.core.errors import ConfigError, StoreDamaged, StoreError, StoreUnreachable
from angelia.store.media.cached_blobs import CachedBlobs
from angelia.store.objects.port import ObjectStore
from angelia.store.objects.registry import open_objects
from angelia.store.objects.s3 import PART, S3Objects, S3Patience
from angelia.testing.objects.checks import read
from tests.objects.s3_server import BUCKET, Fault, Line, credentials

pytestmark = pytest.mark.anyio

PATIENCE = S3Patience(connect_s=5.0, request_s=4.0, all_s=15.0, repeats=3)
ONCE = S3Patience(connect_s=10.0, request_s=10.0, all_s=20.0, repeats=1)
QUICK = S3Patience(connect_s=0.2, request_s=0.2, all_s=0.3, repeats=1)
"""Where the server never gives a whole answer anyway."""


async def nothing(_: object) -> set[str]:
    return set()


@pytest.fixture
def objects(line: Line, prefix: str) -> S3Objects:
    return S3Objects(prefix, credentials(line.port), PATIENCE)


@pytest.fixture
def impatient(line: Line, prefix: str) -> S3Objects:
    return S3Objects(prefix, credentials(line.port), QUICK)


@pytest.fixture
def sound(s3: int, prefix: str) -> ObjectStore:
    """The same place by a line that does not fail."""
    return S3Objects(prefix, credentials(s3))


def refused(objects: S3Objects) -> StoreUnreachable:
    """What everything that can be asked comes to; the same for all."""
    acts: tuple[Callable[[], object], ...] = (
        lambda: objects.create("blobs/new", b"x"),
        lambda: objects.replace("blobs/old", b"x"),
        lambda: objects.look("blobs/old"),
        lambda: read(objects, "blobs/old"),
        lambda: list(objects.list("blobs")),
        lambda: objects.move("blobs/old", "trash/old"),
        lambda: objects.delete("blobs/old"),
    )
    for act in acts:
        with pytest.raises(StoreUnreachable) as told:
            act()
        assert told.value.then.startswith("Nothing was acknowledged")
        assert "Debug" not in str(told.value)
        assert len(str(told.value)) < 800
    return told.value


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.SILENT, Fault.FORBIDDEN])
def test_a_server_that_does_not_answer_is_told_and_what_lay_there_lies_there(
    sound: ObjectStore, line: Line, prefix: str, fault: Fault
) -> None:
    sound.create("blobs/old", b"as it was")
    line.fail(fault)
    next_step = "AWS_ACCESS_KEY_ID" if fault is Fault.FORBIDDEN else "Try again once it answers"
    patience = QUICK if fault is Fault.SILENT else ONCE
    assert next_step in refused(S3Objects(prefix, credentials(line.port), patience)).then
    assert read(sound, "blobs/old") == b"as it was"


def test_a_server_that_is_down_is_told(impatient: S3Objects, line: Line) -> None:
    line.close()
    assert "Try again once it answers" in refused(impatient).then


def test_replies_that_are_cut_off_are_no_replies(impatient: S3Objects, sound: ObjectStore, line: Line) -> None:
    sound.create("blobs/old", b"as it was")
    line.fail(Fault.CUT, after=-10)
    refused(impatient)


def test_a_bucket_that_is_not_there_is_no_missing_file(s3: int) -> None:
    objects = S3Objects("s3://no-such-bucket/x", credentials(s3))
    with pytest.raises(StoreUnreachable, match="There is no bucket"):
        objects.create("blobs/new", b"x")
    with pytest.raises(StoreUnreachable, match="There is no bucket"):
        objects.move("blobs/old", "trash/old")


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.CUT, Fault.SILENT])
def test_what_fails_once_is_asked_again(objects: S3Objects, sound: ObjectStore, line: Line, fault: Fault) -> None:
    data = os.urandom(PART + 1000)
    line.fail(fault, times=1)
    assert objects.create("blobs/one", data) or sound.look("blobs/one")
    assert read(sound, "blobs/one") == data
    line.fail(fault, times=1)
    assert read(objects, "blobs/one") == data


def test_cut_off_in_the_middle_of_a_large_one_it_is_not_there(
    objects: S3Objects, sound: ObjectStore, line: Line
) -> None:
    data = os.urandom(3 * PART)
    line.fail(Fault.CUT_PUT, after=PART // 2)
    with pytest.raises(StoreUnreachable):
        objects.create("blobs/large", data)
    assert sound.look("blobs/large") is None
    line.fail(Fault.NONE)
    assert objects.create("blobs/large", data)
    assert read(sound, "blobs/large") == data


async def test_bytes_that_are_altered_on_their_way_are_not_kept(objects: S3Objects, line: Line, tmp_path: Path) -> None:
    blobs = CachedBlobs(tmp_path, objects, 1_000_000, nothing)
    ref = await blobs.put(b"as they were")
    blobs.path(ref.sha256).unlink()
    line.fail(Fault.ALTERED)
    with pytest.raises(StoreDamaged, match="holds other bytes than were stored"):
        await blobs.get(ref.sha256)
    line.fail(Fault.NONE)
    assert await blobs.get(ref.sha256) == b"as they were"


async def test_while_the_server_is_away_what_is_here_is_read_and_nothing_is_acknowledged(
    objects: S3Objects, line: Line, tmp_path: Path
) -> None:
    blobs = CachedBlobs(tmp_path, objects, 1_000_000, nothing)
    here, there = await blobs.put(b"here"), await blobs.put(b"there")
    blobs.path(there.sha256).unlink()
    line.fail(Fault.BUSY)
    assert await blobs.get(here.sha256) == b"here"
    assert await blobs.put(b"here") == here, "what was seen to lie there within the hour is not sent again"
    for act in (blobs.get(there.sha256), blobs.put(b"new"), blobs.stored(), blobs.has(there), blobs.aged(0)):
        with pytest.raises(StoreError):
            await act
    line.fail(Fault.NONE)
    assert await blobs.get(there.sha256) == b"there"
    assert await blobs.get((await blobs.put(b"new")).sha256) == b"new"


@pytest.mark.parametrize(
    ("address", "environ", "told"),
    [
        ("s3://", {}, "Write s3://bucket/prefix"),
        ("s3://bucket/x?y=z", {}, "Write s3://bucket/prefix"),
        ("gs://bucket/x", {}, "nothing here stores files there"),
        ("s3://bucket", {"AWS_ENDPOINT_URL": "http://minio:9000"}, "would travel unencrypted"),
    ],
)
def test_an_address_of_no_use_is_said_at_once(address: str, environ: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_objects(address, environ)


def test_http_is_spoken_where_it_is_meant() -> None:
    environ = {"AWS_ENDPOINT_URL": "http://minio:9000", "AWS_ALLOW_HTTP": "true"}
    assert open_objects(f"s3://{BUCKET}", environ).address == f"s3://{BUCKET}"
