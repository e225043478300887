"""The turn as the log tells it: a fold over entries, pure and total."""

from collections.abc import Mapping, Sequence
from typing import assert_never, get_args

from msgspec import Struct
from msgspec.structs import replace

from angelia.context.media_forms import Nature, nature
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, Text, Thinking, ToolCall
from angelia.core.failure import STOPPED, Failure, FailureKind
from angelia.core.ids import CallId, call_that_asks
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.core.slices import SLICE, SlicedFold, at_once
from angelia.engine.calls import (
    Asked,
    AsksMeanwhile,
    CallState,
    CameBack,
    Declined,
    HandedOver,
    OpenCall,
    Permitted,
    Started,
    Wanted,
    calls_of,
)
from angelia.engine.remedies import DEFAULT, Remedy, Table, Uses
from angelia.engine.reply_files import Files, file_finished, note
from angelia.tools.schedule import stay_silent


class Unread(Struct, frozen=True):
    """A message that no request has carried yet."""

    seq: int
    queued: bool
    opener: e.Opener


class Turn(Struct, frozen=True):
    """Where the open turn stands. `opened` is the first message's entry, 0 when no turn is open.

    `opener` is who opened it, or the last one; None before the first.
    `asked` is the `ModelAsked` that still waits for its reply, `orphans` counts those that never got one.
    `left_over` are messages whose turn closed before any request carried them; they go along with the next one.
    `answer` names the replies that make up the answer so far; `joins` says that the next one continues them.
    `overtaken` are whole answers after which a message came in time; they are delivered with the last one.
    `files` are those that the answer names.
    `speeches` are the attempts to turn replies into speech, each with what came of it.
    `progress` is the last text that came with calls, `since` the tools called in that reply and later.
    `trouble_since` is when the first request since the last reply failed, 0 if none did.
    `stale` counts finished calls in a row that brought nothing new this turn. Times are Unix milliseconds.
    `setup` is the one in force. `recordings` are the messages whose recordings nobody has written down yet, with how
    often that was begun; `doubtful` are those of them that may have been paid for. `speaking` is speech that was
    begun, may have to be paid for, and has not ended.
    `unplaced` are the messages with files that do not lie in the sandbox yet. `reserved` is what running children may
    still cost, by their names; it is part of no turn. `silent_s` is how long nothing was heard of a turn that has to
    end because of that.
    """

    seen: int = 0
    opened: int = 0
    opener: e.Opener | None = None
    started_at: int = 0
    last_at: int = 0
    unread: tuple[Unread, ...] = ()
    left_over: tuple[int, ...] = ()
    model: str = ""
    asked: int = 0
    orphans: int = 0
    steps: int = 0
    tries: int = 0
    tokens: int = 0
    cost: int = 0
    failure: Failure | None = None
    uses: Uses = {}
    model_index: int = 0
    credential_index: int = 0
    wait_from: int = 0
    wait_until: int = 0
    waited: int = 0
    waiting_since: int = 0
    trouble_since: int = 0
    calls: tuple[OpenCall, ...] = ()
    replied: bool = False
    answer: tuple[int, ...] = ()
    overtaken: tuple[int, ...] = ()
    files: Files = Files()
    speeches: tuple[e.SpeechMade, ...] = ()
    progress: str = ""
    since: frozenset[str] = frozenset()
    results: Mapping[str, int] = {}
    stale: int = 0
    stale_tool: str = ""
    cancelled_at: int = 0
    cancelled_by: Principal = OWNER
    joins: bool = False
    compaction_requested: bool = False
    recordings: Mapping[int, int] = {}
    doubtful: frozenset[int] = frozenset()
    speaking: tuple[e.SpeechAsked, ...] = ()
    setup: e.SetupChanged | None = None
    unplaced: frozenset[int] = frozenset()
    silent: str = ""
    reserved: Mapping[CallId, int] = {}
    silent_s: int = 0


_SIDE = frozenset(get_args(e.SideFact))


def advance(turn: Turn, log: Sequence[e.Entry], table: Table = DEFAULT) -> Turn:
    """Fold what is new in `log` (its entries in order, from 1) into `turn`."""
    return turn if turn.seen >= len(log) else at_once(folding(turn, log, table))


def folding(turn: Turn, log: Sequence[e.Entry], table: Table = DEFAULT) -> SlicedFold[Turn]:
    """What `advance` does, with a pause after every slice; what is appended to `log` meanwhile is not folded."""
    fresh = log[turn.seen :]
    for number, entry in enumerate(fresh, 1):
        if type(entry.fact) not in _SIDE:
            turn = step(turn, entry, table)
        if number % SLICE == 0:
            yield
    return replace(turn, seen=fresh[-1].seq, last_at=fresh[-1].at) if fresh else turn


