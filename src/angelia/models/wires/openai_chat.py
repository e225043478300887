"""The Chat Completions wire: OpenAI's, and what everybody else imitates."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from angelia.context.request import ModelRequest, OpenMedia, RequestMessage, Result, Role
from angelia.core.content import ProviderBlock, ReplyPart, Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.profile import Profile
from angelia.core.text import clean
from angelia.models.context import ProviderContext
from angelia.models.port import CallBegun, Credential, Reply, TextDelta, ThinkingDelta
from angelia.models.port import Piece as ReplyPiece
from angelia.models.wires.chat_chunks import (
    BROKEN,
    STOPS,
    Calls,
    Delta,
    Reasoning,
    chunks,
    thoughts_of,
    usage_of,
    words_of,
)
from angelia.models.wires.decoding import given, native, read, refuse, settled
from angelia.models.wires.fragments import (
    NOTHING,
    Piece,
    arguments_of,
    base64_of,
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

UNSIGNED = b'{"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}'
"""What Gemini takes in place of a signature, for calls that it did not make
(https://ai.google.dev/gemini-api/docs/thought-signatures).
"""


def open_provider(profile: Profile, context: ProviderContext) -> HttpProvider:
    """The provider of a model that speaks Chat Completions."""
    return HttpProvider(ChatWire(profile, context.open_media), context)


class ChatWire:
    """Messages to Chat Completions requests, and back."""

    def __init__(self, profile: Profile, open_media: OpenMedia) -> None:
        self._profile, self._open = profile, open_media

    def reader(self) -> "ChatReader":
        """A reader for one reply."""
        return ChatReader(self._profile.vendor)

    def outgoing(self, request: ModelRequest, fragments: Sequence[bytes], credential: Credential) -> WireRequest:
        """The whole request; what grows comes last."""
        quirks = self._profile.quirks
        fields: dict[str, Any] = {"model": self._profile.model, "stream": True}
        if "no_stream_options" not in quirks:
            fields["stream_options"] = {"include_usage": True}
        if request.max_output:
            name = "max_completion_tokens" if "max_completion_tokens" in quirks else "max_tokens"
            fields[name] = request.max_output
        if request.effort:
            fields |= (
                {"reasoning": {"effort": request.effort}}
                if "reasoning_object" in quirks
                else {"reasoning_effort": request.effort}
            )
        if "cache_mark_on_top" in quirks:
            fields["cache_control"] = {"type": "ephemeral"} | ({"ttl": "1h"} if request.cache_hour else {})
        if request.tools:
            fields["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
                }
                for tool in request.tools
            ]
        system = encode({"role": "system", "content": request.system}) if request.system else b""
        body = body_of(fields := leave_out(fields, request.without), "messages", [system, *fragments])
        return WireRequest("chat/completions", bearer(credential), body, tuple(fields), names_of(request.tools))

    async def encode(self, message: RequestMessage, before: RequestMessage | None) -> bytes:
        """One message; the results of a reply become one message each."""
        match message.role:
            case Role.USER:
                return _user(await opened(message.parts, self._open))
            case Role.ASSISTANT:
                return self._assistant(message)
            case Role.TOOL:
                return await self._results(message, call_names(before, self._profile))

    def _assistant(self, message: RequestMessage) -> bytes:
        names = call_names(message, self._profile)
        words: list[str] = []
        calls: list[bytes] = []
        extras: list[bytes] = []
        for part in message.parts:
            match part:
                case Text(text=text) if text:
                    words.append(text)
                case ToolCall():
                    calls.append(self._call(part, names[part.id], message))
                case Thinking(native=block) if "send_reasoning" in self._profile.quirks:
                    extras.append(_inside(own(block, message, self._profile)))
                case ProviderBlock():
                    extras.append(_inside(own(part, message, self._profile)))
                case _:
                    pass
        if calls and "reasoning_on_calls" in self._profile.quirks and not any(b"reasoning" in one for one in extras):
            extras.append(b'"reasoning_content":""')
        if (
            calls
            and "signature_on_calls" in self._profile.quirks
            and not any(b"thought_signature" in one for one in calls)
        ):
            calls[0] = calls[0][:-1] + b"," + _inside(UNSIGNED) + b"}"
        if not words and not calls and not any(extras):
            return b""
        fields = [b'"role":"assistant"', b'"content":' + (encode("\n\n".join(words)) if words else b"null"), *extras]
        if calls:
            fields.append(b'"tool_calls":[' + b",".join(calls) + b"]")
        return b"{" + joined(fields) + b"}"

    def _call(self, call: ToolCall, name: str, message: RequestMessage) -> bytes:
        function = {"name": call.name, "arguments": arguments_of(call).decode()}
        plain = encode({"id": name, "type": "function", "function": function})
        return b"{" + joined([plain[1:-1], _inside(own(call.native, message, self._profile))]) + b"}"

    async def _results(self, message: RequestMessage, names: dict[str, str]) -> bytes:
        """The results, as text, and after the last one a user's message with all their media."""
        results: list[bytes] = []
        late: list[str | Piece] = []
        for part in message.parts:
            if not isinstance(part, Result):
                continue
            name = names.get(part.call) or our_name(part.call, self._profile)
            pieces = await opened(part.parts, self._open)
            words = [piece for piece in pieces if isinstance(piece, str)]
            media = [piece for piece in pieces if not isinstance(piece, str)]
            if media:
                words.append("(What it shows follows after the results.)")
                late += [f"Shown by {part.name} ({name}):", *media]
            content = "\n\n".join(words) or NOTHING
            results.append(encode({"role": "tool", "tool_call_id": name, "content": content}))
        return joined([*results, _user(late) if late else b""])


def _user(pieces: list[str | Piece]) -> bytes:
    words = [piece for piece in pieces if isinstance(piece, str)]
    if len(words) == len(pieces):
        content = encode("\n\n".join(words) or NOTHING)
    else:
        content = b"[" + joined(text_block("text", p) if isinstance(p, str) else _media(p) for p in pieces) + b"]"
    return b'{"role":"user","content":' + content + b"}"


def _media(piece: Piece) -> bytes:
    kind, _, subtype = piece.opened.mime.partition("/")
    if kind == "image":
        return encode({"type": "image_url", "image_url": {"url": data_url(piece)}})
    if subtype == "pdf":
        return encode({"type": "file", "file": {"filename": file_name(piece), "file_data": data_url(piece)}})
    sound = {"wav": "wav", "x-wav": "wav", "mpeg": "mp3", "mp3": "mp3"}.get(subtype)
    if kind == "audio" and sound:
        return encode({"type": "input_audio", "input_audio": {"data": base64_of(piece), "format": sound}})
    raise no_way("Chat Completions", piece)


def _inside(block: bytes) -> bytes:
    """The fields of a JSON object, to be written into another one."""
    return block.strip()[1:-1].strip()


class ChatReader:
    """Chunks to one reply."""

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._text: list[str] = []
        self._reasoning, self._calls = Reasoning(), Calls()
        self._extra = b""
        self._stop: StopReason | None = None
        self._usage = Usage()

    def event(self, name: str, data: bytes) -> Iterable[ReplyPiece]:
        """One chunk, or `[DONE]`."""
        if data.strip() == b"[DONE]":
            return [reply] if (reply := self.ended()) else []
        if name == "error":
            refuse(data)
        return self._chunk(data)

    def whole(self, body: bytes) -> Reply:
        """A completion that was not streamed."""
        list(self._chunk(body))
        return self.ended() or refuse(body)

    def ended(self) -> Reply | None:
        """The reply, once a finish reason has come: `[DONE]` adds nothing to it, and some leave it out."""
        if self._stop is None:
            return None
        parts = self.partial()
        return Reply(parts, settled(self._stop, parts), self._usage)

    def partial(self) -> tuple[ReplyPart, ...]:
        """What has arrived so far."""
        text = "".join(self._text)
        thinking = self._reasoning.part(self._maker)
        return (
            *([thinking] if thinking else []),
            *([Text(text)] if text else []),
            *self._calls.parts(self._maker),
            *([native(self._maker, self._extra)] if self._extra else []),
        )

    def _chunk(self, data: bytes) -> Iterable[ReplyPiece]:
        if data.startswith(b"["):
            refuse(data)  # Google wraps its errors in a list
        chunk = read(chunks, data)
        if given(chunk.error) or chunk.object == "error":
            refuse(data)
        if chunk.usage is not None:
            self._usage = usage_of(chunk.usage)
        if not chunk.choices:
            return ()
        choice = chunk.choices[0]
        pieces = list(self._delta(choice.delta or choice.message or Delta()))
        if choice.usage is not None:
            self._usage = usage_of(choice.usage)
        if choice.finish_reason:
            if choice.finish_reason in BROKEN:
                refuse(data)
            self._stop = STOPS.get(choice.finish_reason.lower(), StopReason.END)
        return pieces

    def _delta(self, delta: Delta) -> Iterator[ReplyPiece]:
        if delta.reasoning_content:
            yield self._think("reasoning_content", delta.reasoning_content)
        elif delta.reasoning:
            yield self._think("reasoning", delta.reasoning)
        for detail in delta.reasoning_details or ():
            self._reasoning.detail(detail)
        if words := words_of(delta.content):
            yield self._say(words)
        if delta.refusal:
            yield self._say(delta.refusal)
        for thought in thoughts_of(delta.content):
            yield self._think("reasoning_content", thought)
        for call in delta.tool_calls or ():
            if name := self._calls.add(call):
                yield CallBegun(name)
        if given(delta.extra_content):
            self._extra = b'{"extra_content":' + bytes(delta.extra_content) + b"}"

    def _say(self, words: str) -> TextDelta:
        said = TextDelta(clean(words))
        self._text.append(said.text)
        return said

    def _think(self, field: str, thought: str) -> ThinkingDelta:
        said = ThinkingDelta(clean(thought))
        self._reasoning.add(field, said.text)
        return said
