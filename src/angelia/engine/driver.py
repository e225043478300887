"""The only loop: ask what to do next, do it, append what came of it."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar, assert_never

from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import end_if_cancelled
from angelia.context import view as views
from angelia.context.request import ModelRequest, ToolSpec
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.crash import crash_point
from angelia.core.errors import Fenced, StoreError, no_file_left
from angelia.core.failure import AS_IT_WAS
from angelia.core.ids import Clock, sortable_id
from angelia.core.profile import Profile
from angelia.engine import machine as m
from angelia.engine.broker import Broker, find_calls
from angelia.engine.caps import time_left
from angelia.engine.compaction import Compactor, ContextBudget, RequestFrame
from angelia.engine.day_money import LOOK_AGAIN_MS, DayMoney, in_reach
from angelia.engine.endings import answer_of, closing_facts, words_to_speak
from angelia.engine.live import Resting
from angelia.engine.log import Log
from angelia.engine.model_call import Cost, ModelCall
from angelia.engine.remedies import Remedy
from angelia.engine.remedy_notices import notices_of
from angelia.engine.repairs import COMPACTED_HARDER, RemedyMeans, use_remedy
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, advance, folding
from angelia.engine.transcription import Wording, leave_unheard, not_heard, transcribe
from angelia.engine.useful_remedies import useful_remedies
from angelia.models.port import Credential, ProviderSession
from angelia.store.log.lease import Lease

T = TypeVar("T")

Refresh = Callable[[], Awaitable[tuple[Credential, ...]]]
"""Reads a vendor's keys again."""

logger = logging.getLogger("angelia.engine")

_LOST_WITH_US = (
    "An answer that has come is kept only as long as this process runs: if it ends before there is room, the model is"
    " asked, and paid, once more."
)


class BoundModel(Struct, frozen=True):
    """One model of the chain, ready to be asked. `credentials` is its pool of keys, which `refresh` renews where that
    is possible; `first_byte` is how many seconds its answer may take to begin, 0 where that is not known.
    """

    profile: Profile
    session: ProviderSession
    system: str
    tools: tuple[ToolSpec, ...]
    setup: e.SetupChanged
    credentials: tuple[Credential, ...]
    cost: Cost
    refresh: Refresh | None = None
    first_byte: float = 0.0


