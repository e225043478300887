"""A turn as spans, by OpenTelemetry's conventions for generative AI: the turn, its model calls, its tool calls.

https://opentelemetry.io/docs/specs/semconv/gen-ai/. Nothing that was said, given to a tool or returned by one is in
them, and nobody's name: which conversation (an id), which model, how many tokens, which tools, how long, how it ended.
`contents.py` adds the words where somebody wants them.
"""

import hashlib
from collections.abc import Iterator, Mapping

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import CallStatus, ToolCall
from angelia.core.ending import Answered, Cancelled, StayedSilent
from angelia.store.log.closed_turns import ClosedTurn, WrittenFact

AGENT = "Angelia"
Value = str | int | tuple[str, ...]

_WELL = (Answered, StayedSilent, Cancelled)
_FINE = (CallStatus.OK, CallStatus.CANCELLED)
_PROVIDERS = {"bedrock": "aws.bedrock", "google": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
"""What the conventions call a provider, where it is not what we call it."""
_FINISHED = {
    e.StopReason.END: "stop",
    e.StopReason.TOOL_CALLS: "tool_call",
    e.StopReason.LENGTH: "length",
    e.StopReason.REFUSAL: "content_filter",
}


class TraceSpan(Struct, frozen=True):
    """One span: ids in hexadecimal digits, times in Unix milliseconds. `error` is empty where all went well."""

    trace: str
    id: str
    parent: str
    name: str
    client: bool
    start: int
    end: int
    attributes: Mapping[str, Value]
    error: str = ""


def spans_of(turn: ClosedTurn) -> list[TraceSpan]:
    """All of one turn. The same turn has the same ids whoever tells it, so that what is told twice is one."""
    trace, root = _digits(turn, "trace", 32), span_id(turn, 0)
    parts = [*_model_calls(turn, trace, root), *_tool_calls(turn, trace, root)]
    last = turn.written[-1]
    begins = [one.at for one in turn.written if isinstance(one.fact, e.UserSaid | e.ModelAsked)]
    ending = last.fact.ending if isinstance(last.fact, e.TurnClosed) else None
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": AGENT,
        "gen_ai.conversation.id": turn.conversation,
        "angelia.turn.ending": type(ending).__name__,
    }
    error = "" if isinstance(ending, _WELL) else type(ending).__name__
    start = min([*begins, last.at])
    return [TraceSpan(trace, root, "", f"invoke_agent {AGENT}", False, start, last.at, attributes, error), *parts]


def span_id(turn: ClosedTurn, seq: int) -> str:
    """Of the span that the entry with this number ended, a reply or a result; 0 is the turn's own."""
    return _digits(turn, str(seq) if seq else "turn", 16)


def _model_calls(turn: ClosedTurn, trace: str, root: str) -> Iterator[TraceSpan]:
    asked: WrittenFact | None = None
    for one in turn.written:
        if isinstance(one.fact, e.ModelAsked):
            asked = one
        elif isinstance(one.fact, e.ModelSaid | e.ModelFailed) and asked:
            yield _model_call(turn, trace, root, asked.at, one)
            asked = None


def _model_call(turn: ClosedTurn, trace: str, root: str, start: int, told: WrittenFact) -> TraceSpan:
    fact = told.fact
    assert isinstance(fact, e.ModelSaid | e.ModelFailed)
    vendor, _, model = fact.model.partition(":")
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(vendor, vendor),
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": turn.conversation,
        "gen_ai.usage.input_tokens": fact.usage.input,
        "gen_ai.usage.output_tokens": fact.usage.output,
    }
    if fact.usage.cache_read:
        attributes["gen_ai.usage.cache_read.input_tokens"] = fact.usage.cache_read
    if fact.usage.cache_write:
        attributes["gen_ai.usage.cache_creation.input_tokens"] = fact.usage.cache_write
    if isinstance(fact, e.ModelSaid):
        attributes["gen_ai.response.finish_reasons"] = (_FINISHED.get(fact.stop, fact.stop.value),)
    if fact.cost >= 0:
        attributes["angelia.cost.microdollars"] = fact.cost
    error = fact.failure.kind.value if isinstance(fact, e.ModelFailed) else ""
    return TraceSpan(trace, span_id(turn, told.seq), root, f"chat {model}", True, start, told.at, attributes, error)


def _tool_calls(turn: ClosedTurn, trace: str, root: str) -> Iterator[TraceSpan]:
    names: dict[str, str] = {}
    started: dict[str, int] = {}
    for one in turn.written:
        fact = one.fact
        if isinstance(fact, e.ModelSaid):
            names.update({part.id: part.name for part in fact.parts if isinstance(part, ToolCall)})
        elif isinstance(fact, e.ToolStarted):
            started[fact.call] = one.at
        elif isinstance(fact, e.ToolFinished) and fact.call in names:
            name = names[fact.call]
            attributes: dict[str, Value] = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": fact.call,
                "gen_ai.conversation.id": turn.conversation,
            }
            error = "" if fact.status in _FINE else fact.status.value
            start, span = started.get(fact.call, one.at), span_id(turn, one.seq)
            yield TraceSpan(trace, span, root, f"execute_tool {name}", False, start, one.at, attributes, error)


def _digits(turn: ClosedTurn, what: str, count: int) -> str:
    told = f"{turn.conversation} {turn.written[-1].seq} {what}"
    return hashlib.sha256(told.encode()).hexdigest()[:count]
