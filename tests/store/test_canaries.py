"""What is one person's is found by no query of another's: a canary of Ann's in every table, and Ben who looks for it.

Taking the condition out of any one query turns its row red.
"""

import inspect
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import NotFound
from angelia.core.ids import CallId, ConversationId, DeliveryId, PlaceId
from angelia.core.principal import OWNER, Principal
from angelia.core.timing import Every
from angelia.store.log.ranked_search import Within, around, one_within, ranked_search
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.store.tables.grants import Grants
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.notes import Holds, Notes
from angelia.store.tables.outbox import Outbox
from angelia.store.tables.pairings import NoCode, Pairings
from angelia.store.tables.questions import WaitingQuestions
from angelia.store.tables.schedules import Schedules
from angelia.store.tables.spendings import Spendings
from angelia.store.tables.trusted_files import FileAnswer, TrustedFiles
from tests.store.words import answered

pytestmark = pytest.mark.anyio

ANN, BEN = Principal("chat", "ann"), Principal("chat", "ben")
CHAT = e.Address("chat", "shared")
WORKED_IN = ("local", "/work")
CALL = CallId("c1_0")
MACHINERY = {
    "born",
    "machines",
    "never",
    "indexed",
    "terms",
    "words",
    "words_config",
    "words_data",
    "words_docsize",
    "words_idx",
    "sqlite_sequence",
}
"""Tables without rows of anybody's: the index of words has none that could be read, and search is its query; machines
are nobody's."""


class Kept(Struct, frozen=True):
    """A home with something of Ann's and of Ben's in every table; both are called by the word they are found by."""

    db: LogStore
    ann: ConversationId
    ben: ConversationId


async def keep(db: LogStore, whose: Principal, word: str, cost: int) -> ConversationId:
    """A conversation of somebody's, with their word in all that it leads to."""
    transcript, delivery = Transcript(db), DeliveryId(f"d-{word}")
    conversation = ConversationId(f"01{word}")
    address = e.Address("chat", f"{word}s chat")
    ref = await BlobStore(db.home).put(word.encode(), mime="text/plain")
    number = await Notes(db).next_number()
    await transcript.append(
        conversation,
        [
            e.ConversationOpened("chat", "/work", owner=whose),
            e.UserSaid((Text(f"the word is {word}"),), whose, address, key=f"key of {word}"),
            e.DoorMoved(address, whose),
            e.SetupChanged(word, ref, ref, ref),
            answered(f"{word}, then", cost=cost),
            e.ApprovalAsked(CALL, "May I?", "digest", pattern=f"run {word}", approvers=(whose,)),
            e.ApprovalGiven(CALL, "digest", whose, e.Scope.REMEMBERED),
            e.DeliveryQueued(delivery, address, (Text(word),), "answer"),
            e.DeliveryStarted(delivery, 1),
            e.PieceArrived(delivery, 0, f"piece of {word}"),
            e.DeliverySettled(delivery, e.DeliveryStatus.SENT, f"piece of {word}"),
            e.DeliveryReached(delivery, f"piece of {word}", e.DeliveryReach.READ),
            e.NoteProposed(number, e.NoteScope.PERSON, "", e.NoteKind.FACT, f"the word is {word}", whose),
            e.NoteKept(number, whose),
            e.Scheduled(Every(60), "UTC", f"the {word} again", 0, address, whose),
            e.ApprovalAsked(CallId("c2_0"), f"Run {word}?", "digest", approvers=(whose,)),
        ],
    )
    await transcript.append(conversation, [e.OccurrencesMissed(60_000, 60_000, 1, f"{word} slept")])
    return conversation


