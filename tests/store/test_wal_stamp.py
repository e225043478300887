"""That somebody has committed is seen at the write-ahead log's file, before the database itself is asked."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from angelia.core.ids import ConversationId
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.wal_stamp import wal_stamp
from tests.store.words import said

pytestmark = pytest.mark.anyio


def rested(home: Path) -> None:
    """As it is a minute after the last commit."""
    wal = f"{home / FILE}-wal"
    os.utime(wal, ns=(0, time.time_ns() - 60_000_000_000))


async def test_what_was_committed_just_now_has_none_since_the_next_commit_may_look_the_same(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    stamps = []
    for number in range(20):  # a machine may rest between two lines
        await transcript.append(conversation, [said(f"{number}")])
        stamps.append(wal_stamp(db.home / FILE))
    assert None in stamps
    rested(db.home)
    assert wal_stamp(db.home / FILE) is not None


@pytest.mark.usefixtures("conversation")
async def test_a_file_from_the_future_has_none(db: Database) -> None:
    os.utime(f"{db.home / FILE}-wal", ns=(0, time.time_ns() + 60_000_000_000))
    assert wal_stamp(db.home / FILE) is None


async def test_whoever_waits_for_a_commit_is_told_of_one_by_somebody_else(
    db: Database, conversation: ConversationId
) -> None:
    rested(db.home)
    version = await db.data_version()
    waiting = asyncio.create_task(db.next_commit(version, 3_600))
    other = Database.open(db.home)
    await Transcript(other).append(conversation, [said("from elsewhere")])
    await waiting
    assert await db.data_version() != version
    other.close()


async def test_a_commit_between_the_look_and_the_wait_ends_the_wait(db: Database, conversation: ConversationId) -> None:
    rested(db.home)
    version = await db.data_version()
    other = Database.open(db.home)
    await Transcript(other).append(conversation, [said("from elsewhere")])
    await db.next_commit(version, 3_600)
    assert await db.data_version() != version
    await db.next_commit(version, 3_600)  # that of another's look
    other.close()


async def test_where_there_is_no_write_ahead_log_the_database_is_asked(tmp_path: Path) -> None:
    assert wal_stamp(tmp_path / FILE) is None
