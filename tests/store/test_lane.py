"""Jobs that wait are done together: a patient one makes nobody wait for a batch of its own, an urgent one is first."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from angelia.core.errors import StoreError
from angelia.store.port import Haste
from angelia.store.sql import worker_thread
from angelia.store.sql.worker_thread import JobFailed, WorkerThread

pytestmark = pytest.mark.anyio


class Work:
    """A lane, and the batches that it was given. It comes to so many jobs of each, and waits where it is held."""

    def __init__(self, comes_to: int = 100) -> None:
        self.batches: list[tuple[str, ...]] = []
        self.begun, self.free = threading.Event(), threading.Event()
        self.free.set()
        self.lane = WorkerThread("work", self._perform, most=100)
        self._comes_to = comes_to

    def _perform(self, jobs: Sequence[str]) -> Sequence[object]:
        self.batches.append(tuple(jobs))
        self.begun.set()
        self.free.wait()
        return jobs[: self._comes_to]

    async def hold(self, job: str) -> "asyncio.Task[object]":
        """Begin with a job, and come to its end once `free` is set."""
        self.free.clear()
        task = asyncio.create_task(self.lane.run(job))
        await asyncio.to_thread(self.begun.wait)
        return task


async def test_a_patient_job_goes_with_the_next_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_thread, "PATIENCE_S", 3600.0)
    work = Work()
    patient = asyncio.create_task(work.lane.run("receipt", Haste.PATIENT))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # a round later, when any other would have been handed over
    assert await work.lane.run("message") == "message"
    assert await patient == "receipt"
    assert work.batches == [("receipt", "message")]
    work.lane.close()


async def test_a_patient_job_is_done_though_nobody_comes() -> None:
    work = Work()
    async with asyncio.timeout(60):
        assert await work.lane.run("receipt", Haste.PATIENT) == "receipt"
    assert work.batches == [("receipt",)]
    work.lane.close()


async def test_a_patient_job_after_another_of_the_same_round_goes_with_it() -> None:
    work = Work()
    message, receipt = await asyncio.gather(work.lane.run("message"), work.lane.run("receipt", Haste.PATIENT))
    assert (message, receipt) == ("message", "receipt")
    assert work.batches == [("message", "receipt")]
    work.lane.close()


async def test_a_lane_that_closes_finishes_what_is_patient_and_takes_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_thread, "PATIENCE_S", 3600.0)
    work = Work()
    patient = asyncio.create_task(work.lane.run("receipt", Haste.PATIENT))
    await asyncio.sleep(0)
    work.lane.close()
    assert work.batches == [("receipt",)]
    assert await patient == "receipt"
    with pytest.raises(StoreError, match="closed"):
        await work.lane.run("message")


async def test_an_urgent_job_goes_before_all_that_wait() -> None:
    work = Work()
    begun = await work.hold("begun")
    waiting = [asyncio.create_task(work.lane.run(one)) for one in ("a", "b")]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    urgent = asyncio.create_task(work.lane.run("urgent", Haste.URGENT))
    await asyncio.sleep(0)
    work.free.set()
    assert await asyncio.gather(begun, *waiting, urgent) == ["begun", "a", "b", "urgent"]
    assert work.batches == [("begun",), ("urgent", "a", "b")]
    work.lane.close()


async def test_an_urgent_job_is_done_though_nobody_else_comes() -> None:
    work = Work()
    async with asyncio.timeout(60):
        assert await work.lane.run("urgent", Haste.URGENT) == "urgent"
    work.lane.close()


async def test_what_a_batch_does_not_come_to_is_done_behind_what_is_urgent_meanwhile() -> None:
    work = Work(comes_to=2)
    work.free.clear()
    waiting = [asyncio.create_task(work.lane.run(one)) for one in ("a", "b", "c", "d", "e")]
    await asyncio.to_thread(work.begun.wait)
    urgent = asyncio.create_task(work.lane.run("urgent", Haste.URGENT))
    await asyncio.sleep(0)
    work.free.set()
    assert await asyncio.gather(*waiting, urgent) == ["a", "b", "c", "d", "e", "urgent"]
    assert work.batches == [("a", "b", "c", "d", "e"), ("urgent", "c", "d", "e"), ("d", "e")]
    work.lane.close()


async def test_a_lane_that_closes_finishes_what_it_did_not_come_to() -> None:
    work = Work(comes_to=1)
    begun = await work.hold("begun")
    waiting = [asyncio.create_task(work.lane.run(one)) for one in ("a", "b")]
    await asyncio.sleep(0)
    closing = asyncio.create_task(asyncio.to_thread(work.lane.close))
    await asyncio.sleep(0)
    work.free.set()
    await closing
    assert await asyncio.gather(begun, *waiting) == ["begun", "a", "b"]


@pytest.mark.parametrize("fault", [KeyError("a"), StopIteration()], ids=repr)
async def test_whoever_waits_for_a_job_hears_of_any_fault(fault: Exception) -> None:
    def perform(jobs: Sequence[str]) -> Sequence[object]:
        return [JobFailed(fault) if job == "faults" else job for job in jobs]

    lane = WorkerThread("work", perform, most=100)
    async with asyncio.timeout(60):
        came = await asyncio.gather(*map(lane.run, ("one", "faults", "two")), return_exceptions=True)
    assert (came[0], came[2]) == ("one", "two"), "those that went with it are told, too"
    assert isinstance(came[1], BaseException)
    assert fault in (came[1], came[1].__cause__)
    lane.close()
