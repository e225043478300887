"""Compaction of the view before a request: cheap steps first, then a summary by a model, else an outline."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from angelia.context import compaction
from angelia.context.budget import Allowance, Size, allowance, exceeds, fixed_size, total
from angelia.context.compaction import CompactionInput
from angelia.context.request import ToolSpec
from angelia.context.summary import flaw, prompt, transcript
from angelia.context.tokens import text_tokens
from angelia.context.view import View, estimated_size, request_size
from angelia.core import entry as e
from angelia.core.errors import AngeliaError, ModelError
from angelia.core.failure import PASSING
from angelia.engine.live import Compacting
from angelia.engine.log import Log
from angelia.engine.machine import Fit
from angelia.engine.state import Turn

_TRIES = 2
_WORTH_A_SUMMARY = 200
"""Tokens; what is shorter is told as well by an outline, which costs nothing."""
_SUMMARY_SHARE = 0.3
"""The share of the target that a summary may take."""


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
    """The settings of the budget: `share` of the window may be filled, `reserve` tokens are the answer's.

    `old_media` bytes of a request may be older pictures and files, whatever the window; 0 for any number.
    """

    share: float
    reserve: int
    summariser: Summariser | None = None
    old_media: int = 4_000_000


class RequestFrame(Struct, frozen=True):
    """The request that would be made now: what the model sees of the log, and what stands around it every time."""

    view: View
    system: str
    tools: tuple[ToolSpec, ...]


class Compactor:
    """Sees whether a conversation's next request fits, and what makes it fit. What stands around every request is
    measured once for each model.
    """

    def __init__(self, log: Log, space: ContextBudget) -> None:
        self._log = log
        self._space = space
        self._fixed_sizes: dict[str, Size] = {}

    def fit(self, frame: RequestFrame) -> Fit:
        """Whether the next request fits, and carries nothing that is not worth sending again."""
        return Fit.OVER if self._drags(frame) else self._in_window(frame)

    async def make_fit(self, frame: RequestFrame, turn: Turn) -> e.ViewMoved:
        """The move after which the next request fits, as it was asked for or is needed."""
        if not turn.compaction_requested and self._in_window(frame) is Fit.FITS:
            ground = self._ground(frame)
            return compaction.measured(ground, compaction.without_old_media(ground.log), "older media")
        return await self._move(self._ground(frame), turn, "asked for" if turn.compaction_requested else "fit")

    async def shrink(self, frame: RequestFrame, turn: Turn, share: float) -> e.ViewMoved:
        """The move after which the next request measures at most `share` of what it does now: the provider knows
        better than we do what fits.
        """
        return await self._move(self.ground_for(frame, share), turn, "the provider asked for less")

    def body_of(self, frame: RequestFrame) -> int:
        """The bytes of the next request's body, by our own measure."""
        return estimated_size(frame.view, self._fixed(frame)).bytes

    def tokens_of(self, frame: RequestFrame) -> int:
        """The tokens of the next request, as the provider last counted them, and estimates for the rest."""
        return request_size(frame.view, self._fixed(frame)).tokens

    def _in_window(self, frame: RequestFrame) -> Fit:
        return budget_for(self._log.entries, frame.view, self._fixed(frame), allowed_for(frame.view, self._space))

    def _drags(self, frame: RequestFrame) -> bool:
        """Whether old media are more than is worth sending each time; measured only where that is possible."""
        most = self._space.old_media
        if not most or total(frame.view.sizes).bytes <= most:
            return False
        return compaction.old_media_bytes(self._log.entries, frame.view.profile) > most

    def ground_for(self, frame: RequestFrame, share: float) -> CompactionInput:
        """The ground of a move to `share` of the next request's size."""
        ground = self._ground(frame)
        now = compaction.size_now(ground)
        less = Allowance(min(int(now.tokens * share), ground.allowed.tokens), int(now.bytes * share))
        return replace(ground, allowed=less)

    async def _move(self, ground: CompactionInput, turn: Turn, reason: str) -> e.ViewMoved:
        self._log.live.emit(Compacting())
        facts = (entry.fact for entry in reversed(self._log.entries))
        asked = next((fact for fact in facts if isinstance(fact, e.CompactionRequested)), None)
        keep = asked.keep if asked and turn.compaction_requested else ""
        return await compact(ground, self._space, reason, keep)

    def _ground(self, frame: RequestFrame) -> CompactionInput:
        log = self._log.entries
        allowed = allowed_for(frame.view, self._space)
        return CompactionInput(log, frame.view, allowed, self._fixed(frame), running_request(log))

    def _fixed(self, frame: RequestFrame) -> Size:
        name = frame.view.profile.name
        if name not in self._fixed_sizes:
            self._fixed_sizes[name] = fixed_size(frame.system, frame.tools)
        return self._fixed_sizes[name]


def allowed_for(view: View, space: ContextBudget) -> Allowance:
    """What the next request may use: a share of the smaller of the model's and the summariser's window."""
    profile, learnt = view.profile, view.learnt
    windows = [learnt.tokens, profile.window, space.summariser.window if space.summariser else 0]
    window = min((known for known in windows if known), default=0)
    usual = allowance(profile, share=space.share, reserve=space.reserve, window=window)
    sizes = [limit for limit in (usual.bytes, learnt.bytes) if limit]
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
        except ModelError as failed:
            if failed.failure.kind not in PASSING:
                break  # the same words would be refused again
            continue
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