def step(turn: Turn, entry: e.Entry, table: Table) -> Turn:  # noqa: C901 - one closed vocabulary, one line a kind
    """One entry further. Total: every kind in every order has a meaning, if only "nothing changes"."""
    fact = entry.fact
    match fact:  # the most frequent ones first: in a long log they are nearly all
        case e.ModelAsked():
            return _model_asked(turn, entry, fact)
        case e.ModelSaid():
            return _model_said(turn, entry, fact, table)
        case e.ToolStarted() | e.JobSubmitted():
            return _call(turn, fact.call, _begun_call(turn, fact))
        case e.ToolFinished():
            return _tool_finished(turn, fact)
        case e.Opening():
            return _opening(turn, entry, fact)
        case e.MessageTakenBack(said=said):
            return _taken_back(turn, said)
        case e.TranscriptAsked() | e.Transcribed():
            return _recorded(turn, fact)
        case e.WorkStarted():
            return _begun(turn, fact)
        case e.WorkEnded():
            return _over(turn, fact)
        case e.FilesPlaced(seq=seq):
            return replace(turn, unplaced=turn.unplaced - {seq})
        case e.SetupChanged():
            return replace(turn, model=fact.model, setup=fact)
        case e.FilesNamed():
            return _files_named(turn, fact)
        case e.SpeechAsked() | e.SpeechMade():
            return _speech(turn, fact)
        case e.ModelFailed():
            return _model_failed(turn, entry, fact)
        case e.RemedyUsed():
            return _remedy_used(replace(turn, wait_from=entry.at, wait_until=fact.until), fact)
        case e.ApprovalAsked() if any(c.id == call_that_asks(fact.call) for c in turn.calls):
            return replace(_asked(turn, entry.seq, fact), waiting_since=entry.at)
        case e.ApprovalGiven():
            return _answered(turn, fact.call, Permitted(), entry.at) if _counts(turn, fact) else turn
        case e.ApprovalRefused():
            declined = Declined(fact.why or f"{fact.by} said no")
            return _answered(turn, fact.call, declined, entry.at) if _counts(turn, fact) else turn
        case e.CallsHandedOver() | e.ResultsBrought():
            return _with_program(turn, entry, fact)
        case e.CancelAsked():
            stopped = replace(turn, cancelled_at=entry.seq, cancelled_by=fact.by, silent_s=fact.silent_s)
            return stopped if turn.opened else turn
        case e.TurnClosed():
            return _turn_closed(turn, entry)
        case e.CompactionRequested():
            return replace(turn, compaction_requested=True)
        case e.ViewMoved():
            return replace(_spent(turn, fact), compaction_requested=False)
        case e.ApprovalAsked():  # about a server, or a child's
            return turn
        case _:
            if isinstance(fact, e.SideFact):
                return turn
            assert_never(fact)


def _opening(turn: Turn, entry: e.Entry, fact: e.Opening) -> Turn:
    unread = (*turn.unread, Unread(entry.seq, fact.arrival is e.Arrival.QUEUE, fact.opener))
    media = [part for part in fact.parts if isinstance(part, Media)]
    if media:
        turn = replace(turn, unplaced=turn.unplaced | {entry.seq})
    if any(nature(part) is Nature.SOUND for part in media):
        turn = replace(turn, recordings={**turn.recordings, entry.seq: 0})
    if turn.opened:
        return replace(_rested(turn, entry.at), unread=unread)
    cost = turn.cost if isinstance(fact, e.Delegated) else 0
    return replace(turn, unread=unread, opened=entry.seq, opener=fact.opener, started_at=entry.at, cost=cost)


def _taken_back(turn: Turn, said: int) -> Turn:
    """Nothing is done with the message any more, if it still waits."""
    if not can_be_taken_back(turn, said):
        return turn
    return replace(
        turn,
        unread=tuple(u for u in turn.unread if u.seq != said),
        recordings={seq: begun for seq, begun in turn.recordings.items() if seq != said},
        unplaced=turn.unplaced - {said},
    )


