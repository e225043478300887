"""A home can be checked, mended, copied and swept."""

import os
import shutil
import time
from pathlib import Path

import pytest

from angelia.core.content import Media, MediaKind
from angelia.core.entry import ConversationOpened, UserSaid
from angelia.core.errors import BadInput, NotFound, StoreDamaged
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from tests.store.words import said

pytestmark = pytest.mark.anyio


@pytest.fixture
async def picture(transcript: Transcript, conversation: ConversationId, blobs: BlobStore) -> str:
    """The name of the bytes that an entry of the conversation refers to."""
    ref = await blobs.put(b"GIF89a and so on")
    await transcript.append(conversation, [said("needle"), UserSaid((Media(ref, MediaKind.IMAGE),))])
    return ref.sha256


async def test_a_sound_home_has_no_problems(db: Database, blobs: BlobStore, picture: str) -> None:
    assert await upkeep.verify(db, blobs) == []


async def test_missing_and_damaged_blobs_are_named(db: Database, blobs: BlobStore, picture: str) -> None:
    path = blobs.path(picture)
    path.chmod(0o600)
    path.write_bytes(b"something else")
    assert await upkeep.verify(db, blobs) == [f"The blob {picture} holds other bytes than were stored."]
    path.unlink()
    assert await upkeep.verify(db, blobs) == [f"The blob {picture} is missing."]


async def test_gaps_and_unreadable_entries_are_named(
    db: Database, blobs: BlobStore, conversation: ConversationId
) -> None:
    row = "INSERT INTO entries (conversation, seq, at, epoch, version, kind, body) VALUES (?, 5, 0, 0, 1, 'X', x'7b7d')"
    await db.write(lambda connection: connection.execute(row, (conversation,)))
    problems = await upkeep.verify(db, blobs)
    assert problems[0] == f"{conversation} has 2 entries, numbered up to 5."
    assert problems[1].startswith(f"Entry 5 of {conversation} cannot be read")


async def test_an_index_that_lost_words_is_noticed_and_rebuilt(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    await transcript.append(conversation, [said("needle"), said("needle again")])
    await search(db, OWNER, "needle")
    lose = "INSERT INTO words (words, rowid, text) VALUES ('delete', 2, 'needle')"
    await db.write(lambda connection: connection.execute(lose))
    assert len(await search(db, OWNER, "needle")) == 1
    (problem,) = await upkeep.verify(db, blobs)
    assert problem.startswith("The full-text index knows 1 of 2 entries")
    await upkeep.rebuild(db)
    assert await upkeep.verify(db, blobs) == []
    assert len(await search(db, OWNER, "needle")) == 2


async def test_a_backup_is_a_home(
    db: Database, blobs: BlobStore, conversation: ConversationId, picture: str, tmp_path: Path
) -> None:
    to = tmp_path / "backups" / "today"
    await upkeep.backup(db, blobs, to)
    copy = Database.open(to)
    assert await Transcript(copy).entries(conversation) == await Transcript(db).entries(conversation)
    assert await BlobStore(to).get(picture) == await blobs.get(picture)
    assert await upkeep.verify(copy, BlobStore(to)) == []
    copy.close()
    with pytest.raises(BadInput, match="is not empty"):
        await upkeep.backup(db, blobs, to)


async def test_a_backup_while_others_write_is_consistent(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore, tmp_path: Path
) -> None:
    for number in range(5):
        await transcript.append(conversation, [said(f"{number}")])
        await upkeep.backup(db, blobs, tmp_path / f"backup{number}")
        copy = Database.open(tmp_path / f"backup{number}")
        assert len(await Transcript(copy).entries(conversation)) == number + 2
        copy.close()


async def test_a_backup_of_lost_or_damaged_bytes_fails_aloud(
    db: Database, blobs: BlobStore, picture: str, tmp_path: Path
) -> None:
    path = blobs.path(picture)
    path.chmod(0o600)
    path.write_bytes(b"something else")
    with pytest.raises(StoreDamaged):
        await upkeep.backup(db, blobs, tmp_path / "one")
    path.unlink()
    with pytest.raises(NotFound):
        await upkeep.backup(db, blobs, tmp_path / "two")


async def test_the_sweep_takes_old_orphans_and_nothing_else(db: Database, blobs: BlobStore, picture: str) -> None:
    orphan, fresh = await blobs.put(b"orphan"), await blobs.put(b"fresh orphan")
    a_week_ago = time.time() - 7 * 86_400
    for name in (orphan.sha256, picture):
        os.utime(blobs.path(name), (a_week_ago, a_week_ago))
    assert await upkeep.sweep(db, blobs) == [orphan.sha256]
    assert set(await blobs.all()) == {picture, fresh.sha256}


async def test_a_copied_folder_is_a_home_too(
    home: Path, db: Database, transcript: Transcript, conversation: ConversationId, tmp_path: Path
) -> None:
    await transcript.append(conversation, [said("one")])
    db.close()
    shutil.copytree(home, tmp_path / "copy")
    copy = Database.open(tmp_path / "copy")
    await Transcript(copy).append(conversation, [said("two")])
    await Transcript(copy).append(ConversationId("x"), [ConversationOpened("terminal", "/")])
    assert len(await Transcript(copy).entries(conversation)) == 3
    copy.close()
