"""Every call has exactly one result, right after the reply that made it, in the order of the calls."""

from collections.abc import Mapping
from typing import assert_never

from angelia.context.request import MessagePart, RequestMessage, Result, Role, Shown
from angelia.core.content import CallStatus, ProviderBlock, Text, Thinking, ToolCall
from angelia.core.ids import CallId

_LOST = Text("No result was recorded. The call may or may not have taken effect.")


def results_message(seq: int, calls: tuple[ToolCall, ...], results: Mapping[CallId, Result]) -> RequestMessage:
    """The one TOOL message that answers `calls`; a call without a result gets one that says so."""
    parts = tuple(results.get(call.id) or lost(call) for call in calls)
    return RequestMessage(seq, Role.TOOL, parts)


def lost(call: ToolCall) -> Result:
    """The result of a call that has none."""
    return Result(call.id, call.name, CallStatus.UNKNOWN, (_LOST,), call.wire_id)


def without_native(parts: tuple[MessagePart, ...]) -> tuple[MessagePart, ...]:
    """The same parts without any provider's own blocks; thinking goes with its signature, since it is worth nothing."""
    kept: list[MessagePart] = []
    for part in parts:
        match part:
            case ProviderBlock() | Thinking():
                continue
            case Text(text=text):
                kept.append(Text(text))
            case ToolCall(id=call, name=name, arguments=arguments):
                kept.append(ToolCall(call, name, arguments))
            case Result() | Shown():
                kept.append(part)
            case _:
                assert_never(part)
    return tuple(kept)


def as_words(message: RequestMessage) -> RequestMessage:
    """A reply or its results told as text, for a provider that rejects the shape of calls."""
    parts: list[MessagePart] = []
    for part in message.parts:
        match part:
            case ProviderBlock() | Thinking():
                continue
            case ToolCall(name=name, arguments=arguments):
                parts.append(Text(f"[called {name} with {arguments}]"))
            case Result(name=name, status=status, parts=inner):
                parts.append(Text(f"[result of {name}, {status}]"))
                parts.extend(inner)
            case Text(text=text):
                parts.append(Text(text))
            case Shown():
                parts.append(part)
            case _:
                assert_never(part)
    role = Role.USER if message.role is Role.TOOL else message.role
    return RequestMessage(message.seq, role, tuple(parts), message.maker)