def _model_asked(turn: Turn, entry: e.Entry, fact: e.ModelAsked) -> Turn:
    if turn.replied and turn.answer and not turn.joins:
        turn = replace(turn, overtaken=(*turn.overtaken, *turn.answer), answer=())
    return replace(
        turn,
        asked=entry.seq,
        orphans=turn.orphans + 1 if turn.asked else turn.orphans,
        steps=turn.steps + 1,
        tries=turn.tries + 1,
        model=fact.model,
        failure=None,
        replied=False,
        files=replace(turn.files, calls=()),
        unread=tuple(u for u in turn.unread if u.seq not in fact.heard),
        left_over=tuple(seq for seq in turn.left_over if seq not in fact.heard),
        unplaced=turn.unplaced.difference(fact.heard),
    )


def _model_failed(turn: Turn, entry: e.Entry, fact: e.ModelFailed) -> Turn:
    if fact.failure == STOPPED:  # by us: it is asked again at once, and counts nowhere
        return _spent(replace(turn, asked=0), fact)
    since = turn.trouble_since or entry.at
    return _spent(replace(turn, asked=0, orphans=0, failure=fact.failure, trouble_since=since), fact)


def _spent(turn: Turn, fact: e.ModelSaid | e.ModelFailed | e.ViewMoved) -> Turn:
    tokens = turn.tokens + fact.usage.input + fact.usage.output
    return replace(turn, tokens=tokens, cost=turn.cost + max(fact.cost, 0))


def _begun(turn: Turn, fact: e.WorkStarted) -> Turn:
    """What a child may cost is put aside for it."""
    if fact.child is None or not fact.child.terms.max_cost:
        return turn
    return replace(turn, reserved={**turn.reserved, fact.call: fact.child.terms.max_cost})


def _over(turn: Turn, fact: e.WorkEnded) -> Turn:
    """What a child has cost is the running turn's, and what was put aside for it is free again."""
    if fact.child is None:
        return turn
    reserved = {call: most for call, most in turn.reserved.items() if call != fact.call}
    return replace(turn, reserved=reserved, cost=turn.cost + fact.child.cost if turn.opened else turn.cost)


def _model_said(turn: Turn, entry: e.Entry, fact: e.ModelSaid, table: Table) -> Turn:
    calls = tuple(OpenCall(p.id, p.name, Wanted()) for p in fact.parts if isinstance(p, ToolCall))
    text = "".join(p.text for p in fact.parts if isinstance(p, Text)).strip()
    thinking = any(isinstance(p, Thinking) for p in fact.parts)
    chain = turn.answer if turn.joins else ()
    if text and not calls:
        chain = (*chain, entry.seq)
    turn = replace(_spent(turn, fact), asked=0, orphans=0, replied=True, calls=calls, answer=chain)
    if fact.stop is e.StopReason.LENGTH:
        return replace(turn, failure=Failure(FailureKind.CUT_OFF), joins=True)
    if calls:
        names = frozenset(call.name for call in calls)
        turn = replace(turn, answer=(), progress=text, since=names) if text else replace(turn, since=turn.since | names)
    elif not text and fact.stop is not e.StopReason.PAUSE:
        kind = FailureKind.THINKING_ONLY if thinking else FailureKind.EMPTY_REPLY
        return replace(turn, failure=Failure(kind))
    kept = {key: count for key, count in turn.uses.items() if not table[key[0]].per_reply}
    return replace(turn, uses=kept, tries=0, failure=None, trouble_since=0, joins=fact.stop is e.StopReason.PAUSE)


def _remedy_used(turn: Turn, fact: e.RemedyUsed) -> Turn:
    remedy = Remedy(fact.remedy)
    key = (fact.failure, remedy)
    turn = replace(turn, uses={**turn.uses, key: turn.uses.get(key, 0) + 1}, failure=None)
    match remedy:
        case Remedy.NEXT_MODEL:
            return replace(turn, model_index=turn.model_index + 1, credential_index=0)
        case Remedy.NEXT_CREDENTIAL:
            return replace(turn, credential_index=turn.credential_index + 1)
        case Remedy.SAY_SO:
            return replace(turn, stale=0)
        case Remedy.MEND:
            return replace(turn, overtaken=(*turn.overtaken, *turn.answer), answer=())
        case _:
            return turn


