"""The Anthropic Messages wire, with prompt-cache marks and signed thinking."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from angelia.context.request import MessagePart, ModelRequest, OpenMedia, RequestMessage, Result, Role
from angelia.core.content import CallStatus, ProviderBlock, ReplyPart, Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.ids import CallId
from angelia.core.profile import Profile
from angelia.core.text import clean
from angelia.models.context import ProviderContext
from angelia.models.port import CallBegun, Credential, Reply, TextDelta, ThinkingDelta
from angelia.models.port import Piece as ReplyPiece
from angelia.models.wires.cache_marks import mark_of, mark_positions, marked
from angelia.models.wires.decoding import given, native, read, refuse, settled
from angelia.models.wires.fragments import (
    NOTHING,
    Piece,
    arguments_of,
    base64_of,
    body_of,
    call_names,
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

VERSION = "2023-06-01"
THOUGHT = {"low": 2048, "medium": 8192, "high": 16384}
"""Tokens of thinking for models that take a budget instead of an effort; at least 1,024 is required."""
LEAST_ANSWER = 4096
"""What is asked for when nobody knows the model's own limit: the wire wants a number, and every Claude allows this."""


def open_provider(profile: Profile, context: ProviderContext) -> HttpProvider:
    """The provider of a model that speaks Messages."""
    return HttpProvider(MessagesWire(profile, context.open_media), context)


class MessagesWire:
    """Messages to Messages requests, and back."""

    def __init__(self, profile: Profile, open_media: OpenMedia) -> None:
        self._profile, self._open = profile, open_media

    def reader(self) -> "MessagesReader":
        """A reader for one reply."""
        return MessagesReader(self._profile.vendor)

    def outgoing(self, request: ModelRequest, fragments: Sequence[bytes], credential: Credential) -> WireRequest:
        """The whole request; what grows comes last. Marks are written into copies, never into kept fragments."""
        most = request.max_output or self._profile.max_output or LEAST_ANSWER
        fields: dict[str, Any] = {"model": self._profile.model, "max_tokens": most, "stream": True}
        fields |= self._thinking(request.effort, most)
        mark, marks = mark_of(request.cache_hour), self._profile.cache_marks
        if request.tools:
            fields["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
                for tool in request.tools
            ]
        if request.system:
            fields["system"] = [{"type": "text", "text": request.system}]
        ends = [fields[name][-1] for name in ("system", "tools") if name in fields]
        if marks and ends:  # tools stand before the system prompt, so that a mark on the latter covers both
            ends[0]["cache_control"] = mark
            marks -= 1
        sent = list(fragments)
        for at in mark_positions(request.messages, marks):
            sent[at] = marked(sent[at], encode(mark))
        login = bearer(credential) if "bearer" in self._profile.quirks else {"x-api-key": credential.secret}
        body = body_of(fields := leave_out(fields, request.without), "messages", sent)
        optional = tuple(name for name in fields if name != "max_tokens")  # which this wire demands
        headers = {"anthropic-version": VERSION, **login}
        return WireRequest("v1/messages", headers, body, optional, names_of(request.tools))

    def _thinking(self, effort: str, most: int) -> dict[str, Any]:
        if not effort:
            return {}
        if "thinking_budget" not in self._profile.quirks:
            return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}
        budget = min(THOUGHT.get(effort, THOUGHT["medium"]), most - 1024)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= 1024 else {}

    async def encode(self, message: RequestMessage, before: RequestMessage | None) -> bytes:
        """One message. Blocks are objects and come last, so that a mark fits before the closing `}]}`."""
        match message.role:
            case Role.USER:
                return _message("user", _blocks(await opened(message.parts, self._open)))
            case Role.ASSISTANT:
                names = call_names(message, self._profile)
                blocks = [block for part in message.parts if (block := self._said(part, message, names))]
                return _message("assistant", blocks) if blocks else b""
            case Role.TOOL:
                names = call_names(before, self._profile)
                return _message("user", [await self._result(p, names) for p in message.parts if isinstance(p, Result)])

    def _said(self, part: MessagePart, message: RequestMessage, names: dict[str, str]) -> bytes:
        match part:
            case Text(text=text) if text.strip():
                return text_block("text", text)
            case ToolCall():
                call = {"type": "tool_use", "id": names[part.id], "name": part.name, "input": Raw(arguments_of(part))}
                return encode(call)
            case Thinking(native=block) | (ProviderBlock() as block):
                return own(block, message, self._profile)
            case _:
                return b""

    async def _result(self, result: Result, names: dict[str, str]) -> bytes:
        name = names.get(result.call) or our_name(result.call, self._profile)
        head: dict[str, Any] = {"type": "tool_result", "tool_use_id": name}
        if result.status is not CallStatus.OK:
            head["is_error"] = True
        content = _blocks(await opened(result.parts, self._open))
        return encode(head)[:-1] + b',"content":[' + joined(content) + b"]}"


def _message(role: str, blocks: list[bytes]) -> bytes:
    return b'{"role":"' + role.encode() + b'","content":[' + joined(blocks) + b"]}"


def _blocks(pieces: list[str | Piece]) -> list[bytes]:
    blocks = [text_block("text", piece) if isinstance(piece, str) else _media(piece) for piece in pieces]
    return blocks or [text_block("text", NOTHING)]


