"""One driver at a time, in this process and across processes."""

import asyncio
import os
import resource
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.core.errors import Fenced, NotFound, StoreFull
from angelia.core.ids import ConversationId
from angelia.store.log.lease import HeldElsewhere, Lease
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from tests.store.leases import acquire
from tests.store.processes import Child, line, start
from tests.store.words import said

pytestmark = pytest.mark.anyio


@pytest.fixture
def children() -> Iterator[list[Child]]:
    """Processes to be ended with the test."""
    started: list[Child] = []
    yield started
    for child in started:
        child.kill()
        child.communicate()


async def test_a_second_driver_is_told_who_drives(db: Database, conversation: ConversationId) -> None:
    await acquire(db, conversation, "the terminal")
    with pytest.raises(HeldElsewhere, match=r"the terminal \(process \d+\) is working on this conversation"):
        await acquire(db, conversation, "the gateway")


async def test_a_name_that_has_its_process_is_told_with_it_once(db: Database, conversation: ConversationId) -> None:
    await acquire(db, conversation, f"terminal, process {os.getpid()}")
    with pytest.raises(HeldElsewhere, match=rf"^terminal, process {os.getpid()} is working on this conversation"):
        await acquire(db, conversation, "the gateway")


async def test_of_many_who_try_at_once_one_drives(db: Database, conversation: ConversationId) -> None:
    tries = (acquire(db, conversation, f"driver {n}") for n in range(20))
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, Lease) for result in results) == 1
    assert sum(isinstance(result, HeldElsewhere) for result in results) == 19


async def test_a_released_lease_goes_to_the_next_with_a_higher_epoch(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    first = await acquire(db, conversation, "one")
    await first.release()
    second = await acquire(db, conversation, "two")
    assert second.epoch > first.epoch
    await transcript.append(conversation, [said("by the second")], lease=second)
    for act in (transcript.append(conversation, [said("by the first")], lease=first), first.renew()):
        with pytest.raises(Fenced):
            await act
    await first.release()
    await transcript.append(conversation, [said("by the second, still")], lease=second)
    assert len(await transcript.entries(conversation)) == 3


async def test_a_lease_that_a_full_disk_does_not_take_back_is_free_in_its_own_process_alone(
    db: Database, conversation: ConversationId, monkeypatch: pytest.MonkeyPatch, children: list[Child]
) -> None:
    lease = await acquire(db, conversation, "the driver")

    async def full(*_: object) -> None:
        raise StoreFull("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(db, "write", full)
        with pytest.raises(StoreFull):
            await lease.release()
    children.append(start("resume", db.home, conversation))
    assert line(children[0]).startswith("HeldElsewhere: the driver")
    assert (await acquire(db, conversation, "the driver again")).epoch == lease.epoch + 1


async def test_facts_from_outside_need_no_lease(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    lease = await acquire(db, conversation, "the driver")
    await transcript.append(conversation, [said("from outside")])
    await transcript.append(conversation, [said("by the driver")], lease=lease)
    epochs = await db.read(lambda connection: connection.execute("SELECT epoch FROM entries ORDER BY id").fetchall())
    assert epochs == [(0,), (0,), (lease.epoch,)]


async def test_a_lease_that_is_kept_is_renewed_until_it_is_lost(db: Database, conversation: ConversationId) -> None:
    lease = await acquire(db, conversation, "the driver", ttl_ms=60)
    expires = await db.read(_expires)
    keeping = asyncio.create_task(lease.keep())
    while await db.read(_expires) < expires + 60:
        assert not keeping.done()
    await db.write(lambda connection: connection.execute("UPDATE leases SET epoch = epoch + 1"))
    with pytest.raises(Fenced):
        await keeping


def _expires(connection: sqlite3.Connection) -> int:
    (expires,) = connection.execute("SELECT expires FROM leases").fetchone()
    return int(expires)


async def test_nobody_drives_what_does_not_exist(db: Database) -> None:
    with pytest.raises(NotFound):
        await acquire(db, ConversationId("nobody"), "the driver")


async def test_the_lease_of_a_killed_process_is_free_at_once(
    db: Database, conversation: ConversationId, children: list[Child]
) -> None:
    child = start("hold", db.home, conversation, "3600000")
    children.append(child)
    assert line(child) == "held 1"
    with pytest.raises(HeldElsewhere, match=rf"the child \(process {child.pid}\)"):
        await acquire(db, conversation, "the parent")
    child.kill()
    child.wait()
    assert (await acquire(db, conversation, "the parent")).epoch == 2


async def test_a_stopped_driver_is_outlived_and_can_append_nothing_when_it_wakes(
    db: Database, transcript: Transcript, conversation: ConversationId, children: list[Child]
) -> None:
    child = start("hold", db.home, conversation, "300")
    children.append(child)
    assert line(child) == "held 1"
    child.send_signal(signal.SIGSTOP)
    lease = await _as_soon_as_it_expires(db, conversation)
    await transcript.append(conversation, [said("by the parent")], lease=lease)
    child.send_signal(signal.SIGCONT)
    assert child.stdin
    child.stdin.write("\n")
    child.stdin.flush()
    assert line(child) == "fenced"
    assert [entry.fact for entry in await transcript.entries(conversation, after=1)] == [said("by the parent")]


async def _as_soon_as_it_expires(db: Database, conversation: ConversationId) -> Lease:
    while True:
        try:
            return await acquire(db, conversation, "the parent")
        except HeldElsewhere:
            await asyncio.sleep(0.02)


async def test_a_driver_whose_lease_ran_out_goes_on_while_nobody_wants_it(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    lease = await acquire(db, conversation, "the driver", ttl_ms=0)
    assert await transcript.append(conversation, [said("late, but nobody minds")], lease=lease)


async def test_of_many_processes_that_resume_one_conversation_one_does(
    db: Database, conversation: ConversationId, children: list[Child]
) -> None:
    children += [start("resume", db.home, conversation) for _ in range(4)]
    said_first = sorted(line(child) for child in children)
    assert [answer.split(":")[0] for answer in said_first] == ["HeldElsewhere"] * 3 + ["held 1"]


async def test_the_lease_of_an_earlier_boot_does_not_hold(db: Database, conversation: ConversationId) -> None:
    await acquire(db, conversation, "before the power cut", ttl_ms=3_600_000)
    await db.write(lambda connection: connection.execute("UPDATE leases SET boot = 'an earlier one'"))
    assert (await acquire(db, conversation, "after it")).epoch == 2


def test_a_name_that_a_full_disk_does_not_take_says_so_and_can_be_asked_for_again(home: Path) -> None:
    db = Database.open(home)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(StoreFull, match="may not grow"):
            db.presence.name("the page")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list((home / "alive").iterdir())
    assert db.presence.name("the page")
    db.close()
