"""A thread that works through a queue, several jobs at a time, for event loops that await the outcomes."""

import asyncio
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from angelia.core.errors import StoreClosed
from angelia.store.port import Haste

J = TypeVar("J")


REST_S = 1.0
"""Seconds without a job after which a thread is at rest."""
PATIENCE_S = 0.005
"""Seconds for which a patient job waits for company."""


class JobFailed(Struct, frozen=True):
    """The outcome of a job that raised."""

    error: BaseException


class _Waiting(NamedTuple, Generic[J]):
    job: J
    future: asyncio.Future[object]


class _Load(NamedTuple, Generic[J]):
    """What one loop hands over at once."""

    loop: AbstractEventLoop
    waiting: list[_Waiting[J]]


class WorkerThread(Generic[J]):
    """Jobs go in from any event loop; `perform` gets those that wait, in order, and returns an outcome for each, or for
    as many as it came to, one at least: it gets the others again, behind those that are urgent.

    The thread starts with the first job. `perform` gets no more loads at once than come to about `most` jobs. `at_rest`
    is called once when there was nothing to do for `REST_S`.
    Cancelling the wait does not take a job back: it may be done or not.
    """

    def __init__(
        self,
        name: str,
        perform: Callable[[Sequence[J]], Sequence[object]],
        *,
        most: int,
        at_rest: Callable[[], None] | None = None,
    ) -> None:
        self._name = name
        self._perform = perform
        self._at_rest = at_rest
        self._most = most
        self._queue: SimpleQueue[_Load[J] | None] = SimpleQueue()
        self._urgent: SimpleQueue[_Load[J]] = SimpleQueue()
        self._left: list[_Load[J]] = []
        """What `perform` did not come to."""
        self._gathered: dict[AbstractEventLoop, list[_Waiting[J]]] = {}
        self._patient: set[AbstractEventLoop] = set()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, job: J, haste: Haste = Haste.USUAL) -> object:
        """The outcome of `job`, once the batch that it went with is done; one that is patient waits for `PATIENCE_S`.

        Raises:
            StoreClosed: the thread is closed. And whatever the job raises.
        """
        if self._closed:
            raise StoreClosed("The store is already closed; nothing was read or written.")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(job, loop.create_future())
        if haste is Haste.URGENT:
            self._urgent.put(_Load(loop, [waiting]))
            self._put(_Load(loop, []))  # rings
            return await waiting.future
        patient = haste is Haste.PATIENT
        gathered = self._gathered.setdefault(loop, [])
        if not gathered and patient:
            self._patient.add(loop)
            loop.call_later(PATIENCE_S, self._hand_over, loop)
        elif not patient and (not gathered or loop in self._patient):
            # Handing over at the end of the loop's round makes one batch of all that its tasks ask for in it, and
            # keeps the two threads from fighting over the interpreter: five times the throughput at 50 tasks.
            self._patient.discard(loop)
            loop.call_soon(self._hand_over, loop)
        gathered.append(waiting)
        return await waiting.future

    def close(self) -> None:
        """Finish what was asked for, then end the thread."""
        self._closed = True
        for loop in list(self._gathered):
            self._hand_over(loop)
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _hand_over(self, loop: AbstractEventLoop) -> None:
        self._patient.discard(loop)
        if waiting := self._gathered.pop(loop, None):
            self._put(_Load(loop, waiting))

    def _put(self, load: _Load[J]) -> None:
        self._queue.put(load)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        last = False
        while not last and (first := self._next()) is not None:
            last = self._drain(first)
            self._perform_some()
            while self._left:
                last = self._drain(_Load(first.loop, [])) or last
                self._perform_some()

    def _perform_some(self) -> None:
        jobs = [waiting.job for load in self._left for waiting in load.waiting]
        try:
            outcomes = self._perform(jobs) if jobs else []
        except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it; the thread must go on
            outcomes = [JobFailed(error)] * len(jobs)
        done, self._left = _divided(self._left, len(outcomes))
        _hand_back(done, outcomes)

    def _next(self) -> _Load[J] | None:
        if self._at_rest is not None:
            try:
                return self._queue.get(timeout=REST_S)
            except Empty:
                self._at_rest()
        return self._queue.get()

    def _drain(self, first: _Load[J]) -> bool:
        """Let what is urgent be done first, and some more with what is left; whether nothing comes any more."""
        self._left = [*self._left, first]
        count = sum(len(load.waiting) for load in self._left)
        last = False
        while count < self._most and not last:
            try:
                load = self._queue.get_nowait()
            except Empty:
                break
            if load is None:
                last = True
            else:
                self._left.append(load)
                count += len(load.waiting)
        urgent = []
        with suppress(Empty):
            while True:
                urgent.append(self._urgent.get_nowait())
        self._left = [*urgent, *self._left]
        return last


def _divided(loads: Sequence[_Load[J]], count: int) -> tuple[list[_Load[J]], list[_Load[J]]]:
    """Those of the first so many jobs, and the others."""
    done, left = list[_Load[J]](), list[_Load[J]]()
    for loop, waiting in loads:
        ours, count = waiting[:count], max(count - len(waiting), 0)
        for part, into in ((ours, done), (waiting[len(ours) :], left)):
            if part:
                into.append(_Load(loop, part))
    return done, left


def _hand_back(loads: Sequence[_Load[J]], outcomes: Sequence[object]) -> None:
    start = 0
    for load in loads:
        end = start + len(load.waiting)
        try:
            load.loop.call_soon_threadsafe(_settle, load.waiting, outcomes[start:end])
        except RuntimeError:
            if not load.loop.is_closed():  # a closed loop has nobody left who waits
                raise
        start = end


def _raisable(error: BaseException) -> BaseException:
    """An error as a future can hold it. A `StopIteration` it refuses, so that whoever waits would wait for ever; in a
    coroutine it is a `RuntimeError` as well (PEP 479).
    """
    if not isinstance(error, StopIteration):
        return error
    told = RuntimeError("a job raised StopIteration")
    told.__cause__ = error
    return told


def _settle(waiting: Sequence[_Waiting[J]], outcomes: Sequence[object]) -> None:
    for (_, future), outcome in zip(waiting, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, JobFailed):
            future.set_exception(_raisable(outcome.error))
        else:
            future.set_result(outcome)
