"""What goes on as long as its process outlives its errors, each of which is told, and ends when it is cancelled."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from angelia.core.errors import StoreBusy
from angelia.service import keep_running as module
from angelia.service.keep_running import keep_running

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between two tries."""
    monkeypatch.setattr(module, "AGAIN_S", 0.0)


class Work:
    """Fails with these, one after the other, and is then done."""

    def __init__(self, *errors: Exception) -> None:
        self.errors: Iterator[Exception] = iter(errors)
        self.begun = 0

    async def __call__(self) -> None:
        """One try."""
        self.begun += 1
        if error := next(self.errors, None):
            raise error


async def test_it_is_begun_again_after_every_error_until_it_is_done() -> None:
    work = Work(StoreBusy("It is locked."), KeyError("x"), OSError("gone"))
    await keep_running("the clock", work)
    assert work.begun == 4


async def test_each_error_is_told_once_as_long_as_it_stays_the_same(caplog: pytest.LogCaptureFixture) -> None:
    busy, fault = StoreBusy("It is locked."), KeyError("x")
    await keep_running("the clock", Work(busy, busy, fault, fault, busy))
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == ["the clock stopped"] * 3
    assert [bool(record.exc_info) for record in caplog.records] == [False, True, False], "a fault of ours says where"
    assert all(record.levelno == logging.WARNING for record in caplog.records)


async def test_cancelled_it_ends_though_an_error_takes_the_place_of_the_cancellation() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("it cannot be closed")

    task = asyncio.create_task(keep_running("the clock", work))
    await begun.wait()
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=10)
    assert done
    assert task.cancelled()
