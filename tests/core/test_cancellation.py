"""A loop that goes on after each error ends when it is cancelled, also where cleaning up fails then."""

import asyncio
import logging

import pytest

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core.errors import NotFound

pytestmark = pytest.mark.anyio


class Faulty:
    """Something that cannot be closed, and is found broken `times` times before it is waited in."""

    def __init__(self, times: int) -> None:
        self.left, self.entered = times, asyncio.Event()

    async def use(self) -> None:
        """For ever."""
        try:
            if self.left:
                self.left -= 1
                return
            self.entered.set()
            await asyncio.Event().wait()
        finally:
            raise OSError("it cannot be closed")


async def going_on(faulty: Faulty) -> None:
    for _ in range(10):
        try:
            await faulty.use()
        except OSError:
            end_if_cancelled()


@pytest.mark.parametrize("times", [0, 3])
async def test_an_error_of_what_cleans_up_does_not_take_the_place_of_the_end(times: int) -> None:
    faulty = Faulty(times)
    task = asyncio.create_task(going_on(faulty))
    await faulty.entered.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_an_error_in_a_loop_that_nobody_cancelled_ends_nothing() -> None:
    faulty = Faulty(20)
    await going_on(faulty)
    assert faulty.left == 10


async def test_a_bound_that_ran_out_before_is_no_cancellation() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.Event().wait()
    end_if_cancelled()


async def test_what_a_task_failed_with_is_logged_when_it_is_to_end(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(error: Exception) -> None:
        raise error

    errors = KeyError("a fault of ours"), NotFound("nothing of that name")
    failed = [asyncio.create_task(fails(error)) for error in errors]
    waits = asyncio.create_task(asyncio.Event().wait())
    await asyncio.wait(failed)
    with caplog.at_level(logging.INFO):
        await cancel_and_wait(*failed, None, waits)
    assert waits.cancelled()
    fault, told = caplog.records
    assert "a fault of ours" in fault.getMessage()
    assert fault.exc_info, "where it came from"
    assert "nothing of that name" in told.getMessage()
    assert not told.exc_info
