"""A real S3 server for all tests of a process, and stores of objects at places of their own."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from angelia.store.objects.folder import FolderObjects
from angelia.store.objects.port import ObjectStore
from angelia.store.objects.s3 import S3Objects
from tests.objects.s3_server import BUCKET, Line, credentials, s3_server
from tests.objects.seaweedfs import SeaweedFS, seaweedfs_server

_NUMBERS = count()


def fresh_prefix() -> str:
    """An address where nothing is, in the bucket that each server has."""
    return f"s3://{BUCKET}/home/{next(_NUMBERS)}"


@pytest.fixture(scope="session")
def s3() -> Iterator[int]:
    with s3_server() as port:
        yield port


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with seaweedfs_server(tmp_path_factory.mktemp("weed")) as server:
        yield server


@pytest.fixture
def prefix(s3: int) -> str:
    """An address in the bucket where nothing is."""
    return fresh_prefix()


@pytest.fixture
def line(s3: int) -> Iterator[Line]:
    """A line to the server that can fail."""
    line = Line(s3)
    yield line
    line.close()


REAL_SEAWEEDFS = pytest.param("seaweedfs", marks=pytest.mark.real("seaweedfs"))


@pytest.fixture(params=["folder", "s3", REAL_SEAWEEDFS])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], ObjectStore]:
    """Gives ways to one empty store."""
    if request.param == "folder":
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        return lambda: FolderObjects(folder)
    address, found = fresh_prefix(), request.getfixturevalue(request.param)
    port = found.port if isinstance(found, SeaweedFS) else found
    return lambda: S3Objects(address, credentials(port))
