"""OpenAI Responses, as a server speaks it (https://platform.openai.com/docs/api-reference/responses)."""

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from angelia.core.content import Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.failure import FailureKind
from angelia.testing.model import openai_errors
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
)
from angelia.testing.model.steps import Fail, Speak
from angelia.testing.model.wire import (
    About,
    ErrorBody,
    ServerWire,
    StreamEvent,
    Weight,
    bites,
    call_name,
    seal,
    sse,
    words,
)


def hear(body: dict[str, Any]) -> ReceivedRequestBody:
    """Read a request.

    Raises:
        Complaint, MediaTrouble: as OpenAI answers 400.
    """
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else field(body, "input", list, "body")
    _check_reasoning(items, stored=body.get("store") is not False)
    system = [str(body.get("instructions") or "")]
    said: list[ReceivedMessage] = []
    for number, item in enumerate(items):
        where = f"input[{number}]"
        if item.get("role") in ("system", "developer"):
            system.append(_content(item.get("content"), where)[0])
        else:
            said.append(_item(item, where))
    messages = tuple(_joined(list(run)) for _, run in groupby(said, key=lambda one: one.role))
    check_pairs(messages)
    return ReceivedRequestBody(
        field(body, "model", str, "body"),
        "\n".join(filter(None, system)),
        messages,
        tuple(field(tool, "name", str, "tools") for tool in body.get("tools") or ()),
        bool(body.get("stream")),
        int(body.get("max_output_tokens") or 0),
    )


def _item(item: dict[str, Any], where: str) -> ReceivedMessage:
    match item.get("type", "message"):
        case "message":
            role = field(item, "role", str, where)
            if role not in ("user", "assistant"):
                raise Complaint(f"{where}.role: invalid value {role!r}")
            text, media = _content(item.get("content"), where, spoken=role == "assistant")
            return ReceivedMessage(role, text, media=media)
        case "function_call":
            call = HeardCall(*(field(item, key, str, where) for key in ("call_id", "name", "arguments")))
            return ReceivedMessage("assistant", calls=(call,))
        case "function_call_output":
            text, media = _content(item.get("output"), where)
            return ReceivedMessage(
                "tool", results=(HeardResult(field(item, "call_id", str, where), text),), media=media
            )
        case "reasoning":
            return ReceivedMessage("assistant", thinking="\n".join(one["text"] for one in item.get("summary") or ()))
        case unknown:
            raise Complaint(f"{where}.type: invalid value {unknown!r}")


def _content(content: object, where: str, *, spoken: bool = False) -> tuple[str, tuple[ReceivedMedia, ...]]:
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        raise Complaint(f"{where}: expected a string or an array, got {type(content).__name__}")
    texts: list[str] = []
    media: list[ReceivedMedia] = []
    for part in content:
        kind = field(part, "type", str, where)
        if kind in (("output_text",) if spoken else ("input_text",)):
            texts.append(field(part, "text", str, where))
        elif kind == "refusal" and spoken:
            texts.append(field(part, "refusal", str, where))
        elif kind == "input_image" and not spoken:
            media.append(from_data_url(part.get("image_url")))
        elif kind == "input_file" and not spoken:
            media.append(from_data_url(part.get("file_data"), name=str(part.get("filename", ""))))
        else:
            raise Complaint(f"{where}.content: invalid value {kind!r} here")
    return "\n".join(texts), tuple(media)


def _joined(run: list[ReceivedMessage]) -> ReceivedMessage:
    return ReceivedMessage(
        run[0].role,
        "\n".join(filter(None, (said.text for said in run))),
        "\n".join(filter(None, (said.thinking for said in run))),
        tuple(call for said in run for call in said.calls),
        tuple(result for said in run for result in said.results),
        tuple(one for said in run for one in said.media),
    )


def _check_reasoning(items: list[dict[str, Any]], *, stored: bool) -> None:
    for item, after in pairwise([*items, {}]):
        if item.get("type") != "reasoning":
            continue
        name = field(item, "id", str, "reasoning")
        if after.get("type") not in ("reasoning", "function_call") and after.get("role") != "assistant":
            raise Complaint(f"Item {name!r} of type 'reasoning' was provided without its required following item.")
        sealed = item.get("encrypted_content")
        if sealed is None and stored:
            continue
        summary = [one.get("text", "") for one in item.get("summary") or ()]
        if sealed != seal(name, *summary):
            raise Complaint(f"The encrypted content for item {name} could not be verified.")


