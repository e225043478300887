"""What was said, asked of tools and returned by them, as spans carry it where the settings say so.

By the conventions' own form of messages
(https://github.com/open-telemetry/semantic-conventions/blob/main/docs/gen-ai/gen-ai-input-messages.json). A request has
what is new in it since the one before, not the whole conversation again; pictures and files are named, and never sent.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Content, Media, MediaKind, ReplyPart, Text, Thinking, ToolCall
from angelia.service.traces.spans import TraceSpan, Value, span_id, spans_of
from angelia.store.log.closed_turns import ClosedTurn

Redact = Callable[[str], str]
"""Takes known secrets out of a text."""

_MOST = 32_000
"""Characters of one text; collectors refuse spans of some megabytes."""
_MODALITIES = {
    MediaKind.IMAGE: "image",
    MediaKind.AUDIO: "audio",
    MediaKind.VOICE: "audio",
    MediaKind.VIDEO: "video",
    MediaKind.DOCUMENT: "document",
}

_Message = dict[str, Any]


def spans_with_contents(turn: ClosedTurn, redact: Redact) -> list[TraceSpan]:
    """Those of `spans_of`, and what was said in each."""
    contents = dict(_contents(turn, redact))
    return [replace(span, attributes={**span.attributes, **contents.get(span.id, {})}) for span in spans_of(turn)]


def _contents(turn: ClosedTurn, redact: Redact) -> Iterator[tuple[str, dict[str, Value]]]:
    """The attributes to be added, by the ids of their spans."""
    asked: list[_Message] = []
    fresh: list[_Message] = []
    arguments: dict[str, str] = {}
    answer: list[_Message] = []
    for one in turn.written:
        match one.fact:
            case e.UserSaid(parts=parts) | e.Occurred(parts=parts) | e.Delegated(parts=parts):
                said = _message("user", _content(parts, redact))
                asked.append(said)
                fresh.append(said)
            case e.SystemSaid(text=text):
                fresh.append(_message("system", [_text(text, redact)]))
            case e.ModelFailed():
                yield span_id(turn, one.seq), _messages(fresh)
            case e.ModelSaid(parts=parts):
                answer = [_message("assistant", list(_reply(parts, redact)))]
                yield span_id(turn, one.seq), _messages(fresh, answer)
                fresh = list(answer)
                arguments.update({part.id: part.arguments for part in parts if isinstance(part, ToolCall)})
            case e.ToolFinished(call=call, parts=parts) if call in arguments:
                result = _content(parts, redact)
                fresh.append(_message("tool", [{"type": "tool_call_response", "id": call, "response": result}]))
                yield (
                    span_id(turn, one.seq),
                    {
                        "gen_ai.tool.call.arguments": _short(arguments[call], redact),
                        "gen_ai.tool.call.result": msgspec.json.encode(result).decode(),
                    },
                )
            case _:
                pass
    yield span_id(turn, 0), _messages(asked, answer)


def _messages(came: Sequence[_Message], went: Sequence[_Message] = ()) -> dict[str, Value]:
    both = {"gen_ai.input.messages": came, "gen_ai.output.messages": went}
    return {name: msgspec.json.encode(told).decode() for name, told in both.items() if told}


def _message(role: str, parts: list[_Message]) -> _Message:
    return {"role": role, "parts": parts}


def _content(parts: Sequence[Content], redact: Redact) -> list[_Message]:
    return [_text(part.text, redact) if isinstance(part, Text) else _named(part) for part in parts]


def _reply(parts: Sequence[ReplyPart], redact: Redact) -> Iterator[_Message]:
    for part in parts:
        match part:
            case Text(text=text):
                yield _text(text, redact)
            case Thinking(text=text):
                yield {**_text(text, redact), "type": "reasoning"}
            case ToolCall(id=call, name=name, arguments=arguments):
                yield {"type": "tool_call", "id": call, "name": name, "arguments": _short(arguments, redact)}
            case _:  # a provider's own block, which means nothing to anybody else
                pass


def _text(text: str, redact: Redact) -> _Message:
    return {"type": "text", "content": _short(text, redact)}


def _named(part: Media) -> _Message:
    return {
        "type": "file_data",
        "modality": _MODALITIES[part.media],
        "mime_type": part.blob.mime,
        "file_id": part.blob.sha256,
    }


def _short(text: str, redact: Redact) -> str:
    """Redacted first: a secret that is cut is known to nobody."""
    whole = redact(text)
    return whole if len(whole) <= _MOST else f"{whole[:_MOST]}… ({len(whole) - _MOST} more characters)"
