"""A real S3 server for all tests of a process, and stores of objects at places of their own."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from angelia.store.objects.folder import FolderObjects
from angelia.store.objects.port import ObjectStore
from angelia.store.objects.s3 import S3Objects
from tests.objects.s3_server import BUCKET, Line, credentials, s3_server

_NUMBERS = count()


@pytest.fixture(scope="session")
def s3() -> Iterator[int]:
    with s3_server() as port:
        yield port


@pytest.fixture
def prefix(s3: int) -> str:
    """An address in the bucket where nothing is."""
    return f"s3://{BUCKET}/home/{next(_NUMBERS)}"


@pytest.fixture
def line(s3: int) -> Iterator[Line]:
    """A line to the server that can fail."""
    line = Line(s3)
    yield line
    line.close()


@pytest.fixture(params=["folder", "s3"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], ObjectStore]:
    """Gives ways to one empty store."""
    if request.param == "folder":
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        return lambda: FolderObjects(folder)
    port, address = request.getfixturevalue("s3"), request.getfixturevalue("prefix")
    return lambda: S3Objects(address, credentials(port))
