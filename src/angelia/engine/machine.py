"""The turn's one decision: what to do next, from the log, the rules and the time alone.

The driver performs what `decide` names, appends what came of it, and asks again. It asks only when nothing is
running, so a call that was started and has no result was started in a life that ended.

    no open turn                    Rest, or Compact if a person asked for it
    a person asked to stop          Settle the open calls, Close(Cancelled)
    nothing was heard of a child    Settle the open calls, Close(Stalled)
    a final reply, nothing unread,  Close(Answered), or SpeakAnswer
        the files it names sent
    a scheduled turn has nothing    Close(StayedSilent)
        to tell
    the turn's time is up           Settle the open calls, Close
    open calls                      RunTools | Settle | Rest while a person is asked,
                                        or a program has them
    a failure                       UseRemedy | Close
    a request without a reply       AskModel again, counted over restarts
    a cap is reached                Close
    others may reach the day's cap  Rest until they have ended
    files of a new message          PlaceFiles
    recordings that the model       Transcribe | LeaveUnheard
        cannot hear
    too much for the window         Compact | Close(ContextFull)
    otherwise                       AskModel
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.counts import counted
from angelia.core.entry import NO_PAYMENT, Payment
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId
from angelia.engine.calls import Asked, Declined, HandedOver, OpenCall, Started, runnable
from angelia.engine.caps import TurnCaps, money_spent, out_of_time, patience_of, spent, time_left
from angelia.engine.owed import with_owed
from angelia.engine.remedies import (
    ANYTHING_HELPS,
    DEFAULT,
    Remedy,
    RemedyChoice,
    Reserves,
    Table,
    ending_for,
    next_remedy,
)
from angelia.engine.reply_files import note
from angelia.engine.state import Turn, carried, mending, readable, unspoken
from angelia.tools.port import Traits


class Rest(Struct, frozen=True):
    """Nothing to do before an outside fact arrives, or before `until` (Unix milliseconds, 0 for no end)."""

    until: int = 0


class AskModel(Struct, frozen=True):
    """Send a request that carries these messages for the first time; its reply goes on from those it `continues`."""

    heard: tuple[int, ...]
    attempt: int
    continues: tuple[int, ...] = ()


class RunTools(Struct, frozen=True):
    """Judge and run these calls, side by side if there are several."""

    calls: tuple[CallId, ...]


class Settle(Struct, frozen=True):
    """Give these calls a result without running them. `owed` is what each may have cost nevertheless."""

    calls: tuple[CallId, ...]
    status: CallStatus
    why: str
    owed: Payment = NO_PAYMENT


class UseRemedy(Struct, frozen=True):
    """Do something about a failure. `delay` is milliseconds before jitter, until the model is asked again."""

    choice: RemedyChoice
    failure: Failure
    delay: int = 0


class PlaceFiles(Struct, frozen=True):
    """Put the files of this message where tools can work on them."""

    message: int


class Transcribe(Struct, frozen=True):
    """Have the recordings of this message transcribed, since the model cannot hear them."""

    message: int


class LeaveUnheard(Struct, frozen=True):
    """Note that the recordings of this message could not be transcribed."""

    message: int
    why: str


class SpeakAnswer(Struct, frozen=True):
    """Turn these replies, which are the answer, into speech."""

    replies: tuple[int, ...]


class Compact(Struct, frozen=True):
    """Move the view before the next request, which would not fit."""


class Close(Struct, frozen=True):
    """End the turn; `answer` names the replies that are its answer."""

    ending: end.Ending
    answer: tuple[int, ...] = ()


Effect = (
    Rest
    | AskModel
    | RunTools
    | Settle
    | UseRemedy
    | PlaceFiles
    | Transcribe
    | LeaveUnheard
    | SpeakAnswer
    | Compact
    | Close
)


class Fit(StrEnum):
    """How the next request compares to the model's window and body limit."""

    FITS = "fits"
    OVER = "over"
    STUCK = "stuck"
    """Over, although the view was just moved."""


class Rules(Struct, frozen=True):
    """What a decision may assume: caps, the remedies table, tool traits, and how many models and keys there are.

    `model` is the first of the chain; `credentials` has one count per model of it.
    """

    limits: TurnCaps = TurnCaps()
    table: Table = field(default_factory=lambda: DEFAULT)
    traits: Mapping[str, Traits] = {}
    model: str = ""
    credentials: tuple[int, ...] = (1,)
    can_refresh: bool = False
    can_describe: bool = False
    can_speak: bool = False
    can_place: bool = False


