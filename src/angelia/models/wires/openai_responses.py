"""The OpenAI Responses wire, stateless: nothing is stored there, and reasoning comes back encrypted."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import Raw, Struct

from angelia.context.request import MessagePart, ModelRequest, OpenMedia, RequestMessage, Result, Role
from angelia.core.content import ProviderBlock, ReplyPart, Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.ids import CallId
from angelia.core.profile import Ability, Profile
from angelia.core.text import clean
from angelia.models.context import ProviderContext
from angelia.models.port import CallBegun, Credential, Reply, TextDelta, ThinkingDelta
from angelia.models.port import Piece as ReplyPiece
from angelia.models.wires.decoding import given, native, read, refuse, settled
from angelia.models.wires.fragments import (
    NOTHING,
    Piece,
    arguments_of,
    body_of,
    call_names,
    data_url,
    encode,
    file_name,
    joined,
    leave_out,
    names_of,
    no_way,
    opened,
    our_name,
    own,
    text_block,
)
from angelia.models.wires.wire import HttpProvider, WireRequest, bearer


def open_provider(profile: Profile, context: ProviderContext) -> HttpProvider:
    """The provider of a model that speaks Responses."""
    return HttpProvider(ResponsesWire(profile, context.open_media), context)


class ResponsesWire:
    """Messages to Responses requests, and back."""

    def __init__(self, profile: Profile, open_media: OpenMedia) -> None:
        self._profile, self._open = profile, open_media

    def reader(self) -> "ResponsesReader":
        """A reader for one reply."""
        return ResponsesReader(self._profile.vendor)

    def outgoing(self, request: ModelRequest, fragments: Sequence[bytes], credential: Credential) -> WireRequest:
        """The whole request; what grows comes last."""
        fields: dict[str, Any] = {"model": self._profile.model, "stream": True, "store": False}
        if self._profile.thinking is not Ability.NO:  # a model that cannot reason refuses to be asked for its reasoning
            fields["include"] = ["reasoning.encrypted_content"]
        if request.max_output:
            fields["max_output_tokens"] = request.max_output
        if request.effort:
            fields["reasoning"] = {"effort": request.effort}
            if "reasoning_summary" in self._profile.quirks:
                fields["reasoning"]["summary"] = "auto"
        if request.tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                    "strict": False,
                }
                for tool in request.tools
            ]
        if request.system:
            fields["instructions"] = request.system
        body = body_of(fields := leave_out(fields, request.without), "input", fragments)
        return WireRequest("responses", bearer(credential), body, tuple(fields), names_of(request.tools))

    async def encode(self, message: RequestMessage, before: RequestMessage | None) -> bytes:
        """One message as input items."""
        match message.role:
            case Role.USER:
                content = _content(await opened(message.parts, self._open))
                return b'{"type":"message","role":"user","content":' + content + b"}"
            case Role.ASSISTANT:
                names = call_names(message, self._profile)
                return joined(self._said(part, message, names) for part in message.parts)
            case Role.TOOL:
                names = call_names(before, self._profile)
                return joined([await self._result(p, names) for p in message.parts if isinstance(p, Result)])

    def _said(self, part: MessagePart, message: RequestMessage, names: dict[str, str]) -> bytes:
        """One part of a reply: the item as the vendor made it, or what can be said of it to another."""
        match part:
            case Text(text=text, native=block):
                plain = encode({"role": "assistant", "content": text}) if text else b""
                return own(block, message, self._profile) or plain
            case ToolCall(native=block):
                arguments = arguments_of(part).decode()
                made = own(block, message, self._profile)
                if made and arguments == (part.arguments.strip() or "{}") and names[part.id] == part.wire_id:
                    return made
                call = {"type": "function_call", "call_id": names[part.id], "name": part.name, "arguments": arguments}
                return encode(call)
            case Thinking(native=block) | (ProviderBlock() as block):
                return own(block, message, self._profile)
            case _:
                return b""

    async def _result(self, result: Result, names: dict[str, str]) -> bytes:
        pieces = await opened(result.parts, self._open)
        words = [piece for piece in pieces if isinstance(piece, str)]
        output = encode("\n\n".join(words) or NOTHING) if len(words) == len(pieces) else _content(pieces)
        name = encode(names.get(result.call) or our_name(result.call, self._profile))
        return b'{"type":"function_call_output","call_id":' + name + b',"output":' + output + b"}"


def _content(pieces: list[str | Piece]) -> bytes:
    blocks = [text_block("input_text", piece) if isinstance(piece, str) else _media(piece) for piece in pieces]
    return b"[" + joined(blocks or [text_block("input_text", NOTHING)]) + b"]"


def _media(piece: Piece) -> bytes:
    if piece.opened.mime.startswith("image/"):
        return encode({"type": "input_image", "detail": "auto", "image_url": data_url(piece)})
    if piece.opened.mime == "application/pdf":
        return encode({"type": "input_file", "filename": file_name(piece), "file_data": data_url(piece)})
    raise no_way("Responses", piece)


class _Said(Struct):
    text: str | None = None
    refusal: str | None = None


class _Kind(Struct):
    type: str = ""


class _Item(Struct):
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    content: list[_Said] | None = None
    summary: list[_Said] | None = None


class _Details(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Counted(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Why(Struct):
    reason: str | None = None


class _Response(Struct):
    status: str | None = None
    output: list[Raw] | None = None
    usage: _Counted | None = None
    incomplete_details: _Why | None = None
    error: Raw = Raw()


class _Event(Struct):
    type: str = ""
    delta: str | None = None
    item: Raw = Raw()
    response: Raw = Raw()
    error: Raw = Raw()


_events = msgspec.json.Decoder(_Event)
_responses = msgspec.json.Decoder(_Response)
_kinds = msgspec.json.Decoder(_Kind)
_items = msgspec.json.Decoder(_Item)


class ResponsesReader:
    """Events to one reply. Items are kept as the server sent them, byte for byte."""

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._parts: list[ReplyPart] = []
        self._refused = False
        self._text: list[str] = []
        self._thoughts: list[str] = []

    def event(self, name: str, data: bytes) -> Iterable[ReplyPiece]:
        """One event; `response.completed` and `response.incomplete` bring the reply."""
        if data.strip() == b"[DONE]":
            return
        event = read(_events, data)
        match event.type or name:
            case "response.output_text.delta" | "response.refusal.delta" if event.delta:
                self._text.append(clean(event.delta))
                yield TextDelta(clean(event.delta))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if event.delta:
                self._thoughts.append(clean(event.delta))
                yield ThinkingDelta(clean(event.delta))
            case "response.reasoning_summary_part.added" if self._thoughts:
                self._thoughts.append("\n\n")
                yield ThinkingDelta("\n\n")
            case "response.output_item.added" if given(event.item):
                if read(_kinds, bytes(event.item)).type == "function_call":
                    yield CallBegun(read(_items, bytes(event.item)).name)
            case "response.output_item.done":
                self._keep(bytes(event.item))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                yield self.whole(bytes(event.response))
            case "error":
                refuse(data)
            case _:
                pass  # progress that the finished items repeat

    def whole(self, body: bytes) -> Reply:
        """The finished response, as the last event or as the whole body brings it."""
        response = read(_responses, body)
        if given(response.error) or response.status not in {"completed", "incomplete"}:
            _failed(response, body)
        if not self._parts:
            for item in response.output or ():
                self._keep(bytes(item))
        parts = tuple(self._parts)
        return Reply(parts, settled(self._stop(response), parts), _usage(response.usage or _Counted()))

    def ended(self) -> None:
        """Nothing: a response is whole only when the server says so."""

    def partial(self) -> tuple[ReplyPart, ...]:
        """What has arrived so far, the begun item included."""
        text, thoughts = "".join(self._text), "".join(self._thoughts)
        return (*self._parts, *([Thinking(thoughts)] if thoughts else []), *([Text(text)] if text else []))

    def _stop(self, response: _Response) -> StopReason:
        reason = (response.incomplete_details or _Why()).reason
        if self._refused or reason == "content_filter":
            return StopReason.REFUSAL
        return StopReason.LENGTH if response.status == "incomplete" else StopReason.END

    def _keep(self, raw: bytes) -> None:
        """One finished item, in our words and in the server's."""
        block = native(self._maker, raw)
        kind = read(_kinds, raw).type
        if kind not in {"message", "reasoning", "function_call"}:
            self._parts.append(block)
            return
        item = read(_items, raw)
        if kind == "function_call":
            call = ToolCall(CallId(""), item.name, item.arguments or "{}", wire_id=item.call_id, native=block)
            self._parts.append(call)
        elif kind == "message":
            said = item.content or []
            self._refused = self._refused or any(one.refusal for one in said)
            self._parts.append(Text(clean("".join(one.text or one.refusal or "" for one in said)), native=block))
            self._text = []
        else:
            shown = "\n\n".join(one.text or "" for one in [*(item.summary or []), *(item.content or [])])
            self._parts.append(Thinking(clean(shown), native=block) if shown else block)
            self._thoughts = []


def _failed(response: _Response, body: bytes) -> NoReturn:
    refuse(b'{"error":' + bytes(response.error) + b"}" if given(response.error) else body)


def _usage(counted: _Counted) -> Usage:
    came, went = counted.input_tokens_details or _Details(), counted.output_tokens_details or _Details()
    return Usage(
        counted.input_tokens or 0,
        counted.output_tokens or 0,
        came.cached_tokens or 0,
        came.cache_write_tokens or 0,
        went.reasoning_tokens or 0,
    )