async def furnish(db: LogStore) -> Kept:
    transcript, pairings = Transcript(db), Pairings(db)
    for whose, word, cost in ((ANN, "canaryerased", 70_000), (BEN, "crumberased", 1)):
        await transcript.erase(await keep(db, whose, word, cost), BlobStore(db.home))
    await keep(db, BEN, "crumbfirst", 0)  # so that Ann's lies among what is Ben's
    ann, ben = await keep(db, ANN, "canary", 7_000), await keep(db, BEN, "crumb", 2)
    for one, word, conversation in ((ANN, "canary", ann), (BEN, "crumb", ben)):
        await TrustedFiles(KeyValue(db)).put(FileAnswer(one, "", f"/{word}", word, trusted=True, at=1))
        code = await pairings.ask(one, word)
        assert not isinstance(code, NoCode)
        await pairings.approve(code, by=OWNER)
        await pairings.ask(Principal(word, one.id), word)
        lease, *_ = await transcript.take_up(conversation, word, 0, 0)
        assert lease.conversation == conversation
    return Kept(db, ann, ben)


Query = Callable[[Kept, Principal, ConversationId], Awaitable[object]]
"""What somebody sees of a home; the conversation is one that they name."""


async def _found_or_not(work: Awaitable[object]) -> object:
    try:
        return await work
    except NotFound:
        return "nothing"


async def _exported(kept: Kept, viewer: Principal, named: ConversationId) -> object:
    transcript = Transcript(kept.db)
    return await transcript.entries(await transcript.find(viewer, named[-5:]))


async def _revoked(kept: Kept, viewer: Principal, _: ConversationId) -> object:
    grants = Grants(kept.db)
    every = {grant.id: grant.pattern for grant in await grants.list(OWNER)}
    gone = {one: await _found_or_not(grants.revoke(viewer, one)) != "nothing" for one in every}
    return [pattern for one, pattern in every.items() if gone[one]]


async def _noted(kept: Kept, viewer: Principal, _: ConversationId) -> object:
    notes = Notes(kept.db)
    return [await notes.find(viewer, note.number) for note in await notes.list(OWNER)]


async def _read_on(kept: Kept, viewer: Principal, named: ConversationId) -> object:
    found = await one_within(kept.db, Within(viewer), named[-6:])
    return await around(kept.db, found, 2, 20) if found else "nothing"


async def _paid(kept: Kept, viewer: Principal, _: ConversationId) -> object:
    """Ann paid thousands, and Ben next to nothing, both to one model."""
    return ["canary" if one.cost >= 7_000 else "crumb" for one in await Spendings(kept.db).by_day(viewer, 0)]


def _theirs(viewer: Principal) -> Holds:
    return Holds(e.NoteScope.PERSON, "", viewer)


QUERIES: dict[str, Query] = {
    "the list of conversations": lambda kept, viewer, _: Transcript(kept.db).conversations(viewer),
    "a page of it": lambda kept, viewer, _: Transcript(kept.db).conversations(viewer, workspace="/work"),
    "the last of their own (--continue)": lambda kept, viewer, _: Transcript(kept.db).conversations(
        viewer, 1, owner=viewer
    ),
    "one at a glance": lambda kept, viewer, named: Transcript(kept.db).summary(viewer, named),
    "those in a place": lambda kept, viewer, named: Transcript(kept.db).in_place(viewer, PlaceId(named)),
    "one by its whole id": lambda kept, viewer, named: Transcript(kept.db).find(viewer, named),
    "one by a part of its id": lambda kept, viewer, named: Transcript(kept.db).find(viewer, named[:6]),
    "an export": _exported,
    "search": lambda kept, viewer, _: search(kept.db, viewer, "word"),
    "search by rank": lambda kept, viewer, _: ranked_search(kept.db, Within(viewer), "which word"),
    "the same in a folder": lambda kept, viewer, _: ranked_search(kept.db, Within(viewer, folder="/work"), "word"),
    "the past by a part of its id": _read_on,
    "receipts": lambda kept, viewer, named: Outbox(kept.db).receipts(viewer, named),
    "the newest receipts": lambda kept, viewer, _: Outbox(kept.db).newest(viewer, 50),
    "what was paid to whom": _paid,
    "what each conversation cost": lambda kept, viewer, _: Spendings(kept.db).by_conversation(viewer, 0, 50),
    "what is permitted": lambda kept, viewer, _: Grants(kept.db).list(viewer),
    "what a remembered yes covers": lambda kept, viewer, named: Grants(kept.db).matching(viewer, *WORKED_IN, named),
    "what they can take back": _revoked,
    "the chats of a door": lambda kept, viewer, _: ChatBindings(kept.db).of_door(viewer, "chat"),
    "the chats of a conversation": lambda kept, viewer, named: ChatBindings(kept.db).of_conversation(viewer, named),
    "who was let in": lambda kept, viewer, _: Pairings(kept.db).list(viewer),
    "who waits to be": lambda kept, viewer, _: Pairings(kept.db).waiting(viewer),
    "notes": lambda kept, viewer, _: Notes(kept.db).list(viewer),
    "a note by its number": _noted,
    "the notes of a scope": lambda kept, viewer, _: Notes(kept.db).at([_theirs(viewer)]),
    "the newest of them": lambda kept, viewer, _: Notes(kept.db).newest([_theirs(viewer)], 9),
    "the notes that a prompt holds": lambda kept, viewer, _: Notes(kept.db).numbered([_theirs(viewer)], (1, 2, 3, 4)),
    "what is scheduled": lambda kept, viewer, _: Schedules(kept.db).visible(viewer),
    "a schedule by its id": lambda kept, viewer, named: Schedules(kept.db).of(viewer, named),
    "what waits": lambda kept, viewer, _: WaitingQuestions(kept.db).all(viewer),
    "how much waits": lambda kept, viewer, _: WaitingQuestions(kept.db).counts(viewer),
    "what has changed": lambda kept, viewer, _: Transcript(kept.db).changed(viewer, 1, 50),
    "trusted files": lambda kept, viewer, _: TrustedFiles(KeyValue(kept.db)).list(viewer),
}

