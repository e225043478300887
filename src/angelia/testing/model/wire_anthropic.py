"""Anthropic Messages, as a server speaks it (https://docs.anthropic.com/en/api/messages)."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from angelia.core.content import Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.testing.model.anthropic_errors import error_event, refuse
from angelia.testing.model.received import (
    Complaint,
    HeardCall,
    HeardResult,
    ReceivedMedia,
    ReceivedMessage,
    ReceivedRequestBody,
    check_pairs,
    field,
    opened,
)
from angelia.testing.model.steps import Speak
from angelia.testing.model.wire import About, ServerWire, StreamEvent, Weight, bites, call_name, seal, sse, words

_STOP = {
    StopReason.END: "end_turn",
    StopReason.TOOL_CALLS: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.REFUSAL: "refusal",
    StopReason.PAUSE: "pause_turn",
}


def hear(body: dict[str, Any]) -> ReceivedRequestBody:
    """Read a request.

    Raises:
        Complaint, MediaTrouble: as Anthropic answers 400.
    """
    model = field(body, "model", str, "body")
    most = field(body, "max_tokens", int, "body")
    messages = field(body, "messages", list, "body")
    if not messages or messages[0].get("role") != "user":
        raise Complaint("messages: first message must use the user role")
    if (marks := _marks(body)) > 4:
        raise Complaint(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    said: list[ReceivedMessage] = []
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        match message.get("role"):
            case "user":
                said.extend(_user(message, where))
            case "assistant":
                said.append(_assistant(message, where, last=number == len(messages) - 1))
            case role:
                raise Complaint(f"{where}.role: {role!r} is not one of user, assistant")
    check_pairs(said)
    return ReceivedRequestBody(
        model,
        _system(body.get("system")),
        tuple(said),
        tuple(field(tool, "name", str, "tools") for tool in body.get("tools") or ()),
        bool(body.get("stream")),
        most,
    )


def _marks(value: object) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(_marks, value.values()))
    return sum(map(_marks, value)) if isinstance(value, list) else 0


def _system(system: object) -> str:
    if isinstance(system, list):
        return "\n".join(field(part, "text", str, "system") for part in system)
    return str(system or "")


def _blocks(message: dict[str, Any], where: str) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks: list[dict[str, Any]] = field(message, "content", list, where)
    if not blocks:
        raise Complaint(f"{where}: all messages must have non-empty content")
    return blocks


def _text(block: dict[str, Any], where: str) -> str:
    text: str = field(block, "text", str, where)
    if not text.strip():
        raise Complaint(f"{where}: text content blocks must contain non-whitespace text")
    return text


def _user(message: dict[str, Any], where: str) -> Iterator[ReceivedMessage]:
    texts: list[str] = []
    media: list[ReceivedMedia] = []
    results: list[HeardResult] = []
    shown: list[ReceivedMedia] = []
    for block in _blocks(message, where):
        kind = field(block, "type", str, where)
        if kind == "tool_result":
            if texts or media:
                raise Complaint(f"{where}: tool_result blocks must come first in the content")
            text, inside = _result(block, where)
            results.append(HeardResult(field(block, "tool_use_id", str, where), text))
            shown.extend(inside)
        elif kind == "text":
            texts.append(_text(block, where))
        else:
            media.append(_medium(block, kind, where))
    if results:
        yield ReceivedMessage("tool", results=tuple(results), media=tuple(shown))
    if texts or media:
        yield ReceivedMessage("user", "\n".join(texts), media=tuple(media))


def _result(block: dict[str, Any], where: str) -> tuple[str, list[ReceivedMedia]]:
    content = block.get("content") or []
    if isinstance(content, str):
        return content, []
    texts = [_text(part, where) for part in content if part.get("type") == "text"]
    return "\n".join(texts), [_medium(part, part["type"], where) for part in content if part.get("type") != "text"]


def _medium(block: dict[str, Any], kind: str, where: str) -> ReceivedMedia:
    if kind not in ("image", "document"):
        raise Complaint(f"{where}: unexpected block {kind!r}")
    source = field(block, "source", dict, where)
    name = str(block.get("title") or "")
    if source.get("type") == "text":
        return ReceivedMedia("text/plain", str(source.get("data")).encode(), name)
    if source.get("type") != "base64":
        raise Complaint(f"{where}.source: expected base64, got {source.get('type')!r}")
    return opened(field(source, "media_type", str, where), source.get("data"), name=name)


def _assistant(message: dict[str, Any], where: str, *, last: bool) -> ReceivedMessage:
    texts: list[str] = []
    thinking: list[str] = []
    calls: list[HeardCall] = []
    for number, block in enumerate(_blocks(message, where)):
        match block.get("type"):
            case "text":
                texts.append(_text(block, where))
            case "thinking":
                thinking.append(_thought(block, f"{where}.content.{number}"))
            case "redacted_thinking":
                field(block, "data", str, where)
            case "tool_use":
                calls.append(_call(block, where))
            case kind:
                raise Complaint(f"{where}: unexpected block {kind!r}")
    if last and texts and texts[-1] != texts[-1].rstrip():
        raise Complaint("messages: final assistant content cannot end with trailing whitespace")
    return ReceivedMessage("assistant", "\n".join(texts), "\n".join(thinking), tuple(calls))


def _thought(block: dict[str, Any], where: str) -> str:
    text: str = field(block, "thinking", str, where)
    if block.get("signature") != seal("thinking", text):
        raise Complaint(f"{where}: Invalid `signature` in `thinking` block")
    return text


def _call(block: dict[str, Any], where: str) -> HeardCall:
    name = field(block, "id", str, where)
    if not re.fullmatch(r"[a-zA-Z0-9_-]+", name):
        raise Complaint(f"{where}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    arguments = msgspec.json.encode(field(block, "input", dict, where)).decode()
    return HeardCall(name, field(block, "name", str, where), arguments)


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input - usage.cache_read - usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
    }


def _message(about: About, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": f"msg_{about.number}",
        "type": "message",
        "role": "assistant",
        "model": about.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _usage(about.usage),
    }


def stream(speak: Speak, about: About) -> Iterator[StreamEvent]:
    """A reply as events: message_start, blocks with their deltas, message_delta, message_stop."""

    def event(kind: str, value: dict[str, Any], weight: Weight = Weight.FRAME) -> StreamEvent:
        return sse({"type": kind, **value}, weight, event=kind)

    yield event("message_start", {"message": _message(about, [], None)})
    yield event("ping", {})
    for index, part in enumerate(speak.parts):
        start, deltas = _block(part, about, index)
        weight = Weight.CONTENT if isinstance(part, ToolCall) else Weight.FRAME
        yield event("content_block_start", {"index": index, "content_block": start}, weight)
        for delta in deltas:
            yield event("content_block_delta", {"index": index, "delta": delta}, Weight.CONTENT)
        yield event("content_block_stop", {"index": index})
    ended = {"stop_reason": _STOP[speak.stop], "stop_sequence": None}
    yield event("message_delta", {"delta": ended, "usage": _usage(about.usage)}, Weight.FINISH)
    yield event("message_stop", {}, Weight.FINISH)


def _block(part: Text | Thinking | ToolCall, about: About, index: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match part:
        case Text(text=text):
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": word} for word in words(text)]
        case Thinking(text=text):
            deltas = [{"type": "thinking_delta", "thinking": word} for word in words(text)]
            signed = {"type": "signature_delta", "signature": seal("thinking", text)}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        case ToolCall():
            start = {"type": "tool_use", "id": call_name(part, about, index, "toolu_"), "name": part.name, "input": {}}
            return start, [{"type": "input_json_delta", "partial_json": bite} for bite in bites(part.arguments)]


def whole(speak: Speak, about: About) -> bytes:
    """A reply in one piece. Arguments stand in it as scripted: broken ones break the body."""
    content: list[dict[str, Any]] = []
    for index, part in enumerate(speak.parts):
        start, _ = _block(part, about, index)
        match part:
            case Text(text=text):
                start["text"] = text
            case Thinking(text=text):
                start.update(thinking=text, signature=seal("thinking", text))
            case ToolCall():
                start["input"] = msgspec.Raw(part.arguments.encode())
        content.append(start)
    return msgspec.json.encode(_message(about, content, _STOP[speak.stop]))


WIRE = ServerWire("anthropic", "/v1/messages", hear, stream, whole, refuse, error_event)
