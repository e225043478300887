"""Of two answers to one question the first counts, whatever they came through; the other is told which, and whose."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.service.app import App
from angelia.service.conversation.first_answer import NotOpen
from angelia.service.conversation.session import Session
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio

TERMINAL = e.Address("terminal")
BEN = Principal("telegram", "4711")
CALL = CallId("c1_0")
ASKED = e.ApprovalAsked(CALL, "Which bed?", "d1", choices=("north", "south"), approvers=(OWNER, BEN))
YES, NO = e.ApprovalGiven(CALL, "d1", OWNER), e.ApprovalRefused(CALL, OWNER)


@asynccontextmanager
async def at_two_doors(folder: Path) -> AsyncIterator[tuple[Session, Session]]:
    """A conversation with an open question, as two processes have it: neither has read what the other appends."""
    (workspace := folder / "work").mkdir()
    app = await App.open(load(folder / "home", {}), {})
    try:
        one = app.conversations.begin(door="terminal", workspace=workspace)
        await one.say([Text("Plant it.")], address=TERMINAL)
        call = ToolCall(CALL, "ask_user", "{}")
        await one.record(e.ModelAsked("m", 1, (2,)), e.ModelSaid("m", (call,), e.StopReason.TOOL_CALLS), ASKED)
        other = Session(one.conversation, app.db, app.transcript, "another process")
        await other.log.refresh()
        yield one, other
    finally:
        await app.close()


@asynccontextmanager
async def asked_by_a_helper(folder: Path) -> AsyncIterator[list[Session]]:
    """A helper's helper asks, and its question stands in the two conversations above as well. All three, the uppermost
    first, as processes have them that drive none of them.
    """
    app = await App.open(load(folder / "home", {}), {})
    upper, middle, lower = names = [ConversationId(name) for name in ("upper", "middle", "lower")]
    opened = e.ConversationOpened("terminal", str(folder), "local")
    said = e.UserSaid((Text("Plant it."),), address=TERMINAL)
    call = e.ModelSaid("m", (ToolCall(CALL, "ask_user", "{}"),), e.StopReason.TOOL_CALLS)

    def helper(of: ConversationId, name: ConversationId) -> e.WorkStarted:
        return e.WorkStarted(
            CallId("h1"), e.WorkKind.CHILD, "Ask.", "", e.Child(name, e.ChildTerms(of, upper, "h1"), "")
        )

    try:
        await app.transcript.append(upper, [opened, said, helper(upper, middle), under("h1.h1.c1_0")])
        await app.transcript.append(middle, [opened, said, helper(middle, lower), under("h1.c1_0")])
        await app.transcript.append(lower, [opened, said, e.ModelAsked("m", 1, (2,)), call, ASKED])
        sessions = [Session(name, app.db, app.transcript, "a process") for name in names]
        for one in sessions:
            await one.log.refresh()
        yield sessions
    finally:
        await app.close()


def under(name: str) -> e.ApprovalAsked:
    """The question under the name that it has in another log."""
    return replace(ASKED, call=CallId(name))


def answers(session: Session) -> list[e.AnyFact]:
    return [one.fact for one in session.log.entries if isinstance(one.fact, e.ApprovalGiven | e.ApprovalRefused)]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (YES, NO, "answered before: yes, once, by the owner. Your answer changed nothing."),
        (NO, YES, "answered before: no, by the owner. Your answer changed nothing."),
        (e.ApprovalRefused(CALL, BEN, "not now"), YES, "answered before: no, by telegram:4711."),
        (e.ApprovalGiven(CALL, "d1", BEN, answer="south"), NO, "answered before: “south”, by telegram:4711."),
        (e.ApprovalGiven(CALL, "d1", OWNER, answer="the old one"), NO, "before: in words of their own, by the owner."),
        (e.ApprovalGiven(CALL, "d1", OWNER, e.Scope.CONVERSATION), NO, "before: yes, conversation, by the owner."),
        (e.ApprovalRefused(CALL, ANGELIA, "It expired."), YES, "not asked any more: It expired."),
        (e.TurnClosed(end.Cancelled(OWNER)), YES, "not open any more. The conversation went on without an answer."),
    ],
)
async def test_who_answers_second_is_told_what_was_answered_and_by_whom(
    tmp_path: Path, first: e.AnyFact, second: e.ApprovalGiven | e.ApprovalRefused, told: str
) -> None:
    async with at_two_doors(tmp_path) as (one, other):
        await one.record(first)
        with pytest.raises(NotOpen, match=told.replace(".", r"\.")):
            await other.record(second)
        await other.log.refresh()
        assert answers(other) == ([] if isinstance(first, e.TurnClosed) else [first])
        with pytest.raises(NotOpen, match=told.replace(".", r"\.")):
            await one.record(second)


async def test_a_no_at_the_same_instant_as_a_yes_is_one_of_the_two(tmp_path: Path) -> None:
    async with at_two_doors(tmp_path) as (one, other):
        await one.approve(ASKED, by=OWNER)
        with pytest.raises(NotOpen):
            await other.refuse(ASKED, by=BEN)
        assert answers(other) == [YES]


@pytest.mark.parametrize("meanwhile", [(e.SystemSaid("It rains."),), (e.SystemSaid("It rains."),) * 3])
async def test_what_else_is_appended_meanwhile_keeps_no_answer_back(
    tmp_path: Path, meanwhile: Sequence[e.AnyFact]
) -> None:
    async with at_two_doors(tmp_path) as (one, other):
        await one.record(*meanwhile)
        assert await other.record(YES)
        assert answers(other) == [YES]


async def test_a_press_that_comes_twice_changes_nothing_and_is_no_second_answer(tmp_path: Path) -> None:
    async with at_two_doors(tmp_path) as (one, _):
        given = e.CommandGiven("Allowed", OWNER, e.Address("telegram", "7"), "k1")
        await one.record(given)
        assert not await one.record(given, YES)
        assert answers(one) == []


AT = {0: under("h1.h1.c1_0"), 1: under("h1.c1_0"), 2: ASKED}


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
async def test_a_helpers_question_is_answered_once_whichever_conversation_the_answers_come_through(
    tmp_path: Path, first: int, second: int
) -> None:
    async with asked_by_a_helper(tmp_path) as conversations:
        await conversations[first].refuse(AT[first], by=BEN, why="not now")
        with pytest.raises(NotOpen, match=r"answered before: no, by telegram:4711. Your answer changed nothing\."):
            await conversations[second].approve(AT[second], by=OWNER)
        for number, one in enumerate(conversations):
            await one.log.refresh()
            told = [e.ApprovalRefused(AT[number].call, BEN, "not now")] if number >= first else []
            assert answers(one) == told, "below where it was given, in the same commit"


async def test_a_helper_whose_question_has_changed_is_not_told_yes_by_whoever_saw_the_old_one(tmp_path: Path) -> None:
    async with asked_by_a_helper(tmp_path) as conversations:
        await conversations[2].record(replace(ASKED, digest="d2"))
        with pytest.raises(NotOpen, match="not open any more"):
            await conversations[0].approve(AT[0], by=OWNER)


async def test_what_is_granted_for_longer_is_granted_where_it_was_given(tmp_path: Path) -> None:
    async with asked_by_a_helper(tmp_path) as conversations:
        await conversations[0].approve(AT[0], by=OWNER, scope=e.Scope.CONVERSATION)
        for one in conversations:
            await one.log.refresh()
        given = [one for conversation in conversations for one in answers(conversation)]
        assert [one.scope for one in given if isinstance(one, e.ApprovalGiven)] == ["conversation", "once", "once"]