_OWN_ALONE = {
    "search by rank",
    "the same in a folder",
    "the past by a part of its id",
    "the last of their own (--continue)",
    "what a remembered yes covers",
    "the notes of a scope",
    "the newest of them",
    "the notes that a prompt holds",
    "trusted files",
}
"""Of which the owner of a home has their own as everybody does: a yes of theirs is nobody else's."""


@pytest.fixture
async def kept(db: LogStore) -> Kept:
    return await furnish(db)


@pytest.mark.parametrize("query", QUERIES)
async def test_nobody_finds_what_is_somebody_elses(kept: Kept, query: str) -> None:
    seen = str(await _found_or_not(QUERIES[query](kept, BEN, kept.ann)))
    assert "canary" not in seen
    assert "ann" not in seen


@pytest.mark.parametrize("query", sorted(set(QUERIES) - {"who waits to be"}))
async def test_everybody_finds_what_is_their_own(kept: Kept, query: str) -> None:
    assert "canary" in str(await _found_or_not(QUERIES[query](kept, ANN, kept.ann)))


@pytest.mark.parametrize("query", QUERIES)
async def test_the_owner_of_a_home_sees_all_that_guests_did_in_it(kept: Kept, query: str) -> None:
    seen = str(await _found_or_not(QUERIES[query](kept, OWNER, kept.ann)))
    assert ("canary" in seen or "crumb" in seen) is (query not in _OWN_ALONE)


async def test_who_asks_for_a_word_does_not_learn_whether_somebody_else_said_it(kept: Kept) -> None:
    said, unsaid = [await ranked_search(kept.db, Within(BEN), one) for one in ("canary", "zeppelin")]
    assert (said.hits, said.terms.used, said.matches) == (unsaid.hits, unsaid.terms.used, unsaid.matches)
    assert (said.terms.unknown, unsaid.terms.unknown) == (("canar",), ("zeppelin",))


@pytest.mark.parametrize(("viewer", "cost"), [(ANN, 77_000), (BEN, 3), (OWNER, 77_003), (Principal("chat", "cy"), 0)])
async def test_what_was_spent_is_told_to_who_owned_it_also_once_erased(
    kept: Kept, viewer: Principal, cost: int
) -> None:
    assert (await Transcript(kept.db).spent(viewer, 0)).cost == cost


