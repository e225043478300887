"""What Chat Completions servers send: chunks, in the dialects of those who imitate OpenAI's."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from angelia.core.content import Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.ids import CallId
from angelia.models.wires.decoding import given, native


class FunctionDelta(Struct):
    """Some more of a call's name and arguments."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallDelta(Struct):
    """Some more of one of the calls. Gemini keeps thought signatures in `extra_content`."""

    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None
    extra_content: Raw = Raw()


class _Call:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.extra = b""
        self.arguments: list[str] = []


class Calls:
    """Collects parallel calls. Arguments are kept exactly as they came, whole JSON or not."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}

    def add(self, delta: CallDelta) -> str:
        """Take one piece; returns the name of a call that begins with it, else nothing."""
        call = self._of(delta)
        call.id = call.id or delta.id or ""
        if given(delta.extra_content):
            call.extra = b'{"extra_content":' + bytes(delta.extra_content) + b"}"
        function = delta.function or FunctionDelta()
        match function.arguments:
            case str(text):
                call.arguments.append(text)
            case dict(value):
                call.arguments.append(msgspec.json.encode(value).decode())
            case None:
                pass
        begins = not call.name and bool(function.name)
        call.name = call.name or function.name or ""
        return call.name if begins else ""

    def _of(self, delta: CallDelta) -> _Call:
        """The call that a piece belongs to: its index says so, unless a new id shows that the index was reused."""
        index = delta.index
        if index is None:
            index = len(self._calls) if delta.id or not self._calls else len(self._calls) - 1
        call = self._at.get(index)
        if call is None or (call.id and delta.id and delta.id != call.id):
            call = self._at[index] = _Call()
            self._calls.append(call)
        return call

    def parts(self, maker: str) -> tuple[ToolCall, ...]:
        """The calls so far, in the order in which they began."""
        return tuple(
            ToolCall(
                CallId(""),
                call.name,
                "".join(call.arguments) or "{}",
                wire_id=call.id,
                native=native(maker, call.extra) if call.extra else None,
            )
            for call in self._calls
        )


class Reasoning:
    """Collects thinking. `reasoning` and `reasoning_content` are its text under the names that vendors gave it;
    `reasoning_details` (OpenRouter) are typed blocks, cut up, some of them signed or encrypted.
    """

    def __init__(self) -> None:
        self._field = ""
        self._text: list[str] = []
        self._details: dict[tuple[Any, Any], dict[str, Any]] = {}

    def add(self, field: str, text: str) -> None:
        """Some more of the text, under its field's name."""
        self._field = self._field or field
        self._text.append(text)

    def detail(self, detail: dict[str, Any]) -> None:
        """One block, or some more of one: texts grow, everything else stays as it was said last."""
        whole = self._details.setdefault((detail.get("type"), detail.get("index", len(self._details))), {})
        for name, value in detail.items():
            if name in {"text", "summary", "data"} and isinstance(value, str):
                whole[name] = whole.get(name, "") + value
            elif value is not None or name not in whole:
                whole[name] = value

    def part(self, maker: str) -> Thinking | None:
        """The thinking so far; its native form is the message's field as this vendor wants it back."""
        text = "".join(self._text)
        block: dict[str, Any]
        if self._details:
            block = {"reasoning_details": list(self._details.values())}
        elif text:
            block = {self._field: text}
        else:
            return None
        return Thinking(text, native=native(maker, msgspec.json.encode(block)))


class Details(Struct):
    """Tokens by kind."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Counted(Struct):
    """Tokens as the server counts them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    prompt_cache_hit_tokens: int | None = None  # DeepSeek


class Delta(Struct):
    """Some more of the message, or the whole of it from a server that did not stream."""

    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    tool_calls: list[CallDelta] | None = None
    extra_content: Raw = Raw()


class ChunkChoice(Struct):
    """One of the answers; we only ever ask for one."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: Counted | None = None  # Moonshot


class Chunk(Struct):
    """One event of a stream, or a whole completion."""

    choices: list[ChunkChoice] | None = None
    usage: Counted | None = None
    error: Raw = Raw()
    object: str | None = None


chunks = msgspec.json.Decoder(Chunk)

STOPS = {
    "stop": StopReason.END,
    "eos": StopReason.END,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "model_length": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
    "sensitive": StopReason.REFUSAL,
}
"""Finish reasons in our words; one that is not here is an ordinary end."""

BROKEN = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Finish reasons of replies that did not finish: OpenRouter's, Z.ai's and DeepSeek's."""


def usage_of(counted: Counted) -> Usage:
    """Our count. xAI leaves the thinking out of `completion_tokens`; its total gives it away."""
    prompt, output = counted.prompt_tokens or 0, counted.completion_tokens or 0
    read_from = counted.prompt_tokens_details or Details()
    thinking = (counted.completion_tokens_details or Details()).reasoning_tokens or 0
    if thinking and counted.total_tokens == prompt + output + thinking:
        output += thinking
    cached = read_from.cached_tokens or counted.prompt_cache_hit_tokens or 0
    return Usage(prompt, output, cached, read_from.cache_write_tokens or 0, thinking)


def words_of(content: str | list[dict[str, Any]] | None) -> str:
    """The text of a content; Mistral sends a list of typed chunks when it thinks."""
    if isinstance(content, list):
        return "".join(str(one.get("text", "")) for one in content if one.get("type") == "text")
    return content or ""


def thoughts_of(content: str | list[dict[str, Any]] | None) -> list[str]:
    """The thinking in a content that is a list of typed chunks."""
    if not isinstance(content, list):
        return []
    return [words_of(one.get("thinking")) for one in content if one.get("type") == "thinking"]
