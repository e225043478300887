"""Compaction of the view before a request: cheap steps first, then a summary by a model, else an outline."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from angelia.context import compaction
from angelia.context.budget import Allowance, Size, allowance, exceeds
from angelia.context.compaction import CompactionInput
from angelia.context.summary import flaw, prompt, transcript
from angelia.context.tokens import text_tokens
from angelia.context.view import View, request_size
from angelia.core import entry as e
from angelia.core.errors import AngeliaError
from angelia.engine.machine import Fit

_TRIES = 2
_WORTH_A_SUMMARY = 200
"""Tokens; less than this an outline tells as well, and costs nothing."""
_SUMMARY_SHARE = 0.3
"""Of the target, what a summary may take."""


class Written(Struct, frozen=True):
    """What a summariser wrote, and what it took."""

    text: str
    usage: e.Usage
    cost: int


class Summariser(Struct, frozen=True):
    """A model that writes summaries. `window` is tokens, 0 when unknown; `write` takes the prompt and its length limit.

    `write` may raise any AngeliaError, and ends within its own time-out.
    """

    model: str
    window: int
    write: Callable[[str, int], Awaitable[Written]]


class ContextBudget(Struct, frozen=True):
    """The settings of the budget: `share` of the window may be filled, `reserve` tokens are the answer's."""

    share: float
    reserve: int
    summariser: Summariser | None = None


def allowed_for(view: View, space: ContextBudget) -> Allowance:
    """What the next request may use: a share of the smaller of the model's and the summariser's window."""
    profile, learnt = view.profile, view.learnt
    windows = [learnt.tokens, profile.window, space.summariser.window if space.summariser else 0]
    window = min((known for known in windows if known), default=0)
    usual = allowance(profile, share=space.share, reserve=space.reserve, window=window)
    sizes = [limit for limit in (usual.bytes, int(learnt.bytes * 0.95)) if limit]
    return Allowance(usual.tokens, min(sizes, default=0))


def budget_for(log: Sequence[e.Entry], view: View, fixed: Size, allowed: Allowance) -> Fit:
    """Whether the next request fits; STUCK if the view was already moved for it since the last reply or turn."""
    if not exceeds(request_size(view, fixed), allowed):
        return Fit.FITS
    for entry in reversed(log):
        if isinstance(entry.fact, e.ModelSaid | e.TurnClosed):
            break
        if isinstance(entry.fact, e.ViewMoved):
            return Fit.STUCK
    return Fit.OVER


async def compact(ground: CompactionInput, space: ContextBudget, reason: str, keep: str = "") -> e.ViewMoved:
    """The cheapest move that makes the next request fit. It may change nothing, and then says so by its sizes."""
    move = compaction.light(ground)
    if not keep and compaction.suffices(ground, move):
        return compaction.measured(ground, move, reason)
    cut = compaction.fold_at(ground, move)
    if cut:
        fold = await _folded(ground, space.summariser, move, cut, keep)
        smaller = compaction.size_under(ground, fold).tokens < compaction.size_under(ground, move).tokens
        move = fold if smaller else replace(move, usage=fold.usage, cost=fold.cost)
    return compaction.measured(ground, compaction.pressed(ground, move), reason)


async def _folded(
    ground: CompactionInput, summariser: Summariser | None, move: e.ViewMoved, cut: int, keep: str
) -> e.ViewMoved:
    """The fold with a summary by the model, or with an outline where it fails."""
    outlined = compaction.outlined(ground, move, cut)
    told = transcript(ground.log, move.keep_from, cut)
    if summariser is None or text_tokens(told) < _WORTH_A_SUMMARY:
        return outlined
    most = max(int(ground.target.tokens * _SUMMARY_SHARE), 300)
    asked = prompt(move.summary, told, keep, int((summariser.window or 128_000) * 0.7) - most)
    spent = e.ViewMoved(reason="", summariser=summariser.model, cost=0)
    for _ in range(_TRIES):
        try:
            written = await summariser.write(asked, most)
        except AngeliaError:
            continue
        spent = _with(spent, written)
        if not flaw(written.text, f"{move.summary}\n{told}", most):
            kept = compaction.folded(ground, move, cut, written.text)
            return replace(kept, summariser=summariser.model, usage=spent.usage, cost=spent.cost)
    return replace(outlined, usage=spent.usage, cost=spent.cost)


def _with(spent: e.ViewMoved, written: Written) -> e.ViewMoved:
    usage = e.Usage(spent.usage.input + written.usage.input, spent.usage.output + written.usage.output)
    known = spent.cost >= 0 and written.cost >= 0
    return replace(spent, usage=usage, cost=spent.cost + written.cost if known else -1)