@pytest.mark.parametrize(("viewer", "cost"), [(ANN, 7_000), (BEN, 0), (OWNER, 7_000)])
async def test_what_a_conversation_cost_is_told_to_who_may_see_it(kept: Kept, viewer: Principal, cost: int) -> None:
    assert (await Transcript(kept.db).spent(viewer, 0, kept.ann)).cost == cost


async def test_the_canary_is_in_every_table(kept: Kept, home: Path) -> None:
    with sqlite3.connect(home / "angelia.db") as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        without = {
            table
            for table in tables - MACHINERY
            if not any(
                "canary" in str(row) or str(ANN) in str(row) for row in connection.execute(f"SELECT * FROM {table}")
            )
        }
    connection.close()
    assert without == set()


OF_ONE = "of one conversation, whose id its caller found by a query that asks who looks"
RUNS = "what the gateway does for everybody, shown to nobody"
OF_SCOPES = "of scopes that each name whose they are, taken from a conversation (`service.notes.scopes`)"
WITHOUT_VIEWER = {
    "Transcript.append": OF_ONE,
    "Transcript.fork": OF_ONE,
    "Transcript.take_up": OF_ONE,
    "Transcript.entries": OF_ONE,
    "Transcript.opening": OF_ONE,
    "Transcript.of_kinds": OF_ONE,
    "Transcript.undelivered": OF_ONE,
    "Transcript.legible": OF_ONE,
    "Transcript.append_together": OF_ONE,
    "Transcript.require_end": OF_ONE,
    "Transcript.news": OF_ONE,
    "Transcript.erase": OF_ONE,
    "Transcript.at_work": "of conversations that were listed to who asks",
    "Transcript.unfinished": "of conversations that were listed to who asks",
    "Transcript.note_rest": OF_ONE,
    "Transcript.works_in": "whether anybody works in a folder, for what would remove it",
    "Transcript.version": RUNS,
    "Grants.take_back_given_after": RUNS,
    "Outbox.progress": OF_ONE,
    "Outbox.is_settled": RUNS,
    "Outbox.pending": RUNS,
    "Outbox.last_address": RUNS,
    "Outbox.at": RUNS,
    "Outbox.by_platform_id": RUNS,
    "Outbox.version": RUNS,
    "Outbox.counts": "numbers alone, for `angelia gateway --status`",
    "ChatBindings.conversation": "of one chat, to whoever speaks in it",
    "ChatBindings.heard": RUNS,
    "Notes.next_number": "a number that is free",
    "Notes.at": OF_SCOPES,
    "Notes.same": OF_SCOPES,
    "Notes.newest": OF_SCOPES,
    "Notes.numbered": OF_SCOPES,
    "Notes.of_conversation": OF_ONE,
    "Schedules.begun_by": RUNS,
    "Schedules.changed": RUNS,
    "Schedules.ended": RUNS,
    "Schedules.is_open": RUNS,
    "Schedules.last_change": RUNS,
    "Schedules.open": RUNS,
    "Schedules.history": OF_ONE,
    "Schedules.counted": OF_ONE,
    "Schedules.looked": OF_ONE,
    "Schedules.dealt_with": OF_ONE,
    "Schedules.missed_since_a_turn": OF_ONE,
    "Schedules.spent": OF_ONE,
    "Pairings.roles": RUNS,
    "Pairings.find": "to whoever has the code",
    "Pairings.approve": "to whoever has the code",
}
"""Queries that do not ask who looks, and why."""


def test_every_query_asks_who_looks() -> None:
    own = (Pairings, WaitingQuestions, Schedules, Spendings, TrustedFiles)
    stores = (Transcript, Outbox, Grants, ChatBindings, Notes, *own)
    silent = set()
    for store in stores:
        for name, method in inspect.getmembers(store, inspect.iscoroutinefunction):
            asks = {"viewer", "principal", "owner", "who", "answer"} & set(inspect.signature(method).parameters)
            if not asks and not name.startswith("_"):
                silent.add(f"{store.__name__}.{name}")
    assert silent == set(WITHOUT_VIEWER)
