"""An entry without what was said in it: what stays when somebody's words are erased from a log that others go on with.

Its kind, its numbers and its ids stay, so that every fold of the log comes to the same turns and calls as before;
words, names of files and bytes go. Parts keep their places, since other entries count them.
"""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import fields, replace

from angelia.core import entry as e
from angelia.core.content import Content, ReplyPart, Text, ToolCall
from angelia.core.principal import ERASED, Principal
from angelia.service.people.theirs import Theirs, calls_in

WORDS = "(erased)"
"""What stands where words stood."""

T = TypeVar("T")
S = TypeVar("S", bound=Struct)

_PART = (Text(WORDS),)
_SAID_OF_ENDINGS = ("said", "progress", "note", "why")


def without(log: Sequence[e.Entry], part: Theirs, who: Principal) -> dict[int, e.AnyFact]:
    """The entries of a log that change when what is `part` of it is erased, by their numbers, as they are then."""
    blank, calls = part.all, calls_in(log, part.all)
    facts = {}
    for entry in log:
        fact = blanked(entry.fact) if entry.seq in blank else entry.fact
        fact = view_without(fact, blank, calls) if isinstance(fact, e.ViewMoved) else fact
        if (fact := renamed(fact, who)) != entry.fact:
            facts[entry.seq] = fact
    return facts


def blanked(fact: e.AnyFact) -> e.AnyFact:
    """The same fact without what was said.

    >>> from angelia.core.content import Text
    >>> blanked(e.UserSaid((Text("my address is …"),), key="7")) == e.UserSaid((Text("(erased)"),), key="7")
    True
    """
    match fact:
        case e.Opening() | e.SetAside():
            return replace(fact, parts=_parts(fact.parts))
        case e.DeliveryQueued():
            return replace(fact, parts=_parts(fact.parts), choices=())
        case e.ToolFinished():
            return replace(fact, parts=_parts(fact.parts), full=None, diffs=())
        case e.WorkEnded():
            return replace(fact, parts=_parts(fact.parts), full=None)
        case e.ModelSaid():
            return replace(fact, parts=_replied(fact.parts))
        case e.ModelFailed():
            return replace(fact, partial=(), failure=replace(fact.failure, said=""))
        case e.FilesNamed():
            return replace(fact, files=tuple(replace(one, call=_call(one.call)) for one in fact.files))
        case e.ResultsBrought():
            return replace(fact, results=tuple(replace(one, parts=_parts(one.parts)) for one in fact.results))
        case e.WorkStarted():
            child = replace(fact.child, task=WORDS, files=()) if fact.child else None
            return replace(fact, what=WORDS, child=child)
        case e.TurnClosed():
            said = {name: "" for name in _SAID_OF_ENDINGS if name in fact.ending.__struct_fields__}
            return replace(fact, ending=_with(fact.ending, said))
        case _:
            return _asked(fact)


def _asked(fact: e.AnyFact) -> e.AnyFact:
    """The same for questions and answers."""
    match fact:
        case e.ApprovalAsked():
            choices = tuple(WORDS for _ in fact.choices)
            said = {"question": WORDS, "why": "", "pattern": "", "whole": "", "effects": ""}
            return replace(fact, choices=choices, picture=None, **said)
        case e.ApprovalGiven():
            return replace(fact, answer=fact.answer and WORDS)
        case _:
            return _short(fact)


def _short(fact: e.AnyFact) -> e.AnyFact:
    """The same for facts with a text or two; of all others nothing was said in them."""
    match fact:
        case e.CommandGiven() | e.SystemSaid() | e.Pinned() | e.Unpinned() | e.NoteProposed() | e.Scheduled():
            return replace(fact, text=WORDS)
        case e.CompactionRequested():
            return replace(fact, keep="")
        case e.Transcribed():
            return replace(fact, spoken=tuple(replace(one, text=one.text and WORDS) for one in fact.spoken))
        case e.FilesPlaced():
            files = tuple(replace(one, what=WORDS, path=one.path and WORDS) for one in fact.files)
            return replace(fact, files=files)
        case e.ApprovalRefused() | e.HookRan():
            return replace(fact, why=fact.why and WORDS)
        case e.SpeechMade():
            return replace(fact, media=None, why=fact.why or "erased")
        case e.FilesChanged():
            return replace(fact, paths=())
        case e.FilesTakenBack():
            return replace(fact, left=())
        case e.BytesLetGo():
            return replace(fact, pictures=tuple(replace(one, what=WORDS) for one in fact.pictures))
        case e.LearningEnded() | e.RemedyUsed():
            return replace(fact, **{"why" if isinstance(fact, e.LearningEnded) else "detail": ""})
        case _:
            return fact


def view_without(fact: e.ViewMoved, blank: frozenset[int], calls: frozenset[str]) -> e.ViewMoved:
    """A move of the view that says nothing of the entries `blank` or the results of `calls` any more. Where it folded
    one of them its summary goes: nobody can say which words of it are whose.
    """
    folds = any(seq < fact.keep_from and seq not in fact.kept for seq in blank)
    return replace(
        fact,
        summary=WORDS if folds and fact.summary else fact.summary,
        folded=() if folds else fact.folded,
        aged=tuple(one for one in fact.aged if one.seq not in blank),
        reshown=tuple(one for one in fact.reshown if one.seq not in blank),
        shortened=tuple(one for one in fact.shortened if one.call not in calls),
    )


def renamed(value: T, who: Principal) -> T:
    """The same with `ERASED` wherever `who` is named.

    >>> str(renamed(e.DoorMoved(e.Address("irc", "#a"), Principal("irc", "ann")), Principal("irc", "ann")).by)
    'erased'
    """
    found: Any = value
    if isinstance(value, Principal):
        found = ERASED if value == who else value
    elif isinstance(value, Struct):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        found = _with(value, {name: renamed(one, who) for name, one in held.items()})
    elif isinstance(value, tuple):
        found = tuple(renamed(one, who) for one in value)
    return cast("T", found)


def _with(value: S, changed: dict[str, Any]) -> S:
    return replace(value, **changed) if changed else value


def _parts(parts: tuple[Content, ...]) -> tuple[Content, ...]:
    return _PART * len(parts)


def _replied(parts: tuple[ReplyPart, ...]) -> tuple[ReplyPart, ...]:
    """Calls stay, since results belong to them; thinking and blocks that only their maker reads go."""
    calls = tuple(_call(part) for part in parts if isinstance(part, ToolCall))
    spoke = any(isinstance(part, Text) for part in parts)
    return (*(_PART if spoke or not calls else ()), *calls)


def _call(call: ToolCall) -> ToolCall:
    return replace(call, arguments="{}", native=None)