class Moment(Struct, frozen=True):
    """What the log cannot tell: the time, what today has cost before this turn, and whether the request fits.

    `unheard` are the messages whose recordings have to be transcribed before the model is asked, and are not yet.
    `helps` are the remedies that would change the refused request. `reached` is a cap of the day that was just found to
    be reached; until `held_until` (Unix milliseconds) requests of others that are under way may reach one.
    """

    now: int
    day_tokens: int = 0
    day_cost: int = 0
    fit: Fit = Fit.FITS
    unheard: tuple[int, ...] = ()
    helps: frozenset[Remedy] = ANYTHING_HELPS
    reached: end.BudgetSpent | None = None
    held_until: int = 0


def decide(turn: Turn, rules: Rules, moment: Moment) -> Effect:
    """The next effect. Total: every state has exactly one, and every path ends in `Close` within its budgets."""
    if not turn.opened:
        return Compact() if turn.compaction_requested else Rest()
    if turn.cancelled_at:
        stopped = end.Stalled(turn.silent_s) if turn.silent_s else end.Cancelled(turn.cancelled_by)
        return _abandon(turn, _STOPPED_BY[bool(turn.silent_s)]) or Close(stopped)
    if _answered(turn):
        return _spoken(turn, rules, moment)
    if turn.silent and not (turn.calls or readable(turn)):
        return Close(end.StayedSilent(turn.silent))
    left = time_left(turn, rules.limits, moment.now)
    late = left is not None and left <= 0
    if _lacks_files(turn) and (late or spent(turn, rules.limits, moment.day_tokens, moment.day_cost)):
        return _given(turn)
    if left is not None and left <= 0:
        return _abandon(turn, "The turn's time was up; this was not run.") or Close(out_of_time(rules.limits, left))
    if turn.calls:
        return _calls(turn, rules, moment)
    if turn.failure:
        return _remedy(turn, turn.failure, rules, moment)
    if turn.wait_from <= moment.now < turn.wait_until:  # one that begins later than now: the clock was set back
        return Rest(turn.wait_until)
    died = turn.orphans + 1
    if turn.asked and 0 < rules.limits.max_crashes <= died:
        return Close(end.ModelUnavailable(model=turn.model, tries=died, died=died))
    return _next_request(turn, rules, moment)


def costs(effect: Effect, turn: Turn, rules: Rules) -> bool:
    """Whether an effect may cost money, so that the caps of the day are looked at first."""
    match effect:
        case AskModel() | SpeakAnswer() | Transcribe() | Compact():
            return True
        case RunTools(calls=calls):
            return _any_costs(calls, turn, rules)
        case _:
            return False


def _any_costs(some: tuple[CallId, ...], turn: Turn, rules: Rules) -> bool:
    return any(rules.traits.get(call.name, Traits()).costs for call in turn.calls if call.id in some)


def _answered(turn: Turn) -> bool:
    """Whether the last reply is final, whole, and heard everything that was said."""
    return bool(turn.answer) and not (turn.joins or turn.asked or turn.calls or turn.failure or readable(turn))


def _lacks_files(turn: Turn) -> bool:
    """Whether the answer is whole, and the one thing to mend are files that it names and that could not be sent."""
    return bool(turn.answer and not turn.calls and turn.failure and turn.failure.kind is FailureKind.FILE_REFUSED)


def _given(turn: Turn, why_text: str = "") -> Close:
    """The answer stands. Its note says which files could not be sent, and why it is text where speech was wanted."""
    silent = [why_text, *(one.why for one in turn.speeches)]
    notes = [note(turn.files), *(f"This was not spoken: {why}" for why in dict.fromkeys(silent) if why)]
    return Close(end.Answered(note="\n".join(one for one in notes if one)), turn.answer)


def _spoken(turn: Turn, rules: Rules, moment: Moment) -> SpeakAnswer | Close:
    """An answer is spoken where that is wanted, once, and if it may still take time and money."""
    replies, left = unspoken(turn), time_left(turn, rules.limits, moment.now)
    if turn.opener is None or turn.opener.answer is e.AnswerForm.TEXT or not replies:
        return _given(turn)
    if not rules.can_speak:
        return _given(turn, "nothing is set any more that speaks.")
    if left is not None and left <= 0:
        return _given(turn, "the turn's time is up.")
    if capped := moment.reached or money_spent(turn, rules.limits, moment.day_cost):
        return _given(turn, f"{capped.what} has reached {capped.spent}, and the cap is {capped.cap}.")
    return SpeakAnswer(replies)


