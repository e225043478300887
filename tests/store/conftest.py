"""A home on the disk, opened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.ids import ConversationId, new_conversation
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.sql import database
from angelia.store.sql.database import Database
from tests.empty_logs import MADE
from tests.store.postgres_server import PostgresServer, postgres_server


@pytest.fixture(autouse=True)
def logs_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Table by table: that is what these tests are about."""
    monkeypatch.setattr(database, "_make_home", MADE)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def engine() -> str:
    """On which store a test runs; whoever asks for another one says so by `parametrize`."""
    return "sqlite"


@pytest.fixture
def db(home: Path, engine: str, request: pytest.FixtureRequest) -> Iterator[LogStore]:
    db: LogStore
    if engine == "sqlite":
        db = Database.open(home)
    else:
        db = PostgresDatabase.open(request.getfixturevalue("postgres").fresh(), home)
    yield db
    db.close()


@pytest.fixture
def transcript(db: LogStore) -> Transcript:
    return Transcript(db)


@pytest.fixture
def blobs(db: LogStore) -> BlobStore:
    return BlobStore(db.home)


@pytest.fixture
async def conversation(transcript: Transcript) -> ConversationId:
    conversation = new_conversation()
    await transcript.append(conversation, [ConversationOpened("terminal", "/work")])
    return conversation