class Settings(Struct, frozen=True):
    """How a turn is driven. `max_output` 0 leaves an answer's length to the model. `day_money` holds the caps of the
    day, None where there are none.
    """

    rules: m.Rules = m.Rules()
    space: ContextBudget = ContextBudget(0.8, 8_192)
    max_output: int = 0
    effort: str = ""
    cache_hour: bool = False
    day_money: DayMoney | None = None


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
        self._compactor = Compactor(log, settings.space)
        self._fresh: dict[str, tuple[Credential, ...]] = {}
        self._spent_today: tuple[int, int] = (0, 0)
        self._acting: asyncio.Task[Any] | None = None
        self._until: asyncio.Timeout | None = None
        self._stopped = False

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> m.Rest:
        """Act until there is nothing to do; returns the `Rest` that was reached, whose `until` may be a time.

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
            await self._close(m.Close(end.Faulted(code, no_file_left(error))), lease)
            return m.Rest()
        finally:
            forget()

    async def catch_up(self) -> None:
        """Fold what is new in the log, a long one in slices; otherwise the next step folds it in one go."""
        self._turn = await in_slices(folding(self._turn, self._log.entries, self._settings.rules.table))
        if self._turn.opened:
            self._view = await in_slices(views.folding(self._known(), self._log.entries))

    def resting(self) -> m.Rest | None:
        """The rest that the log allows now, or None if there is something to do."""
        effect = self._decide()
        return effect if isinstance(effect, m.Rest) else None

    async def _until_rest(self, lease: Lease) -> m.Rest:
        while True:
            end_if_cancelled()
            await self.catch_up()
            if came := self._log.unstored.to(self._log.conversation, self._turn.asked):
                await self._record(came, lease)
                continue
            effect = await self._afforded(self._decide(), lease)
            if isinstance(effect, m.Rest):
                return effect
            await self._perform(effect, lease)

    async def _afforded(self, effect: m.Effect, lease: Lease) -> m.Effect:
        """The effect itself, or another in its place where a cap of the day is reached, or others may reach it.

        Raises:
            StoreFull: what it would bring may not be stored, so it is not paid for.
        """
        if not m.costs(effect, self._turn, self._settings.rules):
            return effect
        self._log.require_space()
        money = self._settings.day_money
        if money is None:
            return effect
        asks = isinstance(effect, m.AskModel)
        found = await money.put_aside(lease, await self._most() if asks else 0)
        if isinstance(found, end.BudgetSpent):
            return self._decide(reached=found)
        if found and asks:
            until = self._clock() + LOOK_AGAIN_MS
            self._live.emit(Resting(until, in_reach(found)))
            return self._decide(held_until=until)
        return effect

    async def _most(self) -> int:
        """What the next request may cost, by our estimate of its tokens and the longest answer; 0 without a price."""
        bound, settings = self._bound, self._settings
        answer = settings.max_output or bound.profile.max_output or settings.space.reserve
        usage = e.Usage(self._compactor.tokens_of(self._frame()), answer)
        return max((await bound.cost(usage)).cost, 0)

    def _decide(self, reached: end.BudgetSpent | None = None, held_until: int = 0) -> m.Effect:
        self._turn = advance(self._turn, self._log.entries, self._settings.rules.table)
        moment = m.Moment(self._clock(), *self._spent_today, reached=reached, held_until=held_until)
        if self._turn.opened:
            fit = self._compactor.fit(self._frame())
            moment = replace(moment, fit=fit, unheard=self._unheard(), helps=self._useful_remedies())
        return m.decide(self._turn, self._settings.rules, moment)

    async def _perform(self, effect: m.Effect, lease: Lease) -> None:
        match effect:
            case m.AskModel():
                bound = self._bound
                asking = ModelCall(self._log, bound.session, self._credential(bound), bound.cost, bound.first_byte)
                asked = asking.ask(effect, bound.setup, self._turn.setup, self._request, lease)
                if came := await self._interruptibly(asked):
                    await self._record(came, lease)
            case m.RunTools(calls=calls):
                running = self._broker.run(find_calls(self._log, calls), lease, answer_of(self._log, self._turn))
                await self._interruptibly(running)
            case m.Settle():
                await self._broker.settle(effect, self._turn.opener, lease)
            case m.UseRemedy():
                await self._remedy(effect, lease)
            case m.PlaceFiles(message=seq):
                await self._interruptibly(self._broker.place_files(seq, lease))
            case m.Transcribe() | m.LeaveUnheard() | m.SpeakAnswer():
                await self._hear_or_speak(effect, lease)
            case m.Compact():
                await self._log.append(await self._compactor.make_fit(self._frame(), self._turn), lease=lease)
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
            tools=tuple(tool for tool in bound.tools if tool.name not in view.learnt.tools_out),
            messages=view.messages,
            generation=view.generation,
            max_output=settings.max_output,
            effort=settings.effort,
            cache_hour=settings.cache_hour,
            without=view.learnt.without,
            body=self._compactor.body_of(RequestFrame(view, bound.system, bound.tools)),
        )

    def _seen(self) -> views.View:
        self._view = views.advance(self._known(), self._log.entries)
        return self._view

    def _known(self) -> views.View:
        """The view as far as it is folded, if it is for the model that is asked next; else an empty one."""
        return self._view if self._view.profile == self._bound.profile else views.View(self._bound.profile)

    def _frame(self) -> RequestFrame:
        return RequestFrame(self._seen(), self._bound.system, self._bound.tools)

    def _unheard(self) -> tuple[int, ...]:
        """The messages whose recordings have to be transcribed before the model is asked."""
        if not self._turn.recordings or self._wording.transcriber is None:
            return ()
        view = self._seen()
        refused = views.refused_by(view.profile.name, view.moved)
        return not_heard(self._log.entries, self._turn.recordings, view.profile, refused)

    def _useful_remedies(self) -> frozenset[Remedy]:
        """The remedies that would change the request that failed last."""
        failure = self._turn.failure
        if failure is None or failure.kind not in AS_IT_WAS:
            return frozenset()
        ground = self._compactor.ground_for(self._frame(), COMPACTED_HARDER)
        return useful_remedies(failure, ground, self._settings.rules.table)

    # -- effects ------------------------------------------------------------------------------------------------

    async def _interruptibly(self, act: Coroutine[Any, Any, T]) -> T | None:
        """What comes of something that a person may stop, and that ends with the turn's time; None if cut short."""
        self._stopped = bool(self._turn.cancelled_at)
        acting: asyncio.Task[T] = asyncio.ensure_future(act)
        self._acting = acting
        left = time_left(self._turn, self._settings.rules.limits, self._clock())
        try:
            async with asyncio.timeout(None if left is None else max(left, 0) / 1000) as self._until:
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
            self._acting = self._until = None

    def _heed(self, entries: Sequence[e.Entry]) -> None:
        """A wish to stop ends what runs at once; everything else is read at the next step.

        While what runs asks a person, the turn's time stands still.
        """
        if self._acting and any(isinstance(entry.fact, e.CancelAsked) for entry in entries):
            self._stopped = True
            self._acting.cancel()
        if any(isinstance(entry.fact, e.ApprovalAsked | e.ApprovalGiven | e.ApprovalRefused) for entry in entries):
            self._measure_again()

    def _measure_again(self) -> None:
        turn = advance(self._turn, self._log.entries, self._settings.rules.table)
        left = time_left(turn, self._settings.rules.limits, self._clock())
        if left is None or self._until is None or self._until.expired():
            return
        ends = asyncio.get_running_loop().time() + max(left, 0) / 1000
        self._until.reschedule(None if turn.waiting_since else ends)

    async def _remedy(self, effect: m.UseRemedy, lease: Lease) -> None:
        following = self._bound_models[self._turn.model_index + 1 :]
        means = RemedyMeans(
            log=self._log.entries,
            live=self._live,
            profile=self._bound.profile,
            next_model=following[0].profile.name if following else "",
            wait_until=self._clock() + int(effect.delay * _jitter()),
            refresh=self._refresh,
            shrink=lambda share: self._compactor.shrink(self._frame(), self._turn, share),
            describe=self._wording.describe,
        )
        facts = await use_remedy(effect, means)
        await self._log.append(*facts, *notices_of(effect, means.wait_until, self._turn, self._log), lease=lease)

    async def _hear_or_speak(self, effect: m.Transcribe | m.LeaveUnheard | m.SpeakAnswer, lease: Lease) -> None:
        match effect:
            case m.Transcribe(message=seq):
                assert self._wording.transcriber
                await self._interruptibly(transcribe(self._log, seq, self._wording.transcriber, lease))
            case m.LeaveUnheard(message=seq, why=why):
                await leave_unheard(self._log, seq, why, lease)
            case m.SpeakAnswer(replies=replies):
                from angelia.engine.speech import speak_answer

                assert self._wording.speaker
                words = words_to_speak(self._log.entries, self._turn, replies)
                await self._interruptibly(speak_answer(self._log, replies, words, self._wording.speaker, lease))

    async def _refresh(self) -> None:
        """Read the keys of the model again, where its vendor's can be."""
        bound = self._bound
        if bound.refresh:
            self._fresh[bound.profile.name] = await bound.refresh()

    async def _record(self, came: Sequence[e.AnyFact], lease: Lease) -> None:
        """Store what came of a request. An answer and its ending are one commit; after anything else we decide anew.

        What cannot be stored now is kept, and comes here again when the conversation is driven on.

        Raises:
            StoreError: it could not be stored; says so where it is lost with this process.
        """
        self._turn = advance(self._turn, self._log.entries, self._settings.rules.table)
        self._log.unstored.keep(self._log.conversation, self._turn.asked, came)
        at, known = self._clock(), self._log.entries
        entries = [*known, *(e.Entry(seq, at, fact) for seq, fact in enumerate(came, len(known) + 1))]
        turn = advance(self._turn, entries, self._settings.rules.table)
        effect, closing = m.decide(turn, self._settings.rules, m.Moment(at, *self._spent_today)), list[e.AnyFact]()
        if isinstance(effect, m.Close) and isinstance(effect.ending, end.Answered):
            closing = closing_facts(self._log.conversation, entries, turn, effect)
        try:
            await self._log.append(*came, *closing, lease=lease)
        except StoreError as error:
            if self._log.unstored.outlives_us(self._log.conversation):
                raise
            raise type(error)(error.what, error.why, f"{error.then} {_LOST_WITH_US}") from error
        self._log.unstored.stored(self._log.conversation)
        crash_point("model.recorded")
        if closing:
            crash_point("turn.closed")

    async def _close(self, effect: m.Close, lease: Lease) -> None:
        closing = closing_facts(self._log.conversation, self._log.entries, self._turn, effect)
        crash_point("turn.before_close")
        await self._log.append(*closing, lease=lease)
        crash_point("turn.closed")


def _jitter() -> float:
    """From 1 to 1.25, so that those who failed together do not come again together."""
    return 1 + os.urandom(1)[0] / 1020
