"""Which entries of a log are somebody's: what they said, and the turns in which nobody else was heard."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.ids import CallId
from angelia.core.principal import ALONE, FOLDER, MAIL, SIGNAL, Principal

_NOBODY = frozenset({"angelia", "erased", SIGNAL, MAIL, FOLDER})
"""Doors of principals that are no person."""
assert _NOBODY - {SIGNAL, MAIL, FOLDER} <= ALONE

_SAID = e.Opening | e.SetAside | e.CommandGiven | e.TurnedAway | e.ResultsBrought
_ALSO = (
    e.MessageTakenBack
    | e.Pinned
    | e.Unpinned
    | e.CompactionRequested
    | e.NoteProposed
    | e.ApprovalGiven
    | e.ApprovalRefused
    | e.Scheduled
)
_ANSWERED_AT_ONCE = e.CommandGiven | e.TurnedAway | e.SetAside
_OF_A_MESSAGE = e.FilesPlaced | e.Transcribed


class Theirs(Struct, frozen=True):
    """What of one log is somebody's. `said` are the numbers of what they said themselves, `answered` of what was said
    and done in turns in which they alone were heard; `mixed` counts the turns in which others were heard, too, whose
    answers are everybody's. `open` says that a turn of theirs has not come to its end, or that something which goes
    out to them has not.
    """

    said: frozenset[int]
    answered: frozenset[int]
    mixed: int
    open: bool

    @property
    def all(self) -> frozenset[int]:
        """Both."""
        return self.said | self.answered


def speakers(entries: Iterable[e.Entry]) -> set[Principal]:
    """The people who said something."""
    found = {entry.fact.sender for entry in entries if isinstance(entry.fact, _SAID)}
    return {one for one in found if one.door not in _NOBODY}


def theirs(entries: Sequence[e.Entry], who: Principal) -> Theirs:
    """What of a log is theirs."""
    said = _said(entries, who)
    answered, mixed, unclosed = set[int](), 0, False
    for turn in _turns(entries):
        heard = {_sender(entries[seq - 1].fact) for seq in _heard(turn)}
        if who not in heard:
            continue
        if heard == {who}:
            answered.update(one.seq for one in turn if _sender(one.fact) in (None, who))
        else:
            mixed += 1
        unclosed |= not any(isinstance(one.fact, e.TurnClosed) for one in turn)
    ended = _ended_later(entries, answered)
    whole = frozenset(answered) - said | ended
    return Theirs(frozenset(said), whole, mixed, unclosed or _is_on_its_way(entries, whole | said))


def _sender(fact: e.AnyFact) -> Principal | None:
    return fact.sender if isinstance(fact, _SAID) else None


def _said(entries: Sequence[e.Entry], who: Principal) -> set[int]:
    found, reply = set[int](), False
    for entry in entries:
        fact = entry.fact
        own = _sender(fact) == who or (isinstance(fact, _ALSO) and fact.by == who)
        own = own or (isinstance(fact, e.Administered) and who in (fact.by, fact.person))
        about = (isinstance(fact, _OF_A_MESSAGE) and fact.seq in found) or asks_about(fact, who)
        reply = (own and isinstance(fact, _ANSWERED_AT_ONCE)) or (reply and isinstance(fact, e.DeliveryQueued))
        if own or about or reply:
            found.add(entry.seq)
    return found


def asks_about(fact: e.AnyFact, who: Principal) -> bool:
    """Whether it is the question to the owner whether they, perhaps with others, are let in."""
    return isinstance(fact, e.DeliveryQueued) and any(one.value.endswith(f":{who}") for one in fact.choices)


def _turns(entries: Sequence[e.Entry]) -> Iterable[Sequence[e.Entry]]:
    """The entries in pieces, each with one turn: up to where something comes in, or a model is asked, after its end.
    The delivery of an answer follows the end of its turn, and so does what was learnt of it.
    """
    begin, closed = 0, False
    for at, entry in enumerate(entries):
        if closed and isinstance(entry.fact, _SAID | e.ModelAsked):
            yield entries[begin:at]
            begin, closed = at, False
        closed = closed or isinstance(entry.fact, e.TurnClosed)
    if any(isinstance(entry.fact, e.Opening | e.ModelAsked) for entry in entries[begin:]):
        yield entries[begin:]


def _heard(turn: Sequence[e.Entry]) -> set[int]:
    """The messages that were read in a turn; where no model was asked, those that came in."""
    asked = {seq for one in turn if isinstance(one.fact, e.ModelAsked) for seq in one.fact.heard}
    return asked or {one.seq for one in turn if isinstance(one.fact, e.Opening)}


def _ended_later(entries: Sequence[e.Entry], answered: set[int]) -> frozenset[int]:
    """What ended after its turn had: work that went on, and words spoken later."""
    calls = {one.fact.call for one in entries if one.seq in answered and isinstance(one.fact, e.WorkStarted)}
    return frozenset(one.seq for one in entries if isinstance(one.fact, e.WorkEnded) and one.fact.call in calls)


def _is_on_its_way(entries: Sequence[e.Entry], which: frozenset[int]) -> bool:
    """Whether one of these deliveries has not been settled."""
    settled = {one.fact.id for one in entries if isinstance(one.fact, e.DeliverySettled)}
    queued = {one.fact.id for one in entries if one.seq in which and isinstance(one.fact, e.DeliveryQueued)}
    return bool(queued - settled)


def calls_in(entries: Iterable[e.Entry], which: frozenset[int]) -> frozenset[CallId]:
    """The calls whose results are among these entries."""
    return frozenset(
        one.fact.call for one in entries if one.seq in which and isinstance(one.fact, e.ToolFinished | e.WorkEnded)
    )
