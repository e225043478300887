"""A store of bytes, what takes attached files into it, and a folder that they come from."""

from pathlib import Path

import pytest

from angelia.service.files.attachments import Attachments
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    (tmp_path / "home").mkdir()
    return BlobStore(tmp_path / "home")


@pytest.fixture
def attachments(blobs: BlobStore) -> Attachments:
    return Attachments(Intake(blobs, limit=1_000_000), most_text=10_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"
