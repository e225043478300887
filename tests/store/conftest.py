"""A home on the disk, opened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.ids import ConversationId, new_conversation
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def db(home: Path) -> Iterator[Database]:
    db = Database.open(home)
    yield db
    db.close()


@pytest.fixture
def transcript(db: Database) -> Transcript:
    return Transcript(db)


@pytest.fixture
def blobs(db: Database) -> BlobStore:
    return BlobStore(db.home)


@pytest.fixture
async def conversation(transcript: Transcript) -> ConversationId:
    conversation = new_conversation()
    await transcript.append(conversation, [ConversationOpened("terminal", "/work")])
    return conversation
