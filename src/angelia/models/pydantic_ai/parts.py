"""Messages of ours as messages of pydantic-ai, and its replies as ours."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import msgspec
from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from angelia.context.request import MessagePart, ModelRequest, OpenMedia, RequestMessage, Result, Role
from angelia.core.content import CallStatus, ProviderBlock, ReplyPart, Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.ids import CallId
from angelia.core.profile import Profile
from angelia.core.text import clean
from angelia.models.wires.decoding import native, settled
from angelia.models.wires.fragments import NOTHING, Piece, arguments_of, call_names, opened, our_name, own

if TYPE_CHECKING:
    from collections.abc import Iterable

STOPS: dict[str, StopReason] = {
    "stop": StopReason.END,
    "tool_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
}
"""Their finish reasons in our words; `error` and none at all are no finish."""


def _written(part: theirs.ModelResponsePart) -> bytes:
    """One part as pydantic-ai writes it; it only knows how to write whole messages."""
    whole = theirs.ModelMessagesTypeAdapter.dump_json([theirs.ModelResponse(parts=[part])], exclude_none=True)
    return msgspec.json.encode(msgspec.json.decode(whole)[0]["parts"][0])


def _read(raw: bytes) -> theirs.ModelResponsePart:
    (message,) = theirs.ModelMessagesTypeAdapter.validate_json(b'[{"kind":"response","parts":[' + raw + b"]}]")
    (part,) = message.parts
    return cast("theirs.ModelResponsePart", part)


async def history(request: ModelRequest, open_media: OpenMedia) -> list[theirs.ModelMessage]:
    """The conversation; the instructions go with every request of it, as pydantic-ai itself writes them."""
    told: list[theirs.ModelMessage] = []
    before: RequestMessage | None = None
    for message in request.messages:
        if message.role is Role.ASSISTANT:
            names = call_names(message, request.profile)
            parts = [part for one in message.parts if (part := _said(one, message, request.profile, names))]
            if parts:
                told.append(theirs.ModelResponse(parts=parts))
        else:
            asked = await _asked(message, before, request.profile, open_media)
            told.append(theirs.ModelRequest(parts=asked, instructions=request.system or None))
        before = message
    return told


def parameters(request: ModelRequest) -> ModelRequestParameters:
    """The tools on offer."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name, description=tool.description, parameters_json_schema=msgspec.json.decode(tool.schema)
            )
            for tool in request.tools
        ]
    )


def reply_parts(response: theirs.ModelResponse, maker: str) -> tuple[ReplyPart, ...]:
    """A reply's parts; what is theirs alone is kept as they write it, so that it comes back byte for byte."""
    return tuple(part for one in response.parts if (part := _ours(one, maker)) is not None)


def stop_of(response: theirs.ModelResponse, parts: tuple[ReplyPart, ...]) -> StopReason | None:
    """Why the reply ended, or None if it did not."""
    if response.state == "suspended":
        return StopReason.PAUSE
    stop = STOPS.get(response.finish_reason or "")
    return settled(stop, parts) if stop is not None and response.state == "complete" else None


def usage_of(response: theirs.ModelResponse) -> Usage:
    """Tokens as the provider counted them; theirs, too, counts cached ones as input."""
    counted = response.usage
    thinking = (counted.details or {}).get("reasoning_tokens", 0) or (counted.details or {}).get("thoughts_tokens", 0)
    return Usage(
        counted.input_tokens,
        counted.output_tokens,
        counted.cache_read_tokens,
        counted.cache_write_tokens,
        thinking,
    )


def _ours(part: theirs.ModelResponsePart, maker: str) -> ReplyPart | None:
    whole = native(maker, _written(part))
    match part:
        case theirs.TextPart(content=text):
            if not text and not part.provider_details:
                return None
            return Text(clean(text), native=whole if part.id or part.provider_details else None)
        case theirs.ThinkingPart(content=text):
            signed = part.signature or part.id or part.provider_details
            if not text:
                return whole if signed else None
            return Thinking(clean(text), native=whole if signed else None)
        case theirs.ToolCallPart():
            kept = whole if part.id or part.provider_details else None
            written = part.args if isinstance(part.args, str) else part.args_as_json_str()
            return ToolCall(CallId(""), part.tool_name, written, part.tool_call_id, kept)
        case _:
            return whole


def _said(
    part: MessagePart, message: RequestMessage, profile: Profile, names: dict[str, str]
) -> theirs.ModelResponsePart | None:
    kept = part if isinstance(part, ProviderBlock) else getattr(part, "native", None)
    if raw := own(kept, message, profile):
        made = _read(raw)
        if isinstance(part, ToolCall) and isinstance(made, theirs.ToolCallPart):
            return replace(made, tool_call_id=names[part.id])  # names that repeat were replaced, in the result too
        return made
    match part:
        case Text(text=text) if text.strip():
            return theirs.TextPart(text)
        case ToolCall():
            return theirs.ToolCallPart(part.name, arguments_of(part).decode(), tool_call_id=names[part.id])
        case _:
            return None  # another vendor's thinking, or its own blocks


async def _asked(
    message: RequestMessage, before: RequestMessage | None, profile: Profile, open_media: OpenMedia
) -> "list[theirs.ModelRequestPart]":
    if message.role is Role.USER:
        return [theirs.UserPromptPart(_content(await opened(message.parts, open_media)))]
    names = call_names(before, profile)
    returned: list[theirs.ModelRequestPart] = []
    for part in message.parts:
        if isinstance(part, Result):
            content = _content(await opened(part.parts, open_media))
            returned.append(
                theirs.ToolReturnPart(
                    tool_name=part.name,
                    content=content[0] if len(content) == 1 else content,
                    tool_call_id=names.get(part.call) or our_name(part.call, profile),
                    outcome="success" if part.status is CallStatus.OK else "failed",
                )
            )
    return returned


def _content(pieces: "Iterable[str | Piece]") -> list[theirs.UserContent]:
    content: list[theirs.UserContent] = [
        piece if isinstance(piece, str) else theirs.BinaryContent(piece.opened.data, media_type=piece.opened.mime)
        for piece in pieces
    ]
    return content or [NOTHING]