def _abandon(turn: Turn, why: str) -> Settle | None:
    """Give every open call a result before its turn is closed early; None when all have one."""
    started = [(call.id, call.state) for call in turn.calls if isinstance(call.state, Started)]
    if started:
        return _lost(started)
    return Settle(_ids(turn.calls), CallStatus.CANCELLED, why) if turn.calls else None


_STOPPED_BY = ("The person stopped the turn; this was not run.", "Nothing was heard of the turn; this was not run.")
_UNKNOWN = "Angelia was interrupted while this ran. It may or may not have taken effect; check before repeating it."
_CUT = "This call was cut off at the length limit, so it was not run. Make it again, shorter or in smaller pieces."


def _lost(started: Sequence[tuple[CallId, Started]]) -> Settle:
    """Nobody heard how these ended. One that may have cost is settled by itself, with what is owed for it."""
    if costly := next(((call, state.may_cost) for call, state in started if state.may_cost.cost), None):
        return Settle((costly[0],), CallStatus.UNKNOWN, with_owed(_UNKNOWN, costly[1]), costly[1])
    return Settle(tuple(call for call, _ in started), CallStatus.UNKNOWN, _UNKNOWN)


def _unpaid(capped: end.BudgetSpent) -> str:
    return f"Not run, and nothing was paid: {capped.what} has reached {capped.spent}, and the cap is {capped.cap}."


_OVERTAKEN = "The person wrote a message instead of answering; it follows."
_NOT_BROUGHT = "The program whose tool this is brought no result; a message came instead, and follows."


def _calls(turn: Turn, rules: Rules, moment: Moment) -> Effect:
    if turn.failure and turn.failure.kind is FailureKind.CUT_OFF:
        return Settle(_ids(turn.calls), CallStatus.BAD_CALL, _CUT)
    dead = [(call.id, call.state) for call in turn.calls if isinstance(call.state, Started)]
    if lost := [(call, state) for call, state in dead if not state.replayable and not state.submitted]:
        return _lost(lost)
    if dead:
        return RunTools(tuple(call for call, _ in dead))
    for call in turn.calls:
        match call.state:
            case Declined(why=why):
                return Settle((call.id,), CallStatus.REFUSED, why)
            case Asked(at=at) if any(u.seq > at and u.seq in readable(turn) for u in turn.unread):
                return Settle((call.id,), CallStatus.REFUSED, _OVERTAKEN)
            case HandedOver(at=at) if any(u.seq > at and u.seq in readable(turn) for u in turn.unread):
                return Settle((call.id,), CallStatus.CANCELLED, _NOT_BROUGHT)
            case Asked(expires=expires) if expires and expires <= moment.now:
                return Settle((call.id,), CallStatus.REFUSED, "Nobody answered in time.")
    if group := runnable(turn.calls, rules.traits):
        capped = moment.reached or money_spent(turn, rules.limits, moment.day_cost)
        if capped and _any_costs(group, turn, rules):
            return Settle(group, CallStatus.CANCELLED, _unpaid(capped))
        return RunTools(group)
    return Rest(min((c.state.expires for c in turn.calls if isinstance(c.state, Asked) and c.state.expires), default=0))


def _remedy(turn: Turn, failure: Failure, rules: Rules, moment: Moment) -> Effect:
    reserves = Reserves(
        models=len(rules.credentials) - 1 - turn.model_index,
        credentials=_keys(turn, rules) - 1 - turn.credential_index,
        can_refresh=rules.can_refresh,
        can_describe=rules.can_describe,
        helps=moment.helps,
    )
    uses, caps = turn.uses, rules.limits
    choice = next_remedy(failure.kind, uses, reserves, rules.table)
    if choice and choice.remedy is Remedy.WAIT:
        delay = _delay(failure, choice.use)
        left = time_left(turn, caps, moment.now)
        other = next_remedy(failure.kind, {**uses, (choice.failure, Remedy.WAIT): 1_000_000}, reserves, rules.table)
        if other and delay > caps.longest_wait * 1000:  # another key or model may answer at once
            return UseRemedy(other, failure)
        if left is None or delay < left:
            return UseRemedy(choice, failure, delay)
        choice = other
    if choice and (choice.failure, choice.remedy) == (FailureKind.STREAM_CUT, Remedy.ASK_AGAIN):
        return UseRemedy(choice, failure, min(int(caps.cut_pause * 1000) * 2 ** (choice.use - 1), _LONGEST_PAUSE))
    if choice:
        return UseRemedy(choice, failure)
    return _patient(turn, failure, rules, moment) or _spent(turn, failure, rules)


