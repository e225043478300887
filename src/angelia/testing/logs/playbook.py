r"""Tests as dialogue: a log written in a few lines, and read back as a few lines.

    log(said("hi"), reply("Looking.", call("read", {"path": "a"})), result("words"), reply("Done."), closed())

What the driver would have written in between (`ModelAsked`, `ToolStarted`) is filled in where it is missing.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import asdict, fields, replace

from angelia.core import entry as e
from angelia.core.content import (
    BlobRef,
    CallStatus,
    Content,
    Media,
    MediaKind,
    ProviderBlock,
    ReplyPart,
    Text,
    ToolCall,
)
from angelia.core.ending import Answered, Ending
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, call_id
from angelia.core.text import one_line
from angelia.testing.model.steps import Speak

MODEL = "scripted:m"

Facts = Callable[[Sequence[e.Entry]], Sequence[e.AnyFact]]
"""A line that depends on what stands before it."""

Line = e.AnyFact | Facts


def log(*lines: Line, start: int = 1_000, tick: int = 1_000) -> list[e.Entry]:
    """The entries that these lines stand for, `tick` milliseconds apart; opens the conversation if no line does."""
    entries: list[e.Entry] = []
    for line in lines if isinstance(lines[0], e.ConversationOpened) else (opened(), *lines):
        for fact in line(entries) if callable(line) else (line,):
            seq = len(entries) + 1
            entries.append(e.Entry(seq, start + tick * seq, fact))
    return entries


def opened() -> e.ConversationOpened:
    """The first entry."""
    return e.ConversationOpened("terminal", "/project")


def setup(model: str = MODEL) -> e.SetupChanged:
    """Model, prompt, tools and profile; the blobs are named, not stored."""
    return e.SetupChanged(model, blob("prompt"), blob("tools"), blob("profile"))


def blob(name: str, *, size: int = 1000, mime: str = "text/plain") -> BlobRef:
    """A reference to bytes that nobody stored; the same name is the same hash."""
    return BlobRef(name.encode().hex().ljust(64, "0")[:64], size, mime)


def photo(name: str = "photo.jpg", *, size: int = 200_000) -> Media:
    """A picture of 800 by 600 pixels."""
    return Media(blob(name, size=size, mime="image/jpeg"), MediaKind.IMAGE, name, 800, 600)


def document(name: str = "paper.pdf", *, size: int = 300_000, pages: int = 3) -> Media:
    """A PDF."""
    return Media(blob(name, size=size, mime="application/pdf"), MediaKind.DOCUMENT, name, pages=pages)


def voice(name: str = "voice.ogg", *, size: int = 20_000, seconds: float = 4.0) -> Media:
    """A spoken message."""
    return Media(blob(name, size=size, mime="audio/ogg"), MediaKind.VOICE, name, seconds=seconds)


def said(*parts: str | Content) -> e.UserSaid:
    """A person said something; read at the next step."""
    return e.UserSaid(_content(parts))


def queued(*parts: str | Content) -> e.UserSaid:
    """A person said something that is to be read after the turn."""
    return e.UserSaid(_content(parts), arrival=e.Arrival.QUEUE)


def _content(parts: Sequence[str | Content]) -> tuple[Content, ...]:
    return tuple(Text(part) if isinstance(part, str) else part for part in parts)


def asked(entries: Sequence[e.Entry]) -> tuple[e.ModelAsked]:
    """A request goes out and carries what has not been heard; use it alone for one that never got its reply."""
    attempt = 1
    for entry in reversed(entries):
        if isinstance(entry.fact, e.ModelSaid | e.TurnClosed):
            break
        attempt += isinstance(entry.fact, e.ModelAsked)
    return (e.ModelAsked(MODEL, attempt, unheard(entries)),)


def unheard(entries: Sequence[e.Entry]) -> tuple[int, ...]:
    """The people's messages that the next request carries: those that steer, and a queued one that opens a turn."""
    heard = {seq for entry in entries if isinstance(entry.fact, e.ModelAsked) for seq in entry.fact.heard}
    gone = heard | {entry.fact.said for entry in entries if isinstance(entry.fact, e.MessageTakenBack)}
    waiting = [(x.seq, x.fact) for x in entries if isinstance(x.fact, e.UserSaid) and x.seq not in gone]
    steering = tuple(seq for seq, fact in waiting if fact.arrival is e.Arrival.STEER)
    last = next((x.fact for x in reversed(entries) if isinstance(x.fact, e.ModelAsked | e.TurnClosed)), None)
    return steering or tuple(seq for seq, _ in waiting[:1] if not isinstance(last, e.ModelAsked))