def _tool_finished(turn: Turn, fact: e.ToolFinished) -> Turn:
    name = next((call.name for call in turn.calls if call.id == fact.call), "")
    calls = tuple(call for call in turn.calls if call.id != fact.call)
    failure = turn.failure
    turn = replace(turn, cost=turn.cost + fact.paid.cost) if fact.paid.cost > 0 else turn
    if any(call.id == fact.call for call in turn.files.calls):
        files, refused = file_finished(turn.files, fact, last=not calls)
        return replace(turn, calls=calls, files=files, failure=refused or failure)
    if name == stay_silent.NAME and fact.status is CallStatus.OK:
        turn = replace(turn, silent="".join(part.text for part in fact.parts if isinstance(part, Text)))
    if fact.status is CallStatus.BAD_CALL and failure is None:
        said = "".join(part.text for part in fact.parts if isinstance(part, Text))
        failure = Failure(FailureKind.BAD_CALL, said=said[:200])
    if not fact.digest:
        return replace(turn, calls=calls, failure=failure)
    times = turn.results.get(fact.digest, 0) + 1
    return replace(
        turn,
        calls=calls,
        failure=failure,
        results={**turn.results, fact.digest: times},
        stale=turn.stale + 1 if times > 1 else 0,
        stale_tool=name,
    )


INTERRUPTED = "Angelia was interrupted while it was spoken."
"""What became of speech that an earlier process began, and did not end."""
OWED = f"{INTERRUPTED} That may have been paid for, so it is not done again by itself."
"""The same, where somebody is paid for it."""


def _recorded(turn: Turn, fact: e.TranscriptAsked | e.Transcribed) -> Turn:
    """What may cost money is begun once; anything else is begun again until it comes to an end."""
    if isinstance(fact, e.TranscriptAsked):
        if fact.seq not in turn.recordings:
            return turn
        doubtful = turn.doubtful | {fact.seq} if fact.may_cost else turn.doubtful
        return replace(turn, recordings={**turn.recordings, fact.seq: turn.recordings[fact.seq] + 1}, doubtful=doubtful)
    left = {seq: tries for seq, tries in turn.recordings.items() if seq != fact.seq}
    return replace(turn, recordings=left, doubtful=turn.doubtful - {fact.seq}, cost=turn.cost + max(fact.cost, 0))


def _speech(turn: Turn, fact: e.SpeechAsked | e.SpeechMade) -> Turn:
    if isinstance(fact, e.SpeechAsked):
        turn = replace(turn, speaking=(*turn.speaking, fact)) if fact.may_cost else turn
        made = e.SpeechMade(fact.replies, why=OWED if fact.may_cost else INTERRUPTED)
    else:
        ended = next((at for at, one in enumerate(turn.speaking) if one.replies == fact.replies), len(turn.speaking))
        turn = replace(turn, speaking=turn.speaking[:ended] + turn.speaking[ended + 1 :])
        made = fact
    if not turn.opened:
        return turn
    turn = replace(turn, cost=turn.cost + max(made.paid.cost, 0))
    if not made.replies:
        return turn
    return replace(turn, speeches=(*(one for one in turn.speeches if one.replies != fact.replies), made))


def _files_named(turn: Turn, fact: e.FilesNamed) -> Turn:
    calls = calls_of(fact)
    opened = tuple(OpenCall(call.id, call.name, Wanted()) for call in calls)
    return replace(turn, calls=opened, files=replace(turn.files, calls=calls))


def _call(turn: Turn, call: CallId, state: CallState) -> Turn:
    return replace(turn, calls=tuple(replace(c, state=state) if c.id == call else c for c in turn.calls))


def _begun_call(turn: Turn, fact: e.ToolStarted | e.JobSubmitted) -> CallState:
    """What a server has taken on stays with it, however many lives ask after it."""
    before = next((call.state for call in turn.calls if call.id == fact.call), Wanted())
    if isinstance(fact, e.ToolStarted):
        return Started(fact.replayable, fact.may_cost, isinstance(before, Started) and before.submitted)
    return replace(before, submitted=True) if isinstance(before, Started) else before


def _with_program(turn: Turn, entry: e.Entry, fact: e.CallsHandedOver | e.ResultsBrought) -> Turn:
    """Time that a program takes for its own tools is not the turn's."""
    if isinstance(fact, e.CallsHandedOver):
        known = {call.id for call in turn.calls}.intersection(fact.calls)
        for call in known:
            turn = _call(turn, call, HandedOver(entry.seq))
        return replace(turn, waiting_since=entry.at) if known else turn
    waits = {call.id for call in turn.calls if isinstance(call.state, HandedOver)}
    for result in fact.results:
        if result.call in waits:
            turn = _rested(_call(turn, result.call, CameBack()), entry.at)
    return turn


