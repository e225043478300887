"""Of all requests that count against a day's cap only the last one may end above it, whoever sends them."""

import pytest
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.days import DAY_MS
from angelia.core.errors import Fenced
from angelia.core.ids import ConversationId, new_conversation
from angelia.core.principal import OWNER, Principal
from angelia.store.log.lease import Lease
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.tables.day_budgets import CapInReach, CapReached, DayBudget, DayBudgets
from tests.store.leases import acquire
from tests.store.words import answered

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))]),
]

ANN, BEN, TIM = Principal("chat", "ann"), Principal("chat", "ben"), Principal("chat", "tim")
TEAM = DayBudget("the cost of the group team today", (ANN, BEN), 100)


async def taken(db: LogStore, whose: Principal) -> Lease:
    """A conversation of somebody's, and the right to drive it."""
    own = new_conversation()
    await Transcript(db).append(own, [e.ConversationOpened("chat", "/work", owner=whose)])
    return await acquire(db, own, "somebody")


async def paid(db: LogStore, conversation: ConversationId, cost: int) -> None:
    await Transcript(db).append(conversation, [answered("so", cost=cost)])


async def test_what_others_have_put_aside_counts_until_what_came_of_it_is_stored_or_they_let_go(db: LogStore) -> None:
    sums = DayBudgets(db)
    ann, ben, tim = [await taken(db, one) for one in (ANN, BEN, TIM)]
    assert await sums.put_aside(tim, (replace(TEAM, of=(TIM,)),), 500, 0) is None, "another's budget is no matter"
    assert await sums.put_aside(ann, (TEAM,), 60, 0) is None
    assert await sums.put_aside(ben, (TEAM,), 70, 0) is None, "what is aside leaves room"
    assert await sums.put_aside(ann, (TEAM,), 1, 0) is None, "one's own is put anew, and not counted twice"
    assert await sums.put_aside(ann, (TEAM,), 60, 0) is None
    third = await taken(db, BEN)
    held = CapInReach(TEAM, 0, 130)
    assert await sums.put_aside(third, (TEAM,), 1, 0) == held
    assert await sums.put_aside(third, (replace(TEAM, of=(), most=631),), 1, 0) is None, "nobody named is everybody"
    await Transcript(db).append(ann.conversation, [answered("What came of it.", 0)], lease=ann)
    assert await sums.put_aside(third, (TEAM,), 30, 0) is None
    await third.release()
    await ben.release()
    await paid(db, ben.conversation, 99)
    assert await sums.put_aside(ann, (TEAM,), 1_000, 0) is None, "what is let go of is put aside no longer"
    await paid(db, ann.conversation, 51)
    assert await sums.put_aside(ann, (TEAM,), 1, 0) == CapReached(TEAM, 150)
    assert await sums.put_aside(ann, (TEAM,), 1, db.clock() + DAY_MS) is None, "what was paid before the day is not its"


async def test_what_was_paid_in_an_erased_conversation_counts_and_a_lost_lease_puts_nothing_aside(
    db: LogStore, blobs: BlobStore
) -> None:
    sums = DayBudgets(db)
    gone, ann = await taken(db, ANN), await taken(db, ANN)
    await paid(db, gone.conversation, 100)
    await gone.release()
    await Transcript(db).erase(gone.conversation, blobs)
    assert await sums.put_aside(ann, (TEAM,), 1, 0) == CapReached(TEAM, 100)
    assert await sums.cost(TEAM, 0) == 100
    assert await sums.cost(replace(TEAM, of=(OWNER,)), 0) == 0, "the owner's own, not all of the home's"
    await ann.release()
    await acquire(db, ann.conversation, "somebody else")
    with pytest.raises(Fenced):
        await sums.put_aside(ann, (TEAM,), 1, 0)


async def test_what_was_paid_while_a_clock_was_ahead_fills_no_day_before(db: LogStore) -> None:
    lease = await taken(db, ANN)
    ahead = db.clock() + 400 * DAY_MS
    await Transcript(db).append(lease.conversation, [answered("so", cost=100)], at=[ahead])
    today = db.clock()
    assert await DayBudgets(db).put_aside(lease, (TEAM,), 1, today) is None
    assert await DayBudgets(db).cost(TEAM, today) == 0
    assert (await Transcript(db).spent(OWNER, today)).cost == 0
    assert (await Transcript(db).spent(OWNER, 0, lease.conversation)).cost == 100, "it is paid all the same"