def reply(*parts: str | ReplyPart | Speak, stop: e.StopReason | None = None, usage: e.Usage = e.Usage()) -> Facts:  # noqa: B008 - frozen
    """A finished reply; its calls get the log's own ids. The request is filled in if none is open."""
    flat: list[ReplyPart] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Speak) else (Text(part),) if isinstance(part, str) else (part,))

    def facts(entries: Sequence[e.Entry]) -> Sequence[e.AnyFact]:
        before, at = _request(entries)
        numbers = iter(range(len(flat)))
        named = tuple(
            replace(part, id=call_id(at, number := next(numbers)), wire_id=part.wire_id or f"w{at}_{number}")
            if isinstance(part, ToolCall)
            else part
            for part in flat
        )
        context = any(isinstance(part, ToolCall) for part in flat)
        return (
            *before,
            e.ModelSaid(MODEL, named, stop or (e.StopReason.TOOL_CALLS if context else e.StopReason.END), usage),
        )

    return facts


def failed(kind: FailureKind, *partial: str) -> Facts:
    """A request failed, after `partial` had arrived."""

    def facts(entries: Sequence[e.Entry]) -> Sequence[e.AnyFact]:
        return (*_request(entries)[0], e.ModelFailed(MODEL, Failure(kind), tuple(Text(text) for text in partial)))

    return facts


def _request(entries: Sequence[e.Entry]) -> tuple[Sequence[e.AnyFact], int]:
    """The open request's number; the facts that open one if none is."""
    for entry in reversed(entries):
        if isinstance(entry.fact, e.ModelAsked):
            return (), entry.seq
        if isinstance(entry.fact, e.ModelSaid | e.ModelFailed):
            break
    return asked(entries), len(entries) + 1


def open_calls(entries: Sequence[e.Entry]) -> list[ToolCall]:
    """The calls without a result, in the order of the reply."""
    done = {entry.fact.call for entry in entries if isinstance(entry.fact, e.ToolFinished)}
    replies = [entry.fact for entry in entries if isinstance(entry.fact, e.ModelSaid)]
    return [part for fact in replies for part in fact.parts if isinstance(part, ToolCall) and part.id not in done]


def started(of: int = 0, *, replayable: bool = False) -> Facts:
    """The open call number `of` is about to run."""
    return lambda entries: (e.ToolStarted(open_calls(entries)[of].id, replayable),)


def result(*parts: str | Content, of: int = 0, status: CallStatus = CallStatus.OK) -> Facts:
    """What the open call number `of` came to. A start is filled in, unless the call never ran."""

    def facts(entries: Sequence[e.Entry]) -> Sequence[e.AnyFact]:
        call = open_calls(entries)[of].id
        ran = status in (CallStatus.OK, CallStatus.ERROR, CallStatus.UNKNOWN)
        start = (e.ToolStarted(call),) if ran and not _has_started(entries, call) else ()
        return (*start, e.ToolFinished(call, status, _content(parts)))

    return facts


def _has_started(entries: Sequence[e.Entry], call: CallId) -> bool:
    return any(isinstance(entry.fact, e.ToolStarted) and entry.fact.call == call for entry in entries)


def closed(ending: Ending = Answered()) -> e.TurnClosed:  # noqa: B008 - a frozen value
    """The turn is over."""
    return e.TurnClosed(ending)


def read(entries: Sequence[e.Entry]) -> str:
    """A log as lines, one an entry, for people and for failing tests.

    >>> print(read(log(said("hi"), reply("Hello."), closed())))
       1 ConversationOpened door='terminal' workspace='/project'
       2 UserSaid "hi"
       3 ModelAsked model='scripted:m' attempt=1 heard=(2,)
       4 ModelSaid "Hello." model='scripted:m' stop='end'
       5 TurnClosed ending=Answered(note='')
    """
    return "\n".join(f"{entry.seq:4} {type(entry.fact).__name__} {_words(entry.fact)}" for entry in entries)


def _words(fact: e.AnyFact) -> str:
    defaults = {field.name: field.default for field in fields(fact)}
    given = {name: value for name, value in asdict(fact).items() if value != defaults[name]}
    parts = given.pop("parts", ())
    shown = [_part(part) for part in parts] + [f"{name}={_plain(value)}" for name, value in given.items()]
    return one_line(" ".join(shown), 200)


def _plain(value: object) -> str:
    if isinstance(value, BlobRef):
        return f"{value.sha256[:8]}…"
    return repr(str(value)) if isinstance(value, str) else repr(value)


def _part(part: Struct) -> str:
    match part:
        case Text(text=text):
            return f'"{text}"'
        case ToolCall(id=name, name=tool, arguments=arguments):
            return f"{name}:{tool}({arguments})"
        case Media(name=name):
            return f"<{name or part.blob.mime}>"
        case ProviderBlock(maker=maker):
            return f"<{maker}'s own>"
        case _:
            return repr(part)
