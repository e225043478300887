"""What was paid is added up by day as it is written, and is asked for without reading what each request has cost."""

import pytest
from msgspec.structs import replace

from angelia.context.usage_meter import UsageMeter
from angelia.core.days import DAY_MS
from angelia.core.entry import AnyFact, ConversationOpened, ModelSaid, StopReason, Usage
from angelia.core.ids import ConversationId
from angelia.core.principal import ERASED, OWNER, Principal
from angelia.store.log.transcript import Spending, Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from angelia.store.sql.day_sums import AS_SUMMED, COLUMNS
from angelia.store.tables.day_budgets import DayBudget, DayBudgets
from angelia.store.tables.people import KnownPeople
from angelia.store.tables.spendings import PaidFor, PaidIn, Spendings
from tests.store.work import Look, steps

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))])
ANN = Principal("chat", "ann")
ALL = DayBudget("all", (), 10**9)


def said(cost: int, model: str = "m") -> ModelSaid:
    return ModelSaid(model, (), StopReason.END, Usage(10, 5), cost)


async def paid(transcript: Transcript, name: str, at: int, *costs: int, owner: Principal = OWNER) -> ConversationId:
    """A conversation of somebody's in which so many requests had these costs."""
    conversation = ConversationId(name)
    facts: list[AnyFact] = [ConversationOpened("terminal", "/work", owner=owner), *map(said, costs)]
    await transcript.append(conversation, facts, at=[at] * len(facts))
    return conversation


async def wrong(db: LogStore) -> list[object]:
    """The sums that are not those of what was paid."""

    def look(connection: StoreConnection) -> list[object]:
        says = {table: f"SELECT {columns} FROM {table}" for table, columns in COLUMNS.items()}
        asked = [{tuple(row) for row in connection.execute(one)} for one in (*says.values(), *AS_SUMMED.values())]
        half = len(says)
        return [asked[number] ^ asked[number + half] for number in range(half) if asked[number] != asked[number + half]]

    return await db.read(look)


@BOTH
async def test_whatever_writes_or_erases_keeps_the_sums(db: LogStore, transcript: Transcript, blobs: BlobStore) -> None:
    one = await paid(transcript, "one", 5, 70, -1)
    two = await paid(transcript, "two", 7, 9, owner=ANN)
    await transcript.append(one, [said(30), said(1, "n")], at=[DAY_MS, DAY_MS + 1])
    assert await wrong(db) == []
    spendings = Spendings(db)
    days = [PaidFor(0, "m", 79, 30, 15, 1), PaidFor(DAY_MS, "m", 30, 10, 5, 0), PaidFor(DAY_MS, "n", 1, 10, 5, 0)]
    assert await spendings.by_day(OWNER, 0) == days
    assert await spendings.by_day(ANN, 0) == [PaidFor(0, "m", 9, 10, 5, 0)]
    assert await transcript.spent(OWNER, DAY_MS + 7) == Spending(31, 30, 0)
    await transcript.erase(one, blobs)
    assert await wrong(db) == []
    assert await spendings.by_day(OWNER, 0) == days, "what was paid stays counted"
    assert await spendings.by_conversation(OWNER, 0, 9) == [PaidIn(two, "", "terminal", 9, 10, 5, 0)]
    await db.write(lambda own: own.execute("UPDATE spending SET principal = ?", (str(ERASED),)))
    await KnownPeople(db).forget(OWNER)
    assert await wrong(db) == []
    assert await spendings.by_day(ERASED, 0) == days
    assert await spendings.by_day(ANN, 0) == []


@BOTH
async def test_a_price_that_is_of_replies_before_it_too_leaves_none_of_them_unpriced(
    db: LogStore, transcript: Transcript
) -> None:
    """And a reply that it is not of, or of another model or conversation, stays without one."""
    other = await paid(transcript, "other", 5, -1)
    one = await paid(transcript, "one", 5, -1, -1, -1)
    facts = [said(-1, "n"), replace(said(40), covers=2)]
    await transcript.append(one, facts, at=[DAY_MS, DAY_MS])
    assert await transcript.spent(OWNER, 0, one) == Spending(40, 75, 2)
    assert await transcript.spent(OWNER, 0, other) == Spending(0, 15, 1)
    assert await wrong(db) == []
    meter = UsageMeter(await transcript.entries(one))
    assert (meter.cost, meter.unpriced) == (40, 2)


@BOTH
async def test_sums_that_are_wrong_are_told_and_added_up_anew(
    db: LogStore, transcript: Transcript, blobs: BlobStore
) -> None:
    await transcript.erase(await paid(transcript, "one", 5, 70), blobs)
    await paid(transcript, "two", 5, 9)
    await db.write(lambda own: own.execute("UPDATE spending_days SET cost = cost + 1"))
    (told,) = await upkeep.verify(db, blobs)
    assert "The table spending_days says" in told
    await upkeep.rebuild(db, blobs)
    assert await upkeep.verify(db, blobs) == []
    assert await transcript.spent(OWNER, 0) == Spending(79, 30, 0)


@BOTH
async def test_the_dearest_of_each_day_are_told_by_what_they_cost_since_then(
    db: LogStore, transcript: Transcript
) -> None:
    for number in range(6):
        await paid(transcript, f"c{number}", 3, number)
    await transcript.append(ConversationId("c4"), [said(10)], at=[DAY_MS])
    found = await Spendings(db).by_conversation(OWNER, 0, 2)
    assert found == [
        PaidIn(ConversationId("c4"), "", "terminal", 14, 20, 10, 0),
        PaidIn(ConversationId("c5"), "", "terminal", 5, 10, 5, 0),
    ]
    assert [one.conversation for one in await Spendings(db).by_conversation(OWNER, DAY_MS, 2)] == ["c4"]


LOOKS: dict[str, Look] = {
    "the days": lambda db: Spendings(db).by_day(OWNER, 0),
    "the dearest": lambda db: Spendings(db).by_conversation(OWNER, 0, 20),
    "the day so far": lambda db: Transcript(db).spent(OWNER, 0),
    "what counts against a cap": lambda db: DayBudgets(db).cost(ALL, 0),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_however_many_conversations_were_paid_for_the_work_is_the_same(
    db: Database, transcript: Transcript, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        await paid(transcript, f"a{number:03}", number % 3 * DAY_MS, number, number)
    few = await steps(db, LOOKS[name], monkeypatch)
    for number in range(300):
        await paid(transcript, f"b{number:03}", number % 3 * DAY_MS, number + 30, 1)
    assert 0 < await steps(db, LOOKS[name], monkeypatch) < 2 * few
