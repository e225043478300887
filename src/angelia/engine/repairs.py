"""What each remedy does: it renews a key, makes a request smaller or asks for words, and says so in facts."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from angelia.context import compaction
from angelia.context.media_aging import aged_media
from angelia.context.media_forms import label, smaller
from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.core.media_parts import media_parts
from angelia.core.profile import Ability, Profile
from angelia.engine.live import Live, Resting
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


COMPACTED, COMPACTED_HARDER = 0.9, 0.4
"""Of what the refused request measured, what the next one may."""


ViewRemedy = Literal[
    Remedy.AGE_MEDIA,
    Remedy.SHORTEN_RESULTS,
    Remedy.SMALLER_RENDITION,
    Remedy.DROP_NATIVE,
    Remedy.FLATTEN_CALLS,
]
"""Remedies that tell the same log in another way."""


class RemedyMeans(Struct, frozen=True):
    """What remedies are used with: the log so far, the model that failed, and what can be turned to.

    A wait lasts until `wait_until` (Unix milliseconds). `refresh` renews the model's keys, `shrink` makes a move after
    which a request measures that share of what it does now, and `describe` puts a medium into words.
    """

    log: Sequence[e.Entry]
    live: Live
    profile: Profile
    next_model: str
    wait_until: int
    refresh: Callable[[], Awaitable[None]]
    shrink: Callable[[float], Awaitable[e.ViewMoved]]
    describe: Callable[[Media], Awaitable[str]] | None = None


async def use_remedy(effect: UseRemedy, means: RemedyMeans) -> list[e.AnyFact]:
    """Use a remedy; its `RemedyUsed`, and the facts that it comes to, as they are to be appended in one commit."""
    choice, until, detail, facts = effect.choice, 0, "", list[e.AnyFact]()
    if effect.delay:
        until = means.wait_until
        means.live.emit(Resting(until, effect.failure.said or str(effect.failure.kind)))
    match choice.remedy:
        case Remedy.LEAVE_OUT:
            detail, facts = effect.failure.names, _left_out(effect)
        case Remedy.REFRESH_CREDENTIAL:
            await means.refresh()
        case Remedy.NEXT_MODEL:
            detail = means.next_model
        case Remedy.NUDGE | Remedy.CONTINUE | Remedy.SAY_SO | Remedy.MEND:
            facts = _said(choice.remedy, effect, means.profile)
        case Remedy.COMPACT:
            facts = [await means.shrink(COMPACTED)]
        case Remedy.COMPACT_HARDER:
            facts = [await means.shrink(COMPACTED_HARDER)]
        case Remedy.DESCRIBE:
            try:
                facts = [await _described(means.log, means.describe)] if means.describe else []
            except ModelError as failed:
                detail = f"the describing model failed: {failed}"
        case Remedy.WAIT | Remedy.NEXT_CREDENTIAL | Remedy.ASK_AGAIN | Remedy.EXPLAIN:
            pass  # the next request differs by itself: another key, another try, the refused call's own result
        case _:
            facts = seen_otherwise(choice.remedy, means.log, means.profile)
    return [e.RemedyUsed(choice.failure, choice.remedy, until=until, detail=detail), *facts]


def _said(
    remedy: Literal[Remedy.NUDGE, Remedy.CONTINUE, Remedy.SAY_SO, Remedy.MEND], effect: UseRemedy, profile: Profile
) -> list[e.AnyFact]:
    """What the model is told before it is asked again."""
    match remedy:
        case Remedy.NUDGE:
            return [e.SystemSaid(_NUDGE)]
        case Remedy.CONTINUE:
            return _go_on(effect, profile)
        case Remedy.SAY_SO:
            return [e.SystemSaid(_CIRCLES)]
        case Remedy.MEND:
            return [e.SystemSaid(effect.failure.said)]
        case _:
            assert_never(remedy)


def _left_out(effect: UseRemedy) -> list[e.AnyFact]:
    """What the model is told of a tool that it does not have any more; a parameter of the request is not its matter."""
    if effect.failure.kind is not FailureKind.TOOL_REFUSED:
        return []
    return [e.SystemSaid(f"There is no tool {effect.failure.names} any more: the provider refuses it.")]


def seen_otherwise(remedy: ViewRemedy, log: Sequence[e.Entry], profile: Profile) -> list[e.AnyFact]:
    """A move of the view, if it moves anything: the same log, told so that the model takes it."""
    start = compaction.last_move(log)
    here = log[-1].seq + 1
    match remedy:
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
        case _:
            assert_never(remedy)


def _moved(start: e.ViewMoved, moved: e.ViewMoved, reason: str) -> list[e.AnyFact]:
    """The move, if it moves anything."""
    moves = replace(moved, reason="") != replace(start, reason="")
    return [replace(compaction.free(moved), reason=reason)] if moves else []


def _go_on(effect: UseRemedy, profile: Profile) -> list[e.AnyFact]:
    if effect.failure.kind is not FailureKind.CUT_OFF:
        return [e.SystemSaid(_SPEAK)]
    return [] if profile.prefill is Ability.YES else [e.SystemSaid(_CONTINUE)]


def _smaller(log: Sequence[e.Entry], moved: e.ViewMoved, profile: Profile) -> e.ViewMoved:
    """Every medium in sight in its next smaller form; what has none becomes its line."""
    seen = compaction.in_sight(log, moved)
    lines = {(a.seq, a.part): a for a in aged_media(seen)}
    aged = {(a.seq, a.part): a for a in moved.aged}
    forms = {(r.seq, r.part): r for r in moved.reshown}
    for entry in seen:
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


async def _described(log: Sequence[e.Entry], describe: Callable[[Media], Awaitable[str]]) -> e.ViewMoved:
    """A move after which every medium in sight that is not a line yet reads as its description, where there is one.

    Raises:
        ModelError: the describing model failed.
    """
    moved = compaction.last_move(log)
    known = {(a.seq, a.part) for a in moved.aged}
    lines = list(moved.aged)
    for entry in compaction.in_sight(log, moved):
        for index, media in media_parts(entry.fact):
            if (entry.seq, index) in known:
                continue
            if words := await describe(media):
                lines.append(e.Aged(entry.seq, index, f"[{label(media)}, described by another model: {words}]"))
    return replace(compaction.free(moved), reason="described in words", aged=tuple(lines))
