"""Jobs that wait are done together, and one that is patient makes nobody wait for a batch of its own."""

import asyncio
from collections.abc import Sequence

import pytest

from angelia.core.errors import StoreError
from angelia.store.sql import worker_thread
from angelia.store.sql.worker_thread import WorkerThread

pytestmark = pytest.mark.anyio


class Work:
    """A lane, and the batches that it was given."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, ...]] = []
        self.lane = WorkerThread("work", self._perform, most=100)

    def _perform(self, jobs: Sequence[str]) -> Sequence[object]:
        self.batches.append(tuple(jobs))
        return jobs


async def test_a_patient_job_goes_with_the_next_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_thread, "PATIENCE_S", 3600.0)
    work = Work()
    patient = asyncio.create_task(work.lane.run("receipt", patient=True))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # a round later, when any other would have been handed over
    assert await work.lane.run("message") == "message"
    assert await patient == "receipt"
    assert work.batches == [("receipt", "message")]
    work.lane.close()


async def test_a_patient_job_is_done_though_nobody_comes() -> None:
    work = Work()
    async with asyncio.timeout(60):
        assert await work.lane.run("receipt", patient=True) == "receipt"
    assert work.batches == [("receipt",)]
    work.lane.close()


async def test_a_patient_job_after_another_of_the_same_round_goes_with_it() -> None:
    work = Work()
    message, receipt = await asyncio.gather(work.lane.run("message"), work.lane.run("receipt", patient=True))
    assert (message, receipt) == ("message", "receipt")
    assert work.batches == [("message", "receipt")]
    work.lane.close()


async def test_a_lane_that_closes_finishes_what_is_patient_and_takes_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_thread, "PATIENCE_S", 3600.0)
    work = Work()
    patient = asyncio.create_task(work.lane.run("receipt", patient=True))
    await asyncio.sleep(0)
    work.lane.close()
    assert work.batches == [("receipt",)]
    assert await patient == "receipt"
    with pytest.raises(StoreError, match="closed"):
        await work.lane.run("message")
