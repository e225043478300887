"""The only loop: ask what to do next, do it, append what came of it."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from angelia.context import view as views
from angelia.context.budget import Allowance, Size, fixed_size
from angelia.context.compaction import Ground, size_now
from angelia.context.request import ModelRequest, ToolSpec
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.crash import crash_point
from angelia.core.errors import Fenced, ModelFailed, StoreError
from angelia.core.ids import Clock, delivery_id, sortable_id
from angelia.core.profile import Profile
from angelia.core.sentences import sentence
from angelia.engine import machine as m
from angelia.engine.asking import Asking, Cost
from angelia.engine.caps import time_left
from angelia.engine.closing import closing_words
from angelia.engine.hearing import Wording, leave_unheard, not_heard, transcribe
from angelia.engine.live import MakingRoom, Resting
from angelia.engine.log import Log
from angelia.engine.remedies import Remedy
from angelia.engine.repairs import closing_move, described, facts_for, running_request
from angelia.engine.roommaking import Space, allowed_for, make_room, room_for
from angelia.engine.state import Turn, advance
from angelia.engine.toolrun import Broker, find_calls, finished
from angelia.models.port import Credential, Session
from angelia.store.lease import Lease

Refresh = Callable[[], Awaitable[tuple[Credential, ...]]]
"""Reads a vendor's keys again."""

logger = logging.getLogger("angelia.engine")


_FOLDS = {Remedy.COMPACT: 0.9, Remedy.COMPACT_HARDER: 0.4}
"""Of what the refused request measured, what the next one may."""


class Seat(Struct, frozen=True):
    """One model of the chain, ready to be asked; `credentials` is its pool, `refresh` renews it where it can be."""

    profile: Profile
    session: Session
    system: str
    tools: tuple[ToolSpec, ...]
    setup: e.SetupChanged
    credentials: tuple[Credential, ...]
    cost: Cost
    refresh: Refresh | None = None


class Settings(Struct, frozen=True):
    """How a turn is driven. `max_output` 0 leaves an answer's length to the model."""

    rules: m.Rules = m.Rules()
    space: Space = Space(0.8, 8_192)
    max_output: int = 0
    effort: str = ""
    cache_hour: bool = False


