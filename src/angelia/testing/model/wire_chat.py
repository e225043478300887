"""OpenAI Chat Completions, as a server speaks it (https://platform.openai.com/docs/api-reference/chat)."""

from collections.abc import Iterator
from typing import Any

import msgspec

from angelia.core.content import Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.testing.model.openai_errors import error_event, refuse
from angelia.testing.model.received import (
    Complaint,
    HeardCall,
    HeardResult,
    ReceivedMedia,
    ReceivedMessage,
    ReceivedRequestBody,
    check_pairs,
    field,
    from_data_url,
    opened,
)
from angelia.testing.model.steps import Speak
from angelia.testing.model.wire import About, ServerWire, StreamEvent, Weight, bites, call_name, sse, words

_FINISH = {
    StopReason.END: "stop",
    StopReason.TOOL_CALLS: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.REFUSAL: "content_filter",
    StopReason.PAUSE: "stop",
}


def hear(body: dict[str, Any]) -> ReceivedRequestBody:
    """Read a request.

    Raises:
        Complaint, MediaTrouble: as OpenAI answers 400.
    """
    model = field(body, "model", str, "body")
    messages = field(body, "messages", list, "body")
    if not messages:
        raise Complaint("messages: must not be empty")
    system: list[str] = []
    said: list[ReceivedMessage] = []
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        role = field(message, "role", str, where)
        if role in ("system", "developer"):
            system.append(_content(message, where, media=False)[0])
        else:
            said.append(_message(role, message, where))
    check_pairs(said)
    options = body.get("stream_options") or {}
    return ReceivedRequestBody(
        model,
        "\n".join(system),
        tuple(said),
        tuple(field(field(tool, "function", dict, "tools"), "name", str, "tools") for tool in body.get("tools") or ()),
        bool(body.get("stream")),
        int(body.get("max_completion_tokens") or body.get("max_tokens") or 0),
        bool(options.get("include_usage")) or not body.get("stream"),
    )


def _message(role: str, message: dict[str, Any], where: str) -> ReceivedMessage:
    if role == "user":
        text, media = _content(message, where, media=True)
        return ReceivedMessage("user", text, media=media)
    if role == "tool":
        text, _ = _content(message, where, media=False)
        return ReceivedMessage("tool", results=(HeardResult(field(message, "tool_call_id", str, where), text),))
    if role != "assistant":
        raise Complaint(f"{where}.role: {role!r} is not one of system, developer, user, assistant, tool")
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        raise Complaint(f"{where}.tool_calls: [] is too short")
    text = _content(message, where, media=False)[0] if message.get("content") is not None else ""
    if not calls and message.get("content") is None:
        raise Complaint(f"{where}.content: expected a string, got null, and there are no tool_calls")
    heard = tuple(_call(one, f"{where}.tool_calls") for one in calls or ())
    return ReceivedMessage("assistant", text, str(message.get("reasoning_content") or ""), calls=heard)


def _call(one: dict[str, Any], where: str) -> HeardCall:
    function = field(one, "function", dict, where)
    return HeardCall(
        field(one, "id", str, where), field(function, "name", str, where), field(function, "arguments", str, where)
    )


def _content(message: dict[str, Any], where: str, *, media: bool) -> tuple[str, tuple[ReceivedMedia, ...]]:
    content = message.get("content")
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    found: list[ReceivedMedia] = []
    for part in field(message, "content", list, where):
        kind = field(part, "type", str, where)
        if kind == "text":
            texts.append(field(part, "text", str, where))
        elif not media:
            raise Complaint(f"{where}.content: {kind!r} is not allowed for the role {message['role']!r}")
        elif kind == "image_url":
            found.append(from_data_url(field(part, kind, dict, where).get("url")))
        elif kind == "file":
            file = field(part, kind, dict, where)
            found.append(from_data_url(file.get("file_data"), name=str(file.get("filename", ""))))
        elif kind == "input_audio":
            audio = field(part, kind, dict, where)
            found.append(opened(f"audio/{audio.get('format')}", audio.get("data")))
        else:
            raise Complaint(f"{where}.content: unknown part {kind!r}")
    return "\n".join(texts), tuple(found)


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.thinking},
    }


def stream(speak: Speak, about: About) -> Iterator[StreamEvent]:
    """A reply as chunks: role, deltas, finish reason, usage if asked for, `[DONE]`."""

    def chunk(delta: dict[str, Any], weight: Weight = Weight.CONTENT, *, finish: str | None = None) -> StreamEvent:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse({**_head(about, "chat.completion.chunk"), "choices": [choice]}, weight)

    yield chunk({"role": "assistant", "content": ""}, Weight.FRAME)
    index = 0
    for part in speak.parts:
        match part:
            case Text(text=text):
                yield from (chunk({"content": word}) for word in words(text))
            case Thinking(text=text):
                yield from (chunk({"reasoning_content": word}) for word in words(text))
            case ToolCall():
                function = {"name": part.name, "arguments": ""}
                head = {"index": index, "id": call_name(part, about, index, "call_"), "type": "function"}
                yield chunk({"tool_calls": [{**head, "function": function}]})
                for bite in bites(part.arguments):
                    delta = {"tool_calls": [{"index": index, "function": {"arguments": bite}}]}
                    yield chunk(delta)
                index += 1
    yield chunk({}, Weight.FINISH, finish=_FINISH[speak.stop])
    if about.usage_wanted:
        yield sse({**_head(about, "chat.completion.chunk"), "choices": [], "usage": _usage(about.usage)}, Weight.FINISH)
    yield StreamEvent(b"data: [DONE]\n\n", Weight.FINISH)


def _head(about: About, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{about.number}", "object": kind, "created": 1_700_000_000, "model": about.model}


def whole(speak: Speak, about: About) -> bytes:
    """A reply in one piece."""
    found = [part for part in speak.parts if isinstance(part, ToolCall)]
    text = "".join(part.text for part in speak.parts if isinstance(part, Text))
    thinking = "".join(part.text for part in speak.parts if isinstance(part, Thinking))
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
    if thinking:
        message["reasoning_content"] = thinking
    if found:
        message["tool_calls"] = [
            {
                "id": call_name(part, about, index, "call_"),
                "type": "function",
                "function": {"name": part.name, "arguments": part.arguments},
            }
            for index, part in enumerate(found)
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[speak.stop]}
    return msgspec.json.encode({**_head(about, "chat.completion"), "choices": [choice], "usage": _usage(about.usage)})


WIRE = ServerWire("openai-chat", "/v1/chat/completions", hear, stream, whole, refuse, error_event)
