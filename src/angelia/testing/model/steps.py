"""What a scripted model does with one request: the vocabulary that the server and the in-process provider share."""

import json
from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.core.content import Text, Thinking, ToolCall
from angelia.core.entry import StopReason, Usage
from angelia.core.failure import FailureKind
from angelia.core.ids import CallId


class How(StrEnum):
    """How a reply stops before its end."""

    RESET = "reset"
    """TCP reset."""
    CLOSE = "close"
    """The connection is closed in the middle of the body."""
    END = "end"
    """The body ends as HTTP wants it, without the provider's finish event."""
    SILENCE = "silence"
    """Nothing more comes, and the connection stays open."""
    ERROR = "error"
    """The provider reports a server error in the stream, as an event."""


class CutUnit(StrEnum):
    """What a cut counts: events of the stream that carry content, or bytes of the body."""

    PIECES = "pieces"
    BYTES = "bytes"


class Cut(Struct, frozen=True, forbid_unknown_fields=True):
    """A reply stops after `after` units."""

    how: How
    after: int
    unit: CutUnit


class Speak(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=True):
    """A reply. `first` and `between` are seconds of delay before the first piece and between pieces. `whole`: it comes
    as one JSON body, whatever was asked for.

    `+` joins two: parts in order, everything else from the right, calls win over a plain end.
    """

    parts: tuple[Text | Thinking | ToolCall, ...] = ()
    stop: StopReason = StopReason.END
    cut: Cut | None = None
    usage: Usage | None = None
    first: float = 0.0
    between: float = 0.0
    whole: bool = False

    def __add__(self, after: "Speak") -> "Speak":
        stop = after.stop if after.stop is not StopReason.END else self.stop
        return replace(after, parts=self.parts + after.parts, stop=stop)


class Fail(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=True):
    """An error response. Empty fields take what the provider of the wire would say and send.

    `retry_after` is seconds, `limit` tokens or bytes. `about` names what a refused history is refused for.
    """

    kind: FailureKind
    status: int = 0
    said: str = ""
    retry_after: float = 0.0
    limit: int = 0
    about: str = ""


class Garbage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=True):
    """Status 200 and a body that is no reply."""

    body: str = "<html><body><h1>Welcome to the captive portal</h1></body></html>"
    mime: str = "text/html"


class Hang(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The request is read and never answered."""


Step = Speak | Fail | Garbage | Hang


def say(text: str) -> Speak:
    """Text, and the end of the reply."""
    return Speak((Text(text),))


def think(text: str) -> Speak:
    """Thinking; alone it is a reply that thinks and says nothing."""
    return Speak((Thinking(text),))


def thinking_only() -> Speak:
    """A reply of thinking alone."""
    return think("I wonder what to say.")


def call(name: str, arguments: Mapping[str, object] | None = None, *, wire_id: str = "") -> Speak:
    """One tool call. Without a `wire_id` the provider makes one up, new for each call.

    >>> (say("Looking.") + call("read", {"path": "a.txt"})).stop
    <StopReason.TOOL_CALLS: 'tool_calls'>
    """
    return Speak((ToolCall(CallId(""), name, json.dumps(arguments or {}), wire_id),), StopReason.TOOL_CALLS)


def calls(*each: tuple[str, Mapping[str, object]]) -> Speak:
    """Several tool calls in one reply."""
    parts = tuple(ToolCall(CallId(""), name, json.dumps(arguments)) for name, arguments in each)
    return Speak(parts, StopReason.TOOL_CALLS)


def truncated_call(name: str, arguments: Mapping[str, object] | str, *, at: int, finish: bool) -> Speak:
    """A call whose arguments stop after `at` characters; `finish` says whether the finish event comes all the same."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    cut = None if finish else Cut(How.END, 1_000_000_000, CutUnit.PIECES)
    return Speak((ToolCall(CallId(""), name, text[:at]),), StopReason.TOOL_CALLS, cut)


def empty() -> Speak:
    """A reply without any content, finished properly."""
    return Speak()


def length(text: str = "and then") -> Speak:
    """A reply that stops at the length limit."""
    return Speak((Text(text),), StopReason.LENGTH)


def filtered(text: str = "") -> Speak:
    """A reply that the provider's filter ended."""
    return Speak((Text(text),) if text else (), StopReason.REFUSAL)


def cut_after(reply: Speak, after: int, *, unit: CutUnit | str = CutUnit.PIECES, how: How | str = How.RESET) -> Speak:
    """`reply`, stopped after so many pieces or bytes; a number beyond its end leaves out the finish event alone."""
    return replace(reply, cut=Cut(How(how), after, CutUnit(unit)))


def slowly(reply: Speak, *, first: float = 0.0, between: float = 0.0) -> Speak:
    """`reply` with delays, in seconds, before the first piece and between pieces."""
    return replace(reply, first=first, between=between)


def at_once(reply: Speak) -> Speak:
    """The reply of a server that does not stream."""
    return replace(reply, whole=True)


def with_usage(reply: Speak, usage: Usage) -> Speak:
    """`reply` with this usage reported instead of an estimate."""
    return replace(reply, usage=usage)


def busy(retry_after: float = 0.0) -> Fail:
    """429 with a retry-after in seconds, 0 for none."""
    return Fail(FailureKind.BUSY, retry_after=retry_after)


def overloaded() -> Fail:
    """529, as Anthropic says it."""
    return Fail(FailureKind.BUSY, status=529)


def server_error(status: int = 503) -> Fail:
    """A 5xx."""
    return Fail(FailureKind.UNREACHABLE, status=status)


def too_long(limit: int = 8192) -> Fail:
    """The context window is exceeded; `limit` is tokens."""
    return Fail(FailureKind.CONTEXT_TOO_LONG, limit=limit)


def too_large() -> Fail:
    """413: the body is too large."""
    return Fail(FailureKind.BODY_TOO_LARGE)


def refuse_media() -> Fail:
    """A picture or document that the model does not take."""
    return Fail(FailureKind.MEDIA_REFUSED)


def login_rejected() -> Fail:
    """401."""
    return Fail(FailureKind.LOGIN_REJECTED)


def out_of_credit() -> Fail:
    """The account is empty."""
    return Fail(FailureKind.OUT_OF_CREDIT)


def unknown_model() -> Fail:
    """404: no such model."""
    return Fail(FailureKind.UNKNOWN_MODEL)


def history_refused(about: str = "signature") -> Fail:
    """400 about the shape of the history: `signature`, `pair` or `role`."""
    return Fail(FailureKind.HISTORY_REFUSED, about=about)


def garbage(body: str = Garbage().body, mime: str = Garbage().mime) -> Garbage:
    """Status 200 and nonsense."""
    return Garbage(body, mime)


def hang() -> Hang:
    """No answer at all, for ever."""
    return Hang()


def dump_steps(steps: list[Step]) -> bytes:
    """Steps as JSON, for `python -P -m angelia.testing.model --script FILE`."""
    return msgspec.json.encode(steps)


def load_steps(data: bytes) -> list[Step]:
    """What `dump_steps` wrote.

    Raises:
        msgspec.ValidationError: not a list of steps.
    """
    return msgspec.json.decode(data, type=list[Step])