def _media(piece: Piece) -> bytes:
    source = {"type": "base64", "media_type": piece.opened.mime, "data": base64_of(piece)}
    if piece.opened.mime.startswith("image/"):
        return encode({"type": "image", "source": source})
    if piece.opened.mime == "application/pdf":
        return encode({"type": "document", "title": file_name(piece), "source": source})
    raise no_way("Messages", piece)


class _Thought(Struct):
    thinking_tokens: int | None = None


class _Counted(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _Thought | None = None


class _Piece(Struct):
    """A block, a delta to a block, or the delta to the message; which fields are there depends on its type."""

    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    input: Raw = Raw()
    stop_reason: str | None = None


class _Answer(Struct):
    content: list[Raw] | None = None
    stop_reason: str | None = None
    usage: _Counted | None = None
    error: Raw = Raw()


class _Event(Struct):
    type: str = ""
    index: int = 0
    message: _Answer | None = None
    content_block: Raw = Raw()
    delta: _Piece | None = None
    usage: _Counted | None = None


_events = msgspec.json.Decoder(_Event)
_answers = msgspec.json.Decoder(_Answer)
_pieces = msgspec.json.Decoder(_Piece)

_STOPS = {
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "pause_turn": StopReason.PAUSE,
    "refusal": StopReason.REFUSAL,
}
"""Stop reasons in our words; `end_turn` and `stop_sequence` are an ordinary end."""


class _Block:
    """One content block as it grows."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.start = raw, read(_pieces, raw)
        self.text = [clean(self.start.text or self.start.thinking)]
        self.signature, self.json = self.start.signature, [""]

    def add(self, delta: _Piece) -> Iterable[ReplyPiece]:
        self.json.append(delta.partial_json)
        self.signature += delta.signature
        self.text.append(clean(delta.text or delta.thinking))
        if delta.text:
            yield TextDelta(self.text[-1])
        elif delta.thinking:
            yield ThinkingDelta(self.text[-1])

    def part(self, maker: str) -> ReplyPart | None:
        """The block as a part; thinking without a signature is not for sending back."""
        text = "".join(self.text)
        match self.start.type:
            case "text":
                return Text(text) if text else None
            case "thinking":
                if not self.signature:
                    return Thinking(text) if text else None
                signed = encode({"type": "thinking", "thinking": text, "signature": self.signature})
                block = native(maker, signed)
                return Thinking(text, native=block) if text else block
            case "tool_use":
                written = "".join(self.json) or (bytes(self.start.input).decode() if given(self.start.input) else "{}")
                return ToolCall(CallId(""), self.start.name, written, wire_id=self.start.id)
            case _:
                return native(maker, self.raw)


class MessagesReader:
    """Events to one reply."""

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._blocks: dict[int, _Block] = {}
        self._stop: str | None = None
        self._counted = _Counted()

    def event(self, name: str, data: bytes) -> Iterable[ReplyPiece]:
        """One event; `message_stop` brings the reply."""
        event = read(_events, data)
        if event.usage is not None:
            self._count(event.usage)
        match event.type or name:
            case "message_start" if event.message is not None:
                self._count(event.message.usage or _Counted())
            case "content_block_start" if given(event.content_block):
                block = self._blocks[event.index] = _Block(bytes(event.content_block))
                if block.start.type == "tool_use":
                    yield CallBegun(block.start.name)
                if block.start.text:
                    yield TextDelta(block.text[0])
            case "content_block_delta" if event.delta is not None and event.index in self._blocks:
                yield from self._blocks[event.index].add(event.delta)
            case "message_delta" if event.delta is not None:
                self._stop = event.delta.stop_reason or self._stop
            case "message_stop":
                yield self._reply()
            case "error":
                refuse(data)
            case _:
                pass  # `ping`, the end of a block, and what newer versions may say besides

    def whole(self, body: bytes) -> Reply:
        """A message that was not streamed."""
        answer = read(_answers, body)
        if given(answer.error) or answer.content is None:
            refuse(body)
        self._blocks = {at: _Block(bytes(raw)) for at, raw in enumerate(answer.content)}
        self._stop = answer.stop_reason
        self._count(answer.usage or _Counted())
        return self._reply()

    def ended(self) -> None:
        """Nothing: a message is whole only when the server says so."""

    def partial(self) -> tuple[ReplyPart, ...]:
        """What has arrived so far."""
        parts = [self._blocks[at].part(self._maker) for at in sorted(self._blocks)]
        return tuple(part for part in parts if part is not None)

    def _reply(self) -> Reply:
        parts = self.partial()
        counted = self._counted
        came = counted.cache_read_input_tokens or 0, counted.cache_creation_input_tokens or 0
        thinking = (counted.output_tokens_details or _Thought()).thinking_tokens or 0
        usage = Usage((counted.input_tokens or 0) + sum(came), counted.output_tokens or 0, *came, thinking)
        return Reply(parts, settled(_STOPS.get(self._stop or "", StopReason.END), parts), usage)

    def _count(self, counted: _Counted) -> None:
        """Counts are cumulative: what an event does not repeat stays."""
        said = {name: value for name, value in msgspec.structs.asdict(counted).items() if value is not None}
        self._counted = msgspec.structs.replace(self._counted, **said)
