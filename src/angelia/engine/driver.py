"""The only loop: ask what to do next, do it, append what came of it."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar, assert_never

from msgspec import Struct
from msgspec.structs import replace

from angelia.context import view as views
from angelia.context.budget import Allowance, Size, fixed_size
from angelia.context.compaction import CompactionInput, size_now
from angelia.context.request import ModelRequest, ToolSpec
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.crash import crash_point
from angelia.core.errors import Fenced, ModelError, StoreError
from angelia.core.ids import Clock, sortable_id
from angelia.core.profile import Profile
from angelia.engine import machine as m
from angelia.engine.broker import Broker, find_calls, finished
from angelia.engine.caps import time_left
from angelia.engine.compacting import ContextBudget, allowed_for, budget_for, compact
from angelia.engine.endings import closing_facts
from angelia.engine.live import Compacting, Resting
from angelia.engine.log import Log
from angelia.engine.model_call import Cost, ModelCall
from angelia.engine.remedies import Remedy
from angelia.engine.repairs import described, facts_for, running_request
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, advance, folding
from angelia.engine.transcription import Wording, leave_unheard, not_heard, transcribe
from angelia.models.port import Credential, ProviderSession
from angelia.store.log.lease import Lease

T = TypeVar("T")

Refresh = Callable[[], Awaitable[tuple[Credential, ...]]]
"""Reads a vendor's keys again."""

logger = logging.getLogger("angelia.engine")


_FOLDS = {Remedy.COMPACT: 0.9, Remedy.COMPACT_HARDER: 0.4}
"""Of what the refused request measured, what the next one may."""


class BoundModel(Struct, frozen=True):
    """One model of the chain, ready to be asked; `credentials` is its pool, `refresh` renews it where it can be."""

    profile: Profile
    session: ProviderSession
    system: str
    tools: tuple[ToolSpec, ...]
    setup: e.SetupChanged
    credentials: tuple[Credential, ...]
    cost: Cost
    refresh: Refresh | None = None


class Settings(Struct, frozen=True):
    """How a turn is driven. `max_output` 0 leaves an answer's length to the model."""

    rules: m.Rules = m.Rules()
    space: ContextBudget = ContextBudget(0.8, 8_192)
    max_output: int = 0
    effort: str = ""
    cache_hour: bool = False