_OUTAGES = {
    FailureKind.BUSY: FailureKind.BUSY,
    FailureKind.UNREACHABLE: FailureKind.UNREACHABLE,
    FailureKind.STREAM_CUT: FailureKind.UNREACHABLE,
}
"""Failures that pass by themselves, each with the kind under which waits for it are counted."""
_LONGEST_PAUSE = 30_000
"""Milliseconds between two tries in an outage, unless the provider asks for more."""


def _delay(failure: Failure, use: int) -> int:
    return max(failure.retry_after, min(1000 << min(use - 1, 20), _LONGEST_PAUSE))


def _patient(turn: Turn, failure: Failure, rules: Rules, moment: Moment) -> UseRemedy | None:
    """One more wait in an outage once every remedy is spent, while patience lasts: by the clock, and by the waits."""
    kind = _OUTAGES.get(failure.kind)
    if kind is None or dict(rules.table[kind].remedies).get(Remedy.WAIT) == 0:
        return None
    use = turn.uses.get((kind, Remedy.WAIT), 0) + 1
    delay, patience = _delay(failure, use), patience_of(turn, rules.limits) * 1000
    planned = sum(_delay(Failure(kind), number) for number in range(1, use)) + delay
    left = time_left(turn, rules.limits, moment.now)
    if planned > patience or moment.now + delay > turn.trouble_since + patience or (left is not None and delay >= left):
        return None
    return UseRemedy(RemedyChoice(kind, Remedy.WAIT, use), failure, delay)


def _keys(turn: Turn, rules: Rules) -> int:
    return rules.credentials[min(turn.model_index, len(rules.credentials) - 1)]


def _spent(turn: Turn, failure: Failure, rules: Rules) -> Close:
    """Every remedy is spent. Only now may earlier text be the answer, and only if nothing but housekeeping followed."""
    if _lacks_files(turn) or mending(turn):
        return _given(turn)
    silent = failure.kind in (FailureKind.EMPTY_REPLY, FailureKind.THINKING_ONLY)
    only_housekeeping = all(rules.traits.get(name, Traits()).housekeeping for name in turn.since)
    if silent and turn.progress and only_housekeeping:
        said = f"{turn.model} added nothing after its last note, so the text above is its answer."
        return Close(end.Answered(note=said))
    answer = turn.answer if failure.kind is FailureKind.CUT_OFF else ()
    return Close(ending_for(failure, turn.model, turn.tries, turn.progress, turn.uses), answer)


def _next_request(turn: Turn, rules: Rules, moment: Moment) -> Effect:
    limits = rules.limits
    if limits.stale_calls and turn.stale >= limits.stale_calls:
        times = max(turn.results.values(), default=0)
        circles = Failure(FailureKind.CIRCLES, said=turn.stale_tool)
        return _remedy(replace(turn, tries=times), circles, rules, moment)
    if capped := moment.reached or spent(turn, limits, moment.day_tokens, moment.day_cost):
        return _given(turn) if mending(turn) else Close(capped)
    if rules.can_place and (files := [seq for seq in carried(turn) if seq in turn.unplaced]):
        return PlaceFiles(files[0])
    if moment.unheard:
        return _written_down(moment.unheard[0], turn, limits)
    if moment.fit is Fit.STUCK:
        return Close(end.ContextFull(model=turn.model or rules.model))
    if moment.fit is Fit.OVER or turn.compaction_requested:
        return Compact()
    if moment.held_until:
        return Rest(moment.held_until)
    return AskModel(carried(turn), turn.tries + 1, turn.answer if turn.joins else ())


_PERHAPS_PAID = "it was interrupted, and may have to be paid, so it is not done again by itself"


def _written_down(message: int, turn: Turn, limits: TurnCaps) -> Effect:
    """A recording that again and again ends the process that transcribes it is given up, as a message is."""
    if message in turn.doubtful:
        return LeaveUnheard(message, _PERHAPS_PAID)
    if 0 < limits.max_crashes <= turn.recordings.get(message, 0):
        return LeaveUnheard(message, f"{counted(limits.max_crashes, 'try')} came to no end")
    return Transcribe(message)


def _ids(calls: tuple[OpenCall, ...] | list[OpenCall]) -> tuple[CallId, ...]:
    return tuple(call.id for call in calls)