def _output(speak: Speak, about: About) -> list[dict[str, Any]]:
    """The finished output items of a reply."""
    items: list[dict[str, Any]] = []
    for index, part in enumerate(speak.parts):
        name = f"{about.number}x{index}"
        match part:
            case Text(text=text):
                content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                message = {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed"}
                items.append({**message, "content": [content]})
            case Thinking(text=text):
                summary = [{"type": "summary_text", "text": text}]
                thought = {"type": "reasoning", "id": f"rs_{name}", "summary": summary}
                items.append({**thought, "encrypted_content": seal(f"rs_{name}", text)})
            case ToolCall():
                call_id = call_name(part, about, index, "call_")
                call = {"type": "function_call", "id": f"fc_{name}", "call_id": call_id, "name": part.name}
                items.append({**call, "arguments": part.arguments, "status": "completed"})
    return items


def _response(about: About, status: str, output: list[dict[str, Any]], reason: str = "") -> dict[str, Any]:
    usage = about.usage
    return {
        "id": f"resp_{about.number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": about.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None
        if status == "in_progress"
        else {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.thinking},
            "total_tokens": usage.input + usage.output,
        },
    }


def _final(speak: Speak, about: About) -> dict[str, Any]:
    reasons = {StopReason.LENGTH: "max_output_tokens", StopReason.REFUSAL: "content_filter"}
    reason = reasons.get(speak.stop, "")
    return _response(about, "incomplete" if reason else "completed", _output(speak, about), reason)


def stream(speak: Speak, about: About) -> Iterator[StreamEvent]:
    """A reply as typed events, each with its sequence number; the last one carries the whole response."""
    for number, (kind, value, weight) in enumerate(_events(speak, about)):
        yield sse({"type": kind, "sequence_number": number, **value}, weight, event=kind)


_Plain = tuple[str, dict[str, Any], Weight]


def _events(speak: Speak, about: About) -> Iterator[_Plain]:
    for kind in ("response.created", "response.in_progress"):
        yield kind, {"response": _response(about, "in_progress", [])}, Weight.FRAME
    for index, item in enumerate(_output(speak, about)):
        here = {"output_index": index, "item_id": item["id"]}
        hollow: dict[str, dict[str, Any]] = {
            "message": {"content": []},
            "reasoning": {"summary": []},
            "function_call": {"arguments": ""},
        }
        begun = {**item, **hollow[item["type"]]} | ({"status": "in_progress"} if "status" in item else {})
        first = Weight.CONTENT if item["type"] == "function_call" else Weight.FRAME
        yield "response.output_item.added", {"output_index": index, "item": begun}, first
        match item["type"]:
            case "message":
                yield from _text_events(item["content"][0], here)
            case "reasoning":
                yield from _thinking_events(item["summary"][0], here)
            case _:
                whole_text = item["arguments"]
                for bite in bites(whole_text):
                    yield "response.function_call_arguments.delta", {**here, "delta": bite}, Weight.CONTENT
                yield "response.function_call_arguments.done", {**here, "arguments": whole_text}, Weight.FRAME
        yield "response.output_item.done", {"output_index": index, "item": item}, Weight.FRAME
    final = _final(speak, about)
    yield f"response.{final['status']}", {"response": final}, Weight.FINISH


def _text_events(part: dict[str, Any], here: dict[str, Any]) -> Iterator[_Plain]:
    here = {**here, "content_index": 0}
    yield "response.content_part.added", {**here, "part": {**part, "text": ""}}, Weight.FRAME
    for word in words(part["text"]):
        yield "response.output_text.delta", {**here, "delta": word, "logprobs": []}, Weight.CONTENT
    yield "response.output_text.done", {**here, "text": part["text"], "logprobs": []}, Weight.FRAME
    yield "response.content_part.done", {**here, "part": part}, Weight.FRAME


def _thinking_events(part: dict[str, Any], here: dict[str, Any]) -> Iterator[_Plain]:
    here = {**here, "summary_index": 0}
    yield "response.reasoning_summary_part.added", {**here, "part": {**part, "text": ""}}, Weight.FRAME
    for word in words(part["text"]):
        yield "response.reasoning_summary_text.delta", {**here, "delta": word}, Weight.CONTENT
    yield "response.reasoning_summary_text.done", {**here, "text": part["text"]}, Weight.FRAME
    yield "response.reasoning_summary_part.done", {**here, "part": part}, Weight.FRAME


def whole(speak: Speak, about: About) -> bytes:
    """A reply in one piece."""
    return msgspec.json.encode(_final(speak, about))


_ABOUT = {
    "pair": "No tool output found for function call call_1.",
    "role": "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    "signature": "The encrypted content for item rs_1 could not be verified.",
}


def refuse(fail: Fail, model: str) -> ErrorBody:
    """An error response in OpenAI's words."""
    if fail.kind is FailureKind.CONTEXT_TOO_LONG and not fail.said:
        said = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return openai_errors.refuse(replace(fail, said=said), model)
    return openai_errors.refuse(replace(fail, about=_ABOUT.get(fail.about, fail.about)), model)


def error_event() -> StreamEvent:
    """A server error within a stream."""
    error = {"code": "server_error", "message": "An error occurred while processing your request."}
    failed = {**_response(About(0, "", Usage()), "failed", []), "error": error}
    return sse({"type": "response.failed", "sequence_number": 99, "response": failed}, event="response.failed")


WIRE = ServerWire("openai-responses", "/v1/responses", hear, stream, whole, refuse, error_event)
