"""Several people do whatever comes, in any order, and nobody ever reads what is somebody else's.

Each thing that is written holds a canary: a word with its person's name in it. After each step somebody looks, by one
of all queries that there are, at a conversation that may be anybody's.
"""

import random
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from angelia.core import entry as e
from angelia.core.content import Media, MediaKind, Text
from angelia.core.errors import BadInput
from angelia.core.ids import CallId, ConversationId, DeliveryId, new_conversation, wall_clock
from angelia.core.principal import OWNER, Principal
from angelia.core.timing import Every
from angelia.service.audit import LOG, Audit
from angelia.service.conversation.forks import fork_conversation
from angelia.store.log import ranked_search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.postgres.database import PostgresDatabase
from angelia.store.sql.database import Database
from angelia.store.tables.day_budgets import DayBudget, DayBudgets
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.notes import Notes
from angelia.store.tables.trusted_files import FileAnswer, TrustedFiles
from tests.examples import TIMES
from tests.store.postgres_server import PostgresServer
from tests.store.test_canaries import QUERIES, Kept, Query, _found_or_not
from tests.store.test_viewing import OF_OTHER_VALUES, role
from tests.store.words import answered

pytestmark = pytest.mark.anyio

STEPS = 10_000 if TIMES else 250
PEOPLE = (
    *(Principal("chat", name) for name in ("ann", "ben", "cy")),
    Principal("key", "ida"),
    Principal("signal", "zoe"),
    OWNER,
)
MOST = 24
"""Conversations that are there at once: the oldest one is erased for the next."""
CANARY = re.compile(r"canary of (\w+):\w+")


class Told(NamedTuple):
    """A conversation, and whose it is."""

    own: ConversationId
    whose: Principal


class Town:
    """Those who live here, what they have said, and what they do next."""

    def __init__(self, db: LogStore, seed: int, queries: Mapping[str, Query]) -> None:
        self.queries = queries
        self.db, self.random = db, random.Random(seed)
        self.transcript, self.blobs = Transcript(db), BlobStore(db.home)
        self.told: list[Told] = []
        self.said = 0
        self.found: set[Principal] = set()
        self.done: set[str] = set()

    def word(self, whose: Principal) -> str:
        """A canary of somebody's that nobody has seen before."""
        self.said += 1
        return f"canary of {whose.id or whose.door}:w{self.said}"

    def anybodys(self) -> Told:
        return self.random.choice(self.told)

    async def begin(self, whose: Principal) -> None:
        """A conversation, at one of several doors; also a batch's, and one of another agent's."""
        if len(self.told) >= MOST:
            await self.transcript.erase(self.told.pop(0).own, self.blobs)
        own, door = new_conversation(), self.random.choice(["chat", "terminal", "api", "web", e.BATCH])
        await self.transcript.append(own, [e.ConversationOpened(door, "/work", owner=whose)])
        self.told.append(Told(own, whose))

    async def says(self, one: Told) -> None:
        word = self.word(one.whose)
        ref = await self.blobs.put(word.encode(), mime="text/plain")
        parts = (Text(f"the word is {word}"), Media(ref, MediaKind.DOCUMENT, f"{word}.txt"))
        await self.append(one, e.UserSaid(parts, one.whose, e.Address("chat", word), key=word), answered(word, cost=1))

    async def notes(self, one: Told) -> None:
        number = await Notes(self.db).next_number()
        proposed = e.NoteProposed(
            number, e.NoteScope.PERSON, "", e.NoteKind.FACT, f"the word is {self.word(one.whose)}", one.whose
        )
        kept, dropped = e.NoteKept(number, one.whose), e.NoteDropped(number, one.whose)
        became: list[e.NoteKept | e.NoteDropped] = self.random.choice([[kept], [dropped], []])
        await self.append(one, proposed, *became)

    async def asks(self, one: Told) -> None:
        call, word = CallId(f"c{self.said}_0"), self.word(one.whose)
        asked = e.ApprovalAsked(call, f"May I {word}?", "digest", pattern=f"run {word}", approvers=(one.whose,))
        given = e.ApprovalGiven(call, "digest", one.whose, self.random.choice(list(e.Scope)))
        await self.append(one, asked, *([given] if self.random.random() < 0.7 else []))

    async def moves(self, one: Told) -> None:
        """A chat goes on in this conversation."""
        await self.append(one, e.DoorMoved(e.Address("chat", f"{one.whose}'s {self.random.randrange(3)}"), one.whose))

    async def sends(self, one: Told) -> None:
        word = self.word(one.whose)
        name = DeliveryId(f"d{self.said}")
        queued = e.DeliveryQueued(name, e.Address("chat", word), (Text(word),), "answer")
        await self.append(one, queued, e.DeliveryStarted(name, 1), e.PieceArrived(name, 0, f"piece of {word}"))

    async def schedules(self, one: Told) -> None:
        """In a log of its own, as each schedule has."""
        if len(self.told) < MOST:
            said = e.Scheduled(Every(60), "UTC", self.word(one.whose), 0, e.Address("chat", "shared"), one.whose)
            change = e.ScheduleChanged(e.ScheduleState.PAUSED, one.whose, self.word(one.whose))
            own = Told(new_conversation(), one.whose)
            await self.append(own, e.ConversationOpened("schedule", "/work", owner=one.whose), said, change)
            self.told.append(own)

    async def forks(self, one: Told) -> None:
        if len(self.told) < MOST:
            with suppress(BadInput):  # of a schedule there is no fork
                self.told.append(Told(await fork_conversation(self.transcript, one.own, 0, wall_clock), one.whose))

    async def pays(self, one: Told) -> None:
        """What is put aside for a request, and what it cost."""
        lease, *_ = await self.transcript.take_up(one.own, self.word(one.whose), 0, 0)
        await DayBudgets(self.db).put_aside(lease, (DayBudget("a day", (one.whose,), 10**9),), 5, 0)
        await self.append(one, answered(self.word(one.whose), cost=self.random.randrange(9)))
        await lease.release()

    async def is_recorded(self, one: Told) -> None:
        """The owner writes down what was done about somebody, and a file is trusted."""
        audit = Audit(self.db.home, self.transcript, KeyValue(self.db))
        await audit.record(e.AdminAct.LET_IN, OWNER, self.word(OWNER), one.whose)
        word = self.word(one.whose)
        await TrustedFiles(KeyValue(self.db)).put(FileAnswer(one.whose, "", f"/{word}", word, trusted=True, at=1))

    async def goes(self, one: Told) -> None:
        self.told.remove(one)
        await self.transcript.erase(one.own, self.blobs)

    async def append(self, one: Told, *facts: e.AnyFact) -> None:
        await self.transcript.append(one.own, facts)

    async def step(self) -> None:
        """Somebody does something."""
        acts: Mapping[str, Callable[[Told], Awaitable[None]]] = {
            **{act.__name__: act for act in (self.says, self.notes, self.asks, self.moves, self.sends, self.schedules)},
            **{act.__name__: act for act in (self.forks, self.pays, self.is_recorded, self.goes)},
        }
        act = self.random.choice(["begin", *acts])
        self.done.add(act)
        if act == "begin" or not self.told:
            await self.begin(self.random.choice(PEOPLE))
        else:
            await acts[act](self.anybodys())

    async def look(self, viewer: Principal, query: str, named: ConversationId) -> None:
        """Somebody looks; they see nothing that is another's, and of others' conversations not even that there are."""
        try:
            seen = str(await _found_or_not(self.queries[query](Kept(self.db, named, named), viewer, named)))
        except BadInput as error:  # it names what may have been meant
            seen = str(error)
        whose = set(CANARY.findall(seen))
        if (viewer.id or viewer.door) in whose:
            self.found.add(viewer)
        if viewer != OWNER:
            assert whose <= {viewer.id}, f"{viewer} saw canaries of {whose} by {query}"
            others = [one.own for one in (*self.told, Told(LOG, OWNER)) if one.whose != viewer and one.own in seen]
            assert not others, f"{viewer} saw that there are {others} by {query}"

    async def live(self) -> set[Principal]:
        """All of it; returns those who saw something of their own."""
        for _ in range(STEPS):
            await self.step()
            named = self.anybodys().own if self.told else LOG
            await self.look(self.random.choice(PEOPLE), self.random.choice(sorted(self.queries)), named)
        for viewer in PEOPLE:
            await self.begin(viewer)
            await self.says(self.told[-1])
        for viewer in PEOPLE:
            for query in self.queries:
                await self.look(viewer, query, self.told[-1].own)
        assert self.done == {"begin", "says", "notes", "asks", "moves", "sends", "schedules", "forks", "pays", *_LATE}
        return self.found