class Driver:
    """Drives one conversation while its lease is held."""

    def __init__(
        self,
        log: Log,
        seats: Sequence[Seat],
        broker: Broker,
        settings: Settings,
        clock: Clock,
        wording: Wording = Wording(),  # noqa: B008 - a frozen value
    ) -> None:
        self._log, self._seats, self._broker, self._settings = log, seats, broker, settings
        self._live, self._clock, self._wording = log.live, clock, wording
        self._turn = Turn()
        self._view = views.View(seats[0].profile)
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

    def resting(self) -> m.Rest | None:
        """The rest that the log allows now, or None if there is something to do."""
        effect = self._decide()
        return effect if isinstance(effect, m.Rest) else None

    async def _until_rest(self, lease: Lease) -> m.Rest:
        while True:
            effect = self._decide()
            if isinstance(effect, m.Rest):
                return effect
            await self._perform(effect, lease)

    def _decide(self) -> m.Effect:
        self._turn = advance(self._turn, self._log.entries, self._settings.rules.table)
        tokens, cost = self._spent_today
        moment = m.Moment(self._clock(), tokens, cost, self._room(), self._unheard())
        return m.decide(self._turn, self._settings.rules, moment)

    async def _perform(self, effect: m.Effect, lease: Lease) -> None:
        match effect:
            case m.AskModel():
                seat = self._seat
                asking = Asking(self._log, self._live, seat.session, self._credential(seat), seat.cost)
                await self._interruptibly(asking.ask(effect, seat.setup, self._turn.setup, self._request, lease))
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
            case m.MakeRoom():
                reason = "asked for" if self._turn.room_asked else "room"
                await self._log.append(await self._move(reason), lease=lease)
            case m.Close():
                await self._close(effect, lease)
            case m.Rest():
                return
            case _:
                assert_never(effect)

    # -- who is asked, and with what ---------------------------------------------------------------------------

    @property
    def _seat(self) -> Seat:
        return self._seats[min(self._turn.model_index, len(self._seats) - 1)]

    def _credential(self, seat: Seat) -> Credential:
        pool = self._fresh.get(seat.profile.name) or seat.credentials
        return pool[self._turn.credential_index % len(pool)]

    def _request(self) -> ModelRequest:
        """The request that the log asks for now: a function of the log and its setup alone."""
        seat, view, settings = self._seat, self._seen(), self._settings
        return ModelRequest(
            profile=seat.profile,
            system=seat.system,
            tools=seat.tools,
            messages=view.messages,
            generation=view.generation,
            max_output=settings.max_output,
            effort=settings.effort,
            cache_hour=settings.cache_hour,
        )

    def _seen(self) -> views.View:
        if self._view.profile != self._seat.profile:
            self._view = views.View(self._seat.profile)
        self._view = views.advance(self._view, self._log.entries)
        return self._view

    def _fixed(self) -> Size:
        seat = self._seat
        if seat.profile.name not in self._fixed_sizes:
            self._fixed_sizes[seat.profile.name] = fixed_size(seat.system, seat.tools)
        return self._fixed_sizes[seat.profile.name]

    def _allowed(self) -> Allowance:
        return allowed_for(self._seen(), self._settings.space)

    def _unheard(self) -> tuple[int, ...]:
        """The messages whose recordings are to be written down before the model is asked."""
        if not self._turn.recordings or self._wording.transcriber is None:
            return ()
        view = self._seen()
        refused = views.refused_by(view.profile.name, view.moved)
        return not_heard(self._log.entries, self._turn.recordings, view.profile, refused)

    def _room(self) -> m.Room:
        return room_for(self._log.entries, self._seen(), self._fixed(), self._allowed())

    async def _move(self, reason: str, share: float = 1.0) -> e.ViewMoved:
        """The move that makes room; `share` is of what the request measures now, where the provider knows better."""
        log = self._log.entries
        ground = Ground(log, self._seen(), self._allowed(), self._fixed(), running_request(log))
        if share < 1.0:
            now = size_now(ground)
            less = Allowance(min(int(now.tokens * share), ground.allowed.tokens), int(now.bytes * share))
            ground = replace(ground, allowed=less)
        self._live.emit(MakingRoom())
        asked = next((x.fact for x in reversed(log) if isinstance(x.fact, e.RoomAsked)), None)
        keep = asked.keep if asked and self._turn.room_asked else ""
        return await make_room(ground, self._settings.space, reason, keep)

    # -- effects ------------------------------------------------------------------------------------------------

    async def _interruptibly(self, act: Coroutine[Any, Any, None]) -> None:
        """Do something that a person may stop, and that ends with the turn's time."""
        self._stopped = bool(self._turn.cancelled_at)
        self._acting = asyncio.ensure_future(act)
        limits = self._settings.rules.limits
        left = time_left(self._turn, limits, self._clock())
        try:
            async with asyncio.timeout(None if left is None else max(left, 0) / 1000):
                await self._acting
        except TimeoutError:
            return
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._stopped or (task and task.cancelling()):
                self._acting.cancel()
                raise
        finally:
            self._acting = None

    def _heed(self, entries: Sequence[e.Entry]) -> None:
        """A wish to stop ends what runs at once; everything else is read at the next step."""
        if self._acting and any(isinstance(entry.fact, e.CancelAsked) for entry in entries):
            self._stopped = True
            self._acting.cancel()

    async def _remedy(self, effect: m.UseRemedy, lease: Lease) -> None:
        choice, seat = effect.choice, self._seat
        until, detail = 0, ""
        match choice.remedy:
            case Remedy.WAIT:
                until = self._clock() + int(effect.delay * random.uniform(1.0, 1.25))  # noqa: S311 - jitter
                self._live.emit(Resting(until, effect.failure.said or str(effect.failure.kind)))
            case Remedy.REFRESH_CREDENTIAL if seat.refresh:
                self._fresh[seat.profile.name] = await seat.refresh()
            case Remedy.NEXT_MODEL:
                detail = self._seats[self._turn.model_index + 1].profile.name
            case _:
                pass
        more = facts_for(effect, self._log.entries, seat.profile)
        if choice.remedy in _FOLDS:
            more = [await self._move("the provider asked for less", _FOLDS[choice.remedy])]
        elif choice.remedy is Remedy.DESCRIBE and self._wording.describe:
            try:
                more = [await described(self._log.entries, self._wording.describe)]
            except ModelFailed as failed:
                detail = f"the describing model failed: {failed}"
        used = e.RemedyUsed(choice.failure, choice.remedy, until=until, detail=detail)
        await self._log.append(used, *more, lease=lease)

    async def _close(self, effect: m.Close, lease: Lease) -> None:
        """The ending and the delivery of its sentence in one commit: a turn cannot end in silence."""
        opened = self._turn.opened
        closed = e.TurnClosed(effect.ending)
        facts: list[e.AnyFact] = [closed]
        said = next((x.fact for x in self._log.entries if x.seq == opened), None)
        if isinstance(said, e.UserSaid):
            origin = "answer" if isinstance(effect.ending, end.Answered) else "ending"
            name = delivery_id(self._log.conversation, f"t{opened}")
            facts.append(
                e.DeliveryQueued(
                    name, said.address, closing_words(self._log.entries, self._turn, effect), origin, said.reply_to
                )
            )
        if moved := closing_move(self._log.entries, effect.ending, opened):
            facts.insert(0, moved)
        if not isinstance(effect.ending, end.Answered) or effect.ending.note:
            logger.warning("turn %s of %s ended: %s", opened, self._log.conversation, sentence(effect.ending))
        crash_point("turn.before_close")
        await self._log.append(*facts, lease=lease)
        crash_point("turn.closed")
