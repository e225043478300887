"""Deliveries, permissions, spending and small memories."""

from pathlib import Path

import pytest

from angelia.core.content import Text
from angelia.core.days import DAY_MS
from angelia.core.entry import (
    Address,
    ApprovalAsked,
    ApprovalGiven,
    ConversationOpened,
    DeliveryQueued,
    DeliverySettled,
    DeliveryStarted,
    DeliveryStatus,
    ModelFailed,
    Scope,
    Usage,
)
from angelia.core.errors import NotFound
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.principal import OWNER, Principal
from angelia.store.log.transcript import Spending, Transcript
from angelia.store.sql.database import Database
from angelia.store.tables.grants import Grants
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.outbox import Outbox
from tests.store.words import answered

pytestmark = pytest.mark.anyio


def queued(name: str, door: str = "telegram") -> DeliveryQueued:
    return DeliveryQueued(DeliveryId(name), Address(door, chat="7"), (Text(name),), "answer")


async def test_deliveries_go_out_in_order_and_leave_receipts(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    outbox = Outbox(db)
    await transcript.append(conversation, [queued("z"), queued("a"), queued("m"), queued("t", "terminal")])
    assert [receipt.id for receipt in await outbox.pending("telegram")] == ["z", "a", "m"]
    z, a = DeliveryId("z"), DeliveryId("a")
    await transcript.append(conversation, [DeliveryStarted(z, 1)])
    assert [receipt.status for receipt in await outbox.pending("telegram")] == ["sending", "queued", "queued"]
    await transcript.append(conversation, [DeliverySettled(z, DeliveryStatus.SENT, "8812"), DeliveryStarted(a, 2)])
    await transcript.append(conversation, [DeliverySettled(a, DeliveryStatus.FAILED, detail="too large")])
    assert [receipt.id for receipt in await outbox.pending("telegram")] == ["m"]
    assert await outbox.counts("telegram") == {"failed": 1, "queued": 1}
    first, second, *_ = await outbox.receipts(OWNER, conversation)
    assert (first.status, first.platform_id, first.parts, first.address.chat) == ("sent", "8812", (Text("z"),), "7")
    assert (second.status, second.detail, second.attempt) == ("failed", "too large", 2)


async def test_queueing_the_same_delivery_again_sends_it_once(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    await transcript.append(conversation, [queued("z"), DeliverySettled(DeliveryId("z"), DeliveryStatus.SENT)])
    await transcript.append(conversation, [queued("z")])
    assert await Outbox(db).pending("telegram") == []


ANN, BOB = Principal("chat", "ann"), Principal("chat", "bob")
CALL = CallId("c1_0")
ASKED = ApprovalAsked(CALL, "May I push?", digest="d1", pattern="shell:git push", approvers=(ANN,))


async def ask_and_allow(transcript: Transcript, name: str, scope: Scope, *, until: int = 0, digest: str = "d1") -> None:
    conversation = ConversationId(name)
    opened = ConversationOpened("terminal", "/work", owner=ANN)
    await transcript.append(conversation, [opened, ASKED])
    await transcript.append(conversation, [ApprovalGiven(CALL, digest, ANN, scope, until)])


async def patterns(db: Database, name: str, principal: Principal = ANN, workspace: str = "/work") -> list[str]:
    found = await Grants(db).matching(principal, "local", workspace, ConversationId(name))
    return [grant.pattern for grant in found]


async def test_a_remembered_yes_holds_for_the_same_person_sandbox_and_workspace(
    db: Database, transcript: Transcript
) -> None:
    await ask_and_allow(transcript, "c1", Scope.REMEMBERED)
    assert await patterns(db, "c1") == await patterns(db, "c2") == ["shell:git push"]
    assert await patterns(db, "c1", principal=BOB) == []
    assert await patterns(db, "c1", workspace="/elsewhere") == []


async def test_a_yes_for_a_conversation_holds_there_alone(db: Database, transcript: Transcript) -> None:
    await ask_and_allow(transcript, "c1", Scope.CONVERSATION)
    assert (await patterns(db, "c1"), await patterns(db, "c2")) == (["shell:git push"], [])


async def test_a_yes_of_somebody_who_may_not_give_it_is_not_remembered(db: Database, transcript: Transcript) -> None:
    conversation = ConversationId("c1")
    opened = ConversationOpened("terminal", "/work", owner=ANN)
    await transcript.append(conversation, [opened, ASKED, ApprovalGiven(CALL, "d1", BOB, Scope.REMEMBERED)])
    assert await patterns(db, "c1") == []


@pytest.mark.parametrize(("scope", "digest"), [(Scope.ONCE, "d1"), (Scope.REMEMBERED, "other arguments")])
async def test_a_yes_that_is_for_once_or_to_other_arguments_is_not_remembered(
    db: Database, transcript: Transcript, scope: Scope, digest: str
) -> None:
    await ask_and_allow(transcript, "c1", scope, digest=digest)
    assert await Grants(db).list(OWNER) == []


async def test_a_grant_ends_at_its_date_and_can_be_taken_back(home: Path) -> None:
    now = 1000
    db = Database.open(home, clock=lambda: now)
    transcript, grants = Transcript(db), Grants(db)
    await ask_and_allow(transcript, "c1", Scope.REMEMBERED, until=2000)
    await ask_and_allow(transcript, "c2", Scope.REMEMBERED)
    first, second = await grants.list(OWNER)
    assert (first.until, first.given_by, first.given_at, second.until) == (2000, ANN, 1000, 0)
    now = 2000
    assert await grants.list(OWNER) == [second]
    assert await patterns(db, "c1") == ["shell:git push"]
    await grants.revoke(OWNER, second.id)
    assert await patterns(db, "c1") == []
    with pytest.raises(NotFound, match=f"There is no grant {second.id}"):
        await grants.revoke(OWNER, second.id)
    db.close()


async def test_spending_is_summed_since_the_day_of_a_moment_and_unknown_prices_are_counted(home: Path) -> None:
    now = DAY_MS - 1
    db = Database.open(home, clock=lambda: now)
    transcript = Transcript(db)
    one, two = ConversationId("one"), ConversationId("two")
    for name in (one, two):
        await transcript.append(name, [ConversationOpened("terminal", "/")])
    await transcript.append(one, [answered("a", 300, Usage(10, 5)), answered("b", -1, Usage(1, 1))])
    now = DAY_MS
    busy = Failure(FailureKind.BUSY)
    await transcript.append(two, [ModelFailed("m", busy, cost=40, usage=Usage(7)), ModelFailed("m", busy)])
    assert await transcript.spent(OWNER, 0) == Spending(cost=340, tokens=24, unpriced=1)
    assert await transcript.spent(OWNER, DAY_MS + 1001) == Spending(cost=40, tokens=7, unpriced=0)
    assert await transcript.spent(OWNER, 0, one) == Spending(cost=300, tokens=17, unpriced=1)
    assert await transcript.spent(OWNER, 2 * DAY_MS) == Spending(cost=0, tokens=0, unpriced=0)
    db.close()


async def test_small_things_are_remembered_until_they_are_forgotten(db: Database) -> None:
    remembered = KeyValue(db)
    assert await remembered.get("server:ollama", "unknown") == "unknown"
    await remembered.put("server:ollama", "yes")
    await remembered.put("server:ollama", "no")
    await remembered.put("other", "x")
    assert await remembered.get("server:ollama") == "no"
    assert await remembered.all("server:") == [("server:ollama", "no")]
    await remembered.forget("server:ollama")
    assert await remembered.all() == [("other", "x")]
