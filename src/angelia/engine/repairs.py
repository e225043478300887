"""What each remedy appends to the log: a nudge, a view move, a wait; pure."""

from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

from msgspec.structs import replace

from angelia.context import compaction
from angelia.context.media_aging import aged_media
from angelia.context.media_forms import label, smaller
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.failure import FailureKind
from angelia.core.media_parts import media_parts
from angelia.core.profile import Ability, Profile
from angelia.engine.machine import UseRemedy
from angelia.engine.remedies import Remedy

_NUDGE = "Your last replies were empty. Go on with the person's request, or say what is missing."
_CONTINUE = (
    "Your last reply was cut off at the length limit. Continue exactly where it stopped; do not repeat anything."
)
_SPEAK = "Your last reply held only thinking. Give the person your answer, or make the tool call you had in mind."
_CIRCLES = (
    "You keep making the same calls with the same results. Change your approach, or tell the person what blocks you."
)


def facts_for(effect: UseRemedy, log: Sequence[e.Entry], profile: Profile) -> list[e.AnyFact]:  # noqa: C901 - a table
    """The facts of one remedy beside its `RemedyUsed`; those that only change who is asked, or fold, have none here."""
    start = compaction.last_move(log)
    here = log[-1].seq + 1
    match effect.choice.remedy:
        case Remedy.NUDGE:
            return [e.SystemSaid(_NUDGE)]
        case Remedy.CONTINUE:
            return _go_on(effect, profile)
        case Remedy.SAY_SO:
            return [e.SystemSaid(_CIRCLES)]
        case Remedy.MEND:
            return [e.SystemSaid(effect.failure.said)]
        case Remedy.AGE_MEDIA:
            return _moved(start, compaction.aged(log, start), "age media")
        case Remedy.SHORTEN_RESULTS:
            return _moved(start, compaction.shortened(log, compaction.aged(log, start)), "shorten old results")
        case Remedy.SMALLER_RENDITION:
            return _moved(start, _smaller(log, start, profile), "smaller pictures")
        case Remedy.DROP_NATIVE:
            return _moved(start, replace(start, plain_before=here), "leave out provider blocks")
        case Remedy.FLATTEN_CALLS:
            return _moved(start, replace(start, plain_before=here, flat_before=here), "tell calls as text")
        case Remedy.COMPACT | Remedy.COMPACT_HARDER | Remedy.DESCRIBE:
            return []
        case Remedy.WAIT | Remedy.NEXT_CREDENTIAL | Remedy.REFRESH_CREDENTIAL | Remedy.NEXT_MODEL:
            return []
        case Remedy.ASK_AGAIN | Remedy.EXPLAIN:
            return []
        case _:
            assert_never(effect.choice.remedy)


def _moved(start: e.ViewMoved, moved: e.ViewMoved, reason: str) -> list[e.AnyFact]:
    """The move, if it moves anything; what an earlier summary took is not counted again."""
    moves = replace(moved, reason="") != replace(start, reason="")
    return [replace(_free(moved), reason=reason)] if moves else []


def _free(moved: e.ViewMoved) -> e.ViewMoved:
    """A move that took no model to make."""
    return replace(moved, summariser="", usage=e.Usage(), cost=-1)


def _go_on(effect: UseRemedy, profile: Profile) -> list[e.AnyFact]:
    if effect.failure.kind is not FailureKind.CUT_OFF:
        return [e.SystemSaid(_SPEAK)]
    return [] if profile.prefill is Ability.YES else [e.SystemSaid(_CONTINUE)]


def _smaller(log: Sequence[e.Entry], moved: e.ViewMoved, profile: Profile) -> e.ViewMoved:
    """Every medium in sight in its next smaller form; what has none becomes its line."""
    lines = {(a.seq, a.part): a for a in aged_media(log)}
    aged = {(a.seq, a.part): a for a in moved.aged}
    forms = {(r.seq, r.part): r for r in moved.reshown}
    for entry in log:
        for index, media in media_parts(entry.fact):
            key = (entry.seq, index)
            if key in aged:
                continue
            now = compaction.shown_now(media, forms.get(key), profile)
            less = smaller(now, profile) if now else None
            if less:
                forms[key] = e.Reshown(entry.seq, index, less.form, less.long_edge)
            elif key in lines:
                aged[key] = lines[key]
    return replace(moved, aged=tuple(aged.values()), reshown=tuple(forms.values()))


async def described(log: Sequence[e.Entry], describe: Callable[[Media], Awaitable[str]]) -> e.ViewMoved:
    """A move after which every medium that is not a line yet reads as its description, where there is one.

    Raises:
        ModelFailed: the describing model failed.
    """
    moved = compaction.last_move(log)
    known = {(a.seq, a.part) for a in moved.aged}
    lines = list(moved.aged)
    for entry in log:
        for index, media in media_parts(entry.fact):
            if (entry.seq, index) in known:
                continue
            if words := await describe(media):
                lines.append(e.Aged(entry.seq, index, f"[{label(media)}, described by another model: {words}]"))
    return replace(_free(moved), reason="described in words", aged=tuple(lines))


def closing_move(log: Sequence[e.Entry], ending: end.Ending, opened: int) -> e.ViewMoved | None:
    """What the view leaves out once a turn has ended this way, so that the next message can be answered."""
    match ending:
        case end.Refused():
            moved = compaction.last_move(log)
            return replace(_free(moved), reason="the refused turn is left out", left_out=(*moved.left_out, opened))
        case end.ModelRefusedMedia(model=model):
            return _without_media(log, compaction.last_move(log), model)
        case _:
            return None


def _without_media(log: Sequence[e.Entry], moved: e.ViewMoved, model: str) -> e.ViewMoved:
    """Every medium as a line that says why, and the kinds noted, so that this model is not given them again."""
    known = {(a.seq, a.part) for a in moved.aged}
    lines, kinds = list(moved.aged), set(moved.refused)
    for entry in log:
        for index, media in media_parts(entry.fact):
            if (entry.seq, index) not in known:
                lines.append(e.Aged(entry.seq, index, f"[{label(media)}: {model} did not take it]"))
                kinds.add(e.Refusal(model, media.media))
    refused = tuple(sorted(kinds, key=lambda refusal: (refusal.model, refusal.media)))
    return replace(_free(moved), reason="refused media are left out", aged=tuple(lines), refused=refused)


def running_request(log: Sequence[e.Entry]) -> tuple[int, ...]:
    """The request that is being worked on: what was said in the open turn, else the last thing said."""
    last: tuple[int, ...] = ()
    said: list[int] = []
    for entry in log:
        if isinstance(entry.fact, e.Opening):
            said.append(entry.seq)
            last = (entry.seq,)
        elif isinstance(entry.fact, e.TurnClosed):
            said.clear()
    return tuple(said) or last
