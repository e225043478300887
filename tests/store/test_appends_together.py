"""Appends that share a commit: what becomes of each, and what they ask of the store."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from angelia.core.content import BlobRef, Media, MediaKind, Text
from angelia.core.entry import Address, AnyFact, ConversationOpened, DeliveryQueued, UserSaid
from angelia.core.errors import Fenced, NotFound
from angelia.core.ids import ConversationId, DeliveryId, new_conversation
from angelia.store.log.append import Addition, Overtaken
from angelia.store.log.lease import Lease
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore
from angelia.store.postgres.connection import PostgresConnection
from angelia.store.postgres.database import PostgresDatabase
from tests.examples import TIMES
from tests.store.leases import acquire
from tests.store.postgres_server import PostgresServer
from tests.store.words import answered, said

pytestmark = pytest.mark.anyio

ROUNDS = 400 if TIMES else 12
MOST = 20
OUTDATED = 1
"""Which of the leases somebody took over."""
LOST = UserSaid((Media(BlobRef("0" * 64, 3, "image/png"), MediaKind.IMAGE),))


class Some:
    """Conversations of one of two families that live through the same."""

    def __init__(self, db: LogStore) -> None:
        self.db, self.log = db, Transcript(db)
        self.all = [new_conversation() for _ in range(4)]
        self.leases: list[Lease | None] = [None]

    async def begin(self) -> None:
        """Two are there; of the first one a lease that holds is known, and one that somebody took over."""
        for one in self.all[:2]:
            await self.log.append(one, [ConversationOpened("terminal", "/")])
        for holder in ("one", "another"):
            lease = await acquire(self.db, self.all[0], holder)
            self.leases.append(lease)
            if holder == "one":
                await lease.release()

    async def append(self, one: int, facts: Sequence[AnyFact], lease: int) -> object:
        """The numbers that the entries were given, or the class of what was raised."""
        try:
            entries = await self.log.append(self.all[one], facts, lease=self.leases[lease])
        except Exception as error:  # noqa: BLE001 - it is what is compared
            return type(error)
        return [entry.seq for entry in entries]

    async def entries(self, one: int) -> object:
        """The facts of a log that is whole."""
        try:
            return [(entry.seq, entry.fact) for entry in await self.log.entries(self.all[one])]
        except Exception as error:  # noqa: BLE001 - it is what is compared
            return type(error)


def drawn(chance: random.Random, key: str) -> tuple[int, Sequence[AnyFact], int]:
    """An append to any of them: to one that is there or not, of what is new, a repeat, lost or begins one."""
    beginning: Sequence[AnyFact] = (ConversationOpened("terminal", "/"),) if chance.random() < 0.2 else ()
    lasts: list[AnyFact] = [answered("well"), said("now", key=key), said("twice", key=f"{key[0]}again"), LOST]
    last = chance.choice(lasts)
    first: Sequence[AnyFact] = (said("first"),) if chance.random() < 0.5 else ()
    return chance.choice([0, 0, 1, 2, 3]), (*beginning, *first, last), chance.choice([0, 0, 0, 1, 2])


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))])
async def test_those_that_go_together_end_as_they_would_one_by_one(db: LogStore) -> None:
    endings: set[str] = set()
    for seed in range(ROUNDS):
        families = together, alone = Some(db), Some(db)
        for family in families:
            await family.begin()
        chances = [random.Random(seed) for _ in families]
        steps = [
            [drawn(chance, f"{name}{seed} {step}") for step in range(MOST)]
            for name, chance in zip("ab", chances, strict=True)
        ]
        of_all = await asyncio.gather(*(together.append(*step) for step in steps[0]))
        of_each = [await alone.append(*step) for step in steps[1]]
        assert of_all == of_each, f"seed {seed}"
        outdated = [end for (_, _, lease), end in zip(steps[0], of_all, strict=True) if lease == OUTDATED]
        assert all(end in (Fenced, []) for end in outdated), f"seed {seed}"
        endings |= {getattr(ending, "__name__", "appended" if ending else "absorbed") for ending in of_each}
        for one in range(len(together.all)):
            ours, theirs = await together.entries(one), await alone.entries(one)
            assert str(ours).replace("key='a", "key='b") == str(theirs), f"seed {seed}"
    assert endings == {"appended", "absorbed", "BadInput", "Fenced", "NotFound"}


@pytest.mark.real("postgres")
async def test_those_that_go_together_ask_once_where_their_logs_end(
    postgres: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = PostgresDatabase.open(postgres.fresh(), home)
    log, some = Transcript(db), [new_conversation() for _ in range(5)]
    for one in some:
        await log.append(one, [ConversationOpened("terminal", "/")])
    execute, run = PostgresConnection.execute, list[str]()

    def recorded(self: PostgresConnection, statement: str, values: Sequence[object] = (), /) -> object:
        run.append(" ".join(statement.split()[:3]))
        return execute(self, statement, values)

    monkeypatch.setattr(PostgresConnection, "execute", recorded)
    chosen: list[ConversationId] = [*some, *some, some[0]]
    facts = [DeliveryQueued(DeliveryId(f"d{number}"), Address("terminal"), (), "answer") for number in range(11)]
    entries = await asyncio.gather(*(log.append(one, [fact]) for one, fact in zip(chosen, facts, strict=True)))
    assert [appended[0].seq for appended in entries] == [2] * 5 + [3] * 5 + [4]
    assert run.count("SELECT c.id, c.last_seq,") == 1
    assert run.count("INSERT INTO entries") == len(chosen)
    derived = "SELECT count(*) FROM outbox AS o JOIN entries AS e USING (conversation, seq) WHERE o.place = e.id"
    assert await db.read(lambda connection: connection.execute(derived).fetchone()[0]) == len(chosen)
    db.close()


@pytest.mark.parametrize("fails", ["overtaken", "not there"])
async def test_what_is_appended_to_several_logs_stands_in_all_of_them_or_in_none(db: LogStore, fails: str) -> None:
    log, (one, other) = Transcript(db), (new_conversation(), new_conversation())
    await log.append(one, [ConversationOpened("terminal", "/")])
    if fails == "overtaken":
        await log.append(other, [ConversationOpened("terminal", "/"), said("meanwhile")])
    with pytest.raises(Overtaken if fails == "overtaken" else NotFound):
        await log.append_together([Addition(one, [said("here")], 1), Addition(other, [said("there")], 1)])
    assert [entry.seq for entry in await log.entries(one)] == [1]
    assert await db.faults() == []
    await log.require_end(one)
    if fails == "overtaken":
        added = await log.append_together([Addition(one, [said("here")], 1), Addition(other, [said("there")], 2)])
        assert [[entry.seq for entry in entries] for entries in added] == [[2], [3]]
        await log.require_end(one)
        await log.require_end(other)


async def test_a_repeat_is_appended_to_none_of_several_logs(db: LogStore) -> None:
    log, (one, other) = Transcript(db), (new_conversation(), new_conversation())
    known = UserSaid((Text("Once."),), address=Address("chat", "7"), key="k1")
    await log.append(one, [ConversationOpened("chat", "/"), known])
    await log.append(other, [ConversationOpened("chat", "/")])
    assert await log.append_together([Addition(one, [known], 2), Addition(other, [said("there")], 1)]) == []
    assert len(await log.entries(other)) == 1
