"""Compaction: the cheapest `ViewMoved` that brings the next request under its allowance.

Steps, cheapest first, stopping as soon as the target is met: age media; shorten old tool results; drop superseded
reads; fold the oldest messages into a summary by a model, or into an outline where there is none; shorten what is
left. Each move contains what the last one said of what is still in sight, so what was folded stays folded and what was
aged keeps its line. The newest media of each side stay in sight through all of it, smaller if need be, and each medium
that is folded leaves a line.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from angelia.context.budget import Allowance, Size, exceeds, shown_size
from angelia.context.folded_media import folded_media, newest_with_media
from angelia.context.media_aging import aged_media, shortened_results, superseded_reads
from angelia.context.media_forms import STEPS, form_of, smaller
from angelia.context.outline import outline
from angelia.context.request import Shown
from angelia.context.view import View, advance, estimated_size
from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.media_parts import media_parts
from angelia.core.profile import Profile

TARGET_SHARE = 0.5
"""A move aims at half of the allowance, so that as much again can be said before the next one is due."""

_TAIL_SHARE = 0.5
"""The share of the target that messages kept word for word may take when the rest is folded."""


class CompactionInput(Struct, frozen=True):
    """What a plan stands on. `now` is the view of the whole `log` before the move, `fixed` the size of prompt and
    tools, `running` the entries of the running request. `drafts` remembers the view under each move that was tried.
    """

    log: Sequence[e.Entry]
    now: View
    allowed: Allowance
    fixed: Size
    running: tuple[int, ...]
    drafts: dict[int, tuple[e.ViewMoved, View]] = field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        """The model whose next request is to fit."""
        return self.now.profile

    @property
    def target(self) -> Allowance:
        """The size that a move aims at; never less than prompt and tools take."""
        tokens = max(int(self.allowed.tokens * TARGET_SHARE), min(self.allowed.tokens, self.fixed.tokens * 2))
        return Allowance(tokens, int(self.allowed.bytes * TARGET_SHARE))


def last_move(log: Sequence[e.Entry]) -> e.ViewMoved:
    """The view move in force, or one that moves nothing."""
    return next((x.fact for x in reversed(log) if isinstance(x.fact, e.ViewMoved)), e.ViewMoved(reason=""))


def free(moved: e.ViewMoved) -> e.ViewMoved:
    """The same move as one made without a model, so that what an earlier summary cost is not counted again."""
    return replace(moved, summariser="", usage=e.Usage(), cost=-1)


def size_under(ground: CompactionInput, moved: e.ViewMoved) -> Size:
    """What the next request would measure under `moved`."""
    return estimated_size(_view_under(ground, moved), ground.fixed)


def size_now(ground: CompactionInput) -> Size:
    """What the next request would measure without a move."""
    return estimated_size(ground.now, ground.fixed)


def _view_under(ground: CompactionInput, moved: e.ViewMoved) -> View:
    if id(moved) not in ground.drafts:
        seq = ground.log[-1].seq + 1 if ground.log else 1
        ground.drafts[id(moved)] = (moved, advance(ground.now, [*ground.log, e.Entry(seq, 0, moved)]))
    return ground.drafts[id(moved)][1]


def aged(log: Sequence[e.Entry], moved: e.ViewMoved, newest: int = 1) -> e.ViewMoved:
    """`moved`, with old media in sight as lines, see `aged_media`; a medium that was aged keeps the line it had."""
    known = {(a.seq, a.part) for a in moved.aged}
    fresh = [a for a in aged_media(in_sight(log, moved), newest) if (a.seq, a.part) not in known]
    return replace(moved, aged=(*moved.aged, *fresh)) if fresh else moved


RECENT = 2
"""Messages and results whose media are not old yet: what came last is often compared with what came before it."""


def without_old_media(log: Sequence[e.Entry]) -> e.ViewMoved:
    """The move that takes old media out of requests, and nothing else: the prefix moves once for all of them."""
    return aged(log, free(last_move(log)), RECENT)


def old_media_bytes(log: Sequence[e.Entry], profile: Profile) -> int:
    """How many bytes of each request are media that `without_old_media` would take out."""
    now = last_move(log)
    gone = {(a.seq, a.part) for a in now.aged}
    forms = {(r.seq, r.part): r for r in now.reshown}
    size = 0
    for one in without_old_media(log).aged:
        if (one.seq, one.part) not in gone:
            media = dict(media_parts(log[one.seq - 1].fact))[one.part]
            shown = shown_now(media, forms.get((one.seq, one.part)), profile)
            size += shown_size(shown, profile).bytes if shown else 0
    return size


def shortened(log: Sequence[e.Entry], moved: e.ViewMoved, *, keep_newest: int = 4) -> e.ViewMoved:
    """`moved`, with old tool results in sight as head and tail, and superseded reads as one line."""
    known, seen = {s.call for s in moved.shortened}, in_sight(log, moved)
    stale = [s for s in superseded_reads(seen) if s.call not in known]
    known |= {s.call for s in stale}
    long = [s for s in shortened_results(seen, keep_newest=keep_newest) if s.call not in known]
    return replace(moved, shortened=(*moved.shortened, *stale, *long)) if stale or long else moved


def in_sight(log: Sequence[e.Entry], moved: e.ViewMoved) -> Sequence[e.Entry]:
    """The entries that no summary stands for."""
    kept = [log[seq - 1] for seq in moved.kept]
    return [*kept, *log[max(moved.keep_from - 1, 0) :]]


def _without_the_folded(log: Sequence[e.Entry], moved: e.ViewMoved) -> e.ViewMoved:
    """`moved`, which says nothing of what a summary stands for: that never comes back into sight, and a log in which
    each move told all that earlier ones did would grow with the square of its length.
    """
    seen = in_sight(log, moved)
    numbers = {entry.seq for entry in seen}
    calls = {entry.fact.call for entry in seen if isinstance(entry.fact, e.ToolFinished)}
    return replace(
        moved,
        aged=tuple(one for one in moved.aged if one.seq in numbers),
        reshown=tuple(one for one in moved.reshown if one.seq in numbers),
        shortened=tuple(one for one in moved.shortened if one.call in calls),
    )


def light(ground: CompactionInput) -> e.ViewMoved:
    """The move of the cheap steps alone: it calls no model and folds nothing."""
    start = free(last_move(ground.log))
    ground.drafts[id(start)] = (start, ground.now)  # the move in force changes nothing
    move = aged(ground.log, start)
    if exceeds(size_under(ground, move), ground.target):
        move = shortened(ground.log, move)
    return move


def suffices(ground: CompactionInput, moved: e.ViewMoved) -> bool:
    """Whether a move brings the request to its target."""
    return not exceeds(size_under(ground, moved), ground.target)


def fold_at(ground: CompactionInput, moved: e.ViewMoved) -> int:
    """Where the kept tail begins: the earliest safe cut whose tail fits its share of the target; 0 if nothing folds."""
    cuts = safe_cuts(ground.log[moved.keep_from :])
    most = Allowance(int(ground.target.tokens * _TAIL_SHARE), int(ground.target.bytes * _TAIL_SHARE))
    view = _view_under(ground, moved)
    shown = list(zip((message.seq for message in view.messages), view.sizes, strict=True))
    tail, best = Size(), cuts[-1] if cuts else 0
    for cut in reversed(cuts):
        while shown and shown[-1][0] >= cut:
            tail += shown.pop()[1]
        if exceeds(tail, most):
            break
        best = cut
    return best


def safe_cuts(log: Sequence[e.Entry]) -> list[int]:
    """Entries before which the view may begin: where a person speaks or a reply starts, never inside a pair."""
    return [entry.seq for entry in log if isinstance(entry.fact, e.Opening | e.ModelSaid)]


def folded(ground: CompactionInput, moved: e.ViewMoved, cut: int, summary: str) -> e.ViewMoved:
    """`moved`, with everything before `cut` told by `summary`; the running request stays word for word, and the newest
    media stay. Every other medium before `cut` is told by its line.
    """
    return _kept_by(ground, moved, cut, summary, newest_with_media(ground.log, cut))


def _kept_by(ground: CompactionInput, moved: e.ViewMoved, cut: int, summary: str, media: Sequence[int]) -> e.ViewMoved:
    kept = tuple(sorted({*(seq for seq in ground.running if seq < cut), *media}))
    lines = folded_media(ground.log, cut, kept)
    return _without_the_folded(ground.log, replace(moved, keep_from=cut, kept=kept, summary=summary, folded=lines))


def outlined(ground: CompactionInput, moved: e.ViewMoved, cut: int) -> e.ViewMoved:
    """What stands where every summariser fails: the fold with an outline that needs no model."""
    earlier = f"{moved.summary}\n" if moved.summary and len(moved.summary) < 4_000 else ""
    return folded(ground, moved, cut, earlier + outline(ground.log, moved.keep_from, cut))


def pressed(ground: CompactionInput, moved: e.ViewMoved) -> e.ViewMoved:
    """The last steps, until the request is allowed or nothing is left: fold more, shorten all, shrink pictures.

    Only where all of that is not enough do media of earlier turns become lines, too.
    """
    steps: list[Callable[[e.ViewMoved], e.ViewMoved]] = [
        lambda move: shortened(ground.log, move, keep_newest=1),
        lambda move: _smaller_media(ground, move),
        lambda move: _fold_harder(ground, move),
        lambda move: shortened(ground.log, move, keep_newest=0),
        *(lambda move: _smaller_media(ground, move) for _ in STEPS),
        lambda move: _kept_by(ground, move, move.keep_from, move.summary, ()) if move.keep_from else move,
    ]
    for step in steps:
        if not exceeds(size_under(ground, moved), ground.allowed):
            break
        harder = step(moved)
        if size_under(ground, harder).tokens <= size_under(ground, moved).tokens:
            moved = harder
    return moved


def _fold_harder(ground: CompactionInput, moved: e.ViewMoved) -> e.ViewMoved:
    """Fold everything up to the last safe cut."""
    cuts = safe_cuts(ground.log[moved.keep_from :])
    return outlined(ground, moved, cuts[-1]) if cuts else moved


def _smaller_media(ground: CompactionInput, moved: e.ViewMoved) -> e.ViewMoved:
    """Every medium in sight one step smaller."""
    gone = {(a.seq, a.part) for a in moved.aged}
    forms = {(r.seq, r.part): r for r in moved.reshown}
    for entry in in_sight(ground.log, moved):
        for index, media in media_parts(entry.fact):
            key = (entry.seq, index)
            if key in gone:
                continue
            now = shown_now(media, forms.get(key), ground.profile)
            less = smaller(now, ground.profile) if now else None
            if less:
                forms[key] = e.Reshown(entry.seq, index, less.form, less.long_edge)
    return replace(moved, reshown=tuple(forms.values()))


def shown_now(media: Media, reshown: e.Reshown | None, profile: Profile) -> Shown | None:
    """The form in which a medium goes out now; None if it is told as a line."""
    if reshown:
        return Shown(media, reshown.form, reshown.long_edge)
    form = form_of(media, profile)
    return form if isinstance(form, Shown) else None


def measured(ground: CompactionInput, moved: e.ViewMoved, reason: str) -> e.ViewMoved:
    """The move with its reason, and what it made of the request."""
    before, after = size_now(ground), size_under(ground, moved)
    return replace(
        moved,
        reason=reason,
        tokens_before=before.tokens,
        tokens_after=after.tokens,
        bytes_before=before.bytes,
        bytes_after=after.bytes,
    )