def waits_for_program(turn: Turn) -> bool:
    """Whether all that a turn waits for are results of calls that a program has."""
    states = [call.state for call in turn.calls]
    if not any(isinstance(state, HandedOver) for state in states):
        return False
    return all(isinstance(state, HandedOver | Wanted) for state in states) and not readable(turn)


def _asked(turn: Turn, seq: int, fact: e.ApprovalAsked) -> Turn:
    """A call that is running still runs: it asks in the midst of its work."""
    call = call_that_asks(fact.call)
    before = next((one.state for one in turn.calls if one.id == call), Wanted())
    if call == fact.call:
        return _call(turn, call, Asked(seq, fact.expires, fact.approvers))
    if isinstance(before, Started):
        return _call(turn, call, replace(before, asks=AsksMeanwhile(fact.call, fact.approvers)))
    return turn


def _approvers(turn: Turn, question: CallId) -> tuple[Principal, ...]:
    """Who may answer this question; nobody where it is not open."""
    for call in turn.calls:
        match call.state:
            case Asked(approvers=approvers) if call.id == question:
                return approvers
            case Started(asks=AsksMeanwhile(id=asked, approvers=approvers)) if asked == question:
                return approvers
            case _:
                continue
    return ()


def _counts(turn: Turn, fact: e.ApprovalGiven | e.ApprovalRefused) -> bool:
    """Whether an answer is from somebody who may give it, whatever a door let through. We ourselves may only refuse."""
    if isinstance(fact, e.ApprovalRefused) and fact.by == ANGELIA:
        return True
    return fact.by in _approvers(turn, fact.call)


def _answered(turn: Turn, question: CallId, state: CallState, at: int) -> Turn:
    """Only the first answer to an open question counts; later ones are history. What runs goes on."""
    call = call_that_asks(question)
    before = next((one.state for one in turn.calls if one.id == call), Wanted())
    if call == question and isinstance(before, Asked):
        return _rested(_call(turn, call, state), at)
    if isinstance(before, Started) and before.asks and before.asks.id == question:
        return _rested(_call(turn, call, replace(before, asks=None)), at)
    return turn


def _rested(turn: Turn, at: int) -> Turn:
    """Time spent waiting for a person is not the turn's."""
    if not turn.waiting_since:
        return turn
    return replace(turn, waited=turn.waited + max(at - turn.waiting_since, 0), waiting_since=0)


def _turn_closed(turn: Turn, entry: e.Entry) -> Turn:
    """Whoever spoke too late for the closed turn opens the next one: those who steered, else one from the queue.

    What a child may cost is for all of its turns.
    """
    handled = max(turn.opened, turn.cancelled_at)
    late = tuple(u for u in turn.unread if u.seq > handled or (u.queued and u.seq != turn.opened))
    opening = next((u for u in late if not u.queued), late[0] if late else None)
    of_child = turn.opener is not None and turn.opener.address.door == e.PARENT
    return Turn(
        seen=entry.seq,
        opened=opening.seq if opening else 0,
        opener=opening.opener if opening else turn.opener,
        started_at=entry.at if opening else 0,
        unread=late,
        left_over=(*turn.left_over, *(u.seq for u in turn.unread if u not in late)),
        model=turn.model,
        compaction_requested=turn.compaction_requested,
        recordings=turn.recordings,
        doubtful=turn.doubtful,
        speaking=turn.speaking,
        setup=turn.setup,
        unplaced=turn.unplaced,
        reserved=turn.reserved,
        cost=turn.cost if of_child else 0,
    )


def can_be_taken_back(turn: Turn, said: int) -> bool:
    """Whether a message waits behind the one that opened the turn, and no request has carried it."""
    return said != turn.opened and any(u.seq == said for u in turn.unread)


def mending(turn: Turn) -> bool:
    """Whether the model was told that its answer, which stands, names files that could not be sent."""
    return bool(note(turn.files)) and not turn.answer


def unspoken(turn: Turn) -> tuple[int, ...]:
    """The replies of the answer, overtaken ones included, that nobody has begun to speak."""
    begun = {seq for one in turn.speeches for seq in one.replies}
    return tuple(seq for seq in (*turn.overtaken, *turn.answer) if seq not in begun)


def readable(turn: Turn) -> tuple[int, ...]:
    """The unread messages that ask for a request: all that steer, and a queued one that opened this turn."""
    return tuple(u.seq for u in turn.unread if not u.queued or u.seq == turn.opened)


def carried(turn: Turn) -> tuple[int, ...]:
    """What the next request carries for the first time: what asks for it, and what earlier turns left over."""
    return tuple(sorted({*turn.left_over, *readable(turn)}))