_LATE = ("is_recorded", "goes")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))])
async def shared(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[LogStore]:
    """A store of which both have one: SQLite, and PostgreSQL with its second wall."""
    db: LogStore
    if request.param == "sqlite":
        db = Database.open(home)
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres")
        db = PostgresDatabase.open(postgres.fresh(), home)
        db.read_for_others_as(role(postgres), "")
    yield db
    db.close()


def _seed() -> int:
    return random.randrange(2**32) if TIMES else 22


async def test_no_canary_of_anybodys_comes_back_to_another(shared: LogStore) -> None:
    seed = _seed()
    print(f"seed {seed}")
    assert await Town(shared, seed, QUERIES).live() == set(PEOPLE)


@pytest.mark.soak
@pytest.mark.real("postgres")
async def test_nor_with_the_applications_own_check_taken_out(
    postgres: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = _seed()
    print(f"seed {seed}")
    db = PostgresDatabase.open(postgres.fresh(), home)
    db.read_for_others_as(role(postgres), "")
    for module in [one for name, one in sys.modules.items() if name.startswith("angelia.store.")]:
        if hasattr(module, "visible_to"):
            monkeypatch.setattr(module, "visible_to", lambda *_: ("true", ()))
    monkeypatch.setattr(ranked_search, "_ours", lambda _: ("true", ()))
    queries = {name: query for name, query in QUERIES.items() if name not in OF_OTHER_VALUES}
    assert await Town(db, seed, queries).live() == set(PEOPLE)
    db.close()


async def test_a_query_that_forgets_whose_it_is_is_found_out(home: Path) -> None:
    db = Database.open(home)

    async def careless(kept: Kept, _: Principal, named: ConversationId) -> object:
        return await Transcript(kept.db).entries(named)

    with pytest.raises(AssertionError, match="saw canaries of"):
        await Town(db, 22, {"without asking": careless}).live()
    db.close()
