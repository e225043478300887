"""Calls of a program's own tools: as they are handed to it, and as it brings their results."""

import re
from collections.abc import Sequence

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Content, Text, ToolCall
from angelia.core.counts import counted
from angelia.core.ids import CallId, ConversationId
from angelia.engine.calls import HandedOver
from angelia.engine.state import Turn
from angelia.faces.web.v1.chat_messages import ChatMessage
from angelia.faces.web.v1.refusals import ApiRefused
from angelia.tools.program.handed_over import offered_tools
from angelia.tools.program.toolset import own_name

_ID = re.compile(r"call_([0-9a-z]{26})_(c[1-9][0-9]{0,9}_[0-9]{1,4})", re.ASCII)


class ProgramCall(Struct, frozen=True):
    """A call as the program knows it; `arguments` is JSON."""

    id: str
    name: str
    arguments: str


class NamedCall(Struct, frozen=True):
    """Which call an id means."""

    conversation: ConversationId
    call: CallId


def call_name(conversation: ConversationId, call: CallId) -> str:
    """The id by which a program knows a call: in which log it stands, and where."""
    return f"call_{conversation}_{call}"


def named_call(own: str) -> NamedCall | None:
    """The inverse of `call_name`; None for an id that is none of ours."""
    found = _ID.fullmatch(own)
    return NamedCall(ConversationId(found[1]), CallId(found[2])) if found else None


def handed_over(log: Sequence[e.Entry], at: int, conversation: ConversationId) -> tuple[ProgramCall, ...]:
    """The calls that the entry number `at` hands over."""
    handed = log[at - 1].fact
    assert isinstance(handed, e.CallsHandedOver)
    before = log[:at]
    offered = offered_tools(before)
    said = next(entry.fact for entry in reversed(before) if isinstance(entry.fact, e.ModelSaid))
    return tuple(
        ProgramCall(call_name(conversation, part.id), own_name(part.name, offered), part.arguments)
        for part in said.parts
        if isinstance(part, ToolCall) and part.id in handed.calls
    )


def conversation_of(results: Sequence[ChatMessage]) -> ConversationId | None:
    """The conversation whose calls these are results of; None if they are of none of ours, or of several."""
    named = [named_call(one.tool_call_id) for one in results]
    found = {one.conversation if one else None for one in named}
    return found.pop() if len(found) == 1 else None


def call_of(result: ChatMessage) -> CallId:
    """Which call of its conversation a result is of; empty for one that is none of ours."""
    named = named_call(result.tool_call_id)
    return named.call if named else CallId("")


def waits_for(turn: Turn, results: Sequence[ChatMessage]) -> bool:
    """Whether a turn waits for all of these.

    Raises:
        ApiRefused: it waits for others besides, or one comes twice.
    """
    calls = [call_of(one) for one in results]
    waiting = {call.id for call in turn.calls if isinstance(call.state, HandedOver)}
    if not waiting.issuperset(calls):
        return False
    if len(calls) < len(waiting) or len(set(calls)) < len(calls):
        raise ApiRefused(
            400,
            f"The results of {counted(len(waiting), 'call')} are waited for, and of {len(set(calls))} there is one.",
            then="Bring one for each call of the last answer, together.",
            code="missing_results",
        )
    return True


def brought_before(log: Sequence[e.Entry], results: Sequence[e.BroughtResult]) -> int:
    """The number of the entry by which these very results came, if nothing else came after it; 0 for none."""
    for entry in reversed(log):
        match entry.fact:
            case e.ResultsBrought(results=known):
                return entry.seq if known == tuple(results) else 0
            case e.Opening():
                return 0
            case _:
                pass
    return 0


def result_of(call: CallId, parts: Sequence[Content], *, failed: bool) -> e.BroughtResult:
    """A result, which is never nothing: models refuse an empty one."""
    there = any(not isinstance(part, Text) or part.text.strip() for part in parts)
    return e.BroughtResult(call, tuple(parts) if there else (Text("It brought nothing."),), failed)