class Driver:
    """Drives one conversation while its lease is held."""

    def __init__(
        self,
        log: Log,
        bound_models: Sequence[BoundModel],
        broker: Broker,
        settings: Settings,
        clock: Clock,
        wording: Wording = Wording(),  # noqa: B008 - a frozen value
    ) -> None:
        self._log = log
        self._bound_models = bound_models
        self._broker = broker
        self._settings = settings
        self._live = log.live
        self._clock = clock
        self._wording = wording
        self._turn = Turn()
        self._view = views.View(bound_models[0].profile)
        self._fixed_sizes: dict[str, Size] = {}
        self._fresh: dict[str, tuple[Credential, ...]] = {}
        self._spent_today: tuple[int, int] = (0, 0)
        self._acting: asyncio.Task[Any] | None = None
        self._stopped = False

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> m.Rest:
        """Go on until there is nothing to do; returns the rest that was reached, whose `until` may be a time.

        `spent_today` is (tokens, millionths of a dollar) before this turn. A fault of ours closes the turn.

        Raises:
            Fenced: somebody else drives now; nothing was done since.
            StoreError: the store failed; nothing was acknowledged since.
        """
        self._spent_today = spent_today
        forget = self._log.listen(self._heed)
        try:
            return await self._until_rest(lease)
        except (Fenced, StoreError):
            raise
        except Exception as error:
            code = sortable_id(self._clock)[-8:]
            logger.exception("turn faulted, code %s", code, exc_info=error)
            self._turn = advance(self._turn, self._log.entries, self._settings.rules.table)
            await self._close(m.Close(end.Faulted(code)), lease)
            return m.Rest()
        finally:
            forget()

    async def catch_up(self) -> None:
        """Fold what is new of the log, a long one in slices; without it the next step does that, at once."""
        self._turn = await in_slices(folding(self._turn, self._log.entries, self._settings.rules.table))
        if self._turn.opened:
            self._view = await in_slices(views.folding(self._known(), self._log.entries))

    def resting(self) -> m.Rest | None:
        """The rest that the log allows now, or None if there is something to do."""
        effect = self._decide()
        return effect if isinstance(effect, m.Rest) else None

    async def _until_rest(self, lease: Lease) -> m.Rest:
        while True:
            await self.catch_up()
            effect = self._decide()
            if isinstance(effect, m.Rest):
                return effect
            await self._perform(effect, lease)

    def _decide(self) -> m.Effect:
        self._turn = advance(self._turn, self._log.entries, self._settings.rules.table)
        measured = (self._fit(), self._unheard()) if self._turn.opened else ()
        return m.decide(self._turn, self._settings.rules, m.Moment(self._clock(), *self._spent_today, *measured))

    async def _perform(self, effect: m.Effect, lease: Lease) -> None:
        match effect:
            case m.AskModel():
                bound = self._bound
                asking = ModelCall(self._log, self._live, bound.session, self._credential(bound), bound.cost)
                asked = asking.ask(effect, bound.setup, self._turn.setup, self._request, lease)
                if came := await self._interruptibly(asked):
                    await self._record(came, lease)
            case m.RunTools(calls=calls):
                await self._interruptibly(self._broker.run(find_calls(self._log, calls), lease))
            case m.Settle(calls=calls, status=status, why=why):
                found = find_calls(self._log, calls)
                await self._log.append(*(finished(call, status, why) for call in found), lease=lease)
            case m.UseRemedy():
                await self._remedy(effect, lease)
            case m.PlaceFiles(message=seq):
                await self._interruptibly(self._broker.place_files(seq, lease))
            case m.Transcribe(message=seq):
                assert self._wording.transcriber
                await self._interruptibly(transcribe(self._log, seq, self._wording.transcriber, lease))
            case m.LeaveUnheard(message=seq, why=why):
                await leave_unheard(self._log, seq, why, lease)
            case m.Compact():
                reason = "asked for" if self._turn.compaction_requested else "room"
                await self._log.append(await self._move(reason), lease=lease)
            case m.Close():
                await self._close(effect, lease)
            case m.Rest():
                return
            case _:
                assert_never(effect)

    # -- who is asked, and with what ---------------------------------------------------------------------------

    @property
    def _bound(self) -> BoundModel:
        return self._bound_models[min(self._turn.model_index, len(self._bound_models) - 1)]

    def _credential(self, bound: BoundModel) -> Credential:
        pool = self._fresh.get(bound.profile.name) or bound.credentials
        return pool[self._turn.credential_index % len(pool)]

    def _request(self) -> ModelRequest:
        """The request that the log asks for now: a function of the log and its setup alone."""
        bound, view, settings = self._bound, self._seen(), self._settings
        return ModelRequest(
            profile=bound.profile,
            system=bound.system,
            tools=bound.tools,
            messages=view.messages,
            generation=view.generation,
            max_output=settings.max_output,
            effort=settings.effort,
            cache_hour=settings.cache_hour,
        )

    def _seen(self) -> views.View:
        self._view = views.advance(self._known(), self._log.entries)
        return self._view

    def _known(self) -> views.View:
        """What is folded already for the model that is asked next."""
        return self._view if self._view.profile == self._bound.profile else views.View(self._bound.profile)

    def _fixed(self) -> Size:
        bound = self._bound
        if bound.profile.name not in self._fixed_sizes:
            self._fixed_sizes[bound.profile.name] = fixed_size(bound.system, bound.tools)
        return self._fixed_sizes[bound.profile.name]

    def _allowed(self) -> Allowance:
        return allowed_for(self._seen(), self._settings.space)

    def _unheard(self) -> tuple[int, ...]:
        """The messages whose recordings are to be written down before the model is asked."""
        if not self._turn.recordings or self._wording.transcriber is None:
            return ()
        view = self._seen()
        refused = views.refused_by(view.profile.name, view.moved)
        return not_heard(self._log.entries, self._turn.recordings, view.profile, refused)

    def _fit(self) -> m.Fit:
        return budget_for(self._log.entries, self._seen(), self._fixed(), self._allowed())

    async def _move(self, reason: str, share: float = 1.0) -> e.ViewMoved:
        """The move before the next request; `share` is of what it measures now, where the provider knows better."""
        log = self._log.entries
        ground = CompactionInput(log, self._seen(), self._allowed(), self._fixed(), running_request(log))
        if share < 1.0:
            now = size_now(ground)
            less = Allowance(min(int(now.tokens * share), ground.allowed.tokens), int(now.bytes * share))
            ground = replace(ground, allowed=less)
        self._live.emit(Compacting())
        asked = next((x.fact for x in reversed(log) if isinstance(x.fact, e.CompactionRequested)), None)
        keep = asked.keep if asked and self._turn.compaction_requested else ""
        return await compact(ground, self._settings.space, reason, keep)

    # -- effects ------------------------------------------------------------------------------------------------

    async def _interruptibly(self, act: Coroutine[Any, Any, T]) -> T | None:
        """What comes of something that a person may stop, and that ends with the turn's time; None if it is cut."""
        self._stopped = bool(self._turn.cancelled_at)
        acting: asyncio.Task[T] = asyncio.ensure_future(act)
        self._acting = acting
        left = time_left(self._turn, self._settings.rules.limits, self._clock())
        try:
            async with asyncio.timeout(None if left is None else max(left, 0) / 1000):
                return await acting
        except TimeoutError:
            return None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._stopped or (task and task.cancelling()):
                acting.cancel()
                raise
            return None
        finally:
            self._acting = None

    def _heed(self, entries: Sequence[e.Entry]) -> None:
        """A wish to stop ends what runs at once; everything else is read at the next step."""
        if self._acting and any(isinstance(entry.fact, e.CancelAsked) for entry in entries):
            self._stopped = True
            self._acting.cancel()

    async def _remedy(self, effect: m.UseRemedy, lease: Lease) -> None:
        choice, bound = effect.choice, self._bound
        until, detail = 0, ""
        match choice.remedy:
            case Remedy.WAIT:
                until = self._clock() + int(effect.delay * random.uniform(1.0, 1.25))  # noqa: S311 - jitter
                self._live.emit(Resting(until, effect.failure.said or str(effect.failure.kind)))
            case Remedy.REFRESH_CREDENTIAL if bound.refresh:
                self._fresh[bound.profile.name] = await bound.refresh()
            case Remedy.NEXT_MODEL:
                detail = self._bound_models[self._turn.model_index + 1].profile.name
            case _:
                pass
        more = facts_for(effect, self._log.entries, bound.profile)
        if choice.remedy in _FOLDS:
            more = [await self._move("the provider asked for less", _FOLDS[choice.remedy])]
        elif choice.remedy is Remedy.DESCRIBE and self._wording.describe:
            try:
                more = [await described(self._log.entries, self._wording.describe)]
            except ModelError as failed:
                detail = f"the describing model failed: {failed}"
        used = e.RemedyUsed(choice.failure, choice.remedy, until=until, detail=detail)
        await self._log.append(used, *more, lease=lease)

    async def _record(self, came: Sequence[e.AnyFact], lease: Lease) -> None:
        """What came of a request. An answer and its ending are one commit; anything else is decided on anew."""
        at, known = self._clock(), self._log.entries
        entries = [*known, *(e.Entry(seq, at, fact) for seq, fact in enumerate(came, len(known) + 1))]
        turn = advance(self._turn, entries, self._settings.rules.table)
        effect, closing = m.decide(turn, self._settings.rules, m.Moment(at, *self._spent_today)), list[e.AnyFact]()
        if isinstance(effect, m.Close) and isinstance(effect.ending, end.Answered):
            closing = closing_facts(self._log.conversation, entries, turn, effect)
        await self._log.append(*came, *closing, lease=lease)
        crash_point("model.recorded")
        if closing:
            crash_point("turn.closed")

    async def _close(self, effect: m.Close, lease: Lease) -> None:
        closing = closing_facts(self._log.conversation, self._log.entries, self._turn, effect)
        crash_point("turn.before_close")
        await self._log.append(*closing, lease=lease)
        crash_point("turn.closed")
