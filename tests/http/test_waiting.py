"""Waits that share one timer: each has its own limit, and nothing else is mistaken for its end."""

import asyncio
import gc
import weakref

import pytest

from angelia.http.deadlines import DeadlineTimer

pytestmark = pytest.mark.anyio


async def never() -> None:
    await asyncio.Event().wait()


async def at_once(what: str) -> str:
    await asyncio.sleep(0)
    return what


async def test_a_wait_ends_at_its_limit_whatever_those_before_it_had() -> None:
    patience = DeadlineTimer()
    assert await patience.wait(at_once("with an hour"), 3600.0) == "with an hour"
    with pytest.raises(TimeoutError):
        await patience.wait(never(), 0.01)
    assert await patience.wait(at_once("after it"), 3600.0) == "after it"
    with pytest.raises(TimeoutError):
        await patience.wait(never(), 0.0)


async def test_a_limit_counts_from_its_own_wait_on() -> None:
    """The timer of the first wait rings while a later one still has time, and looks again when that is over."""
    loop, patience = asyncio.get_running_loop(), DeadlineTimer()
    await patience.wait(at_once(""), 0.02)
    began = loop.time()
    with pytest.raises(TimeoutError):
        await patience.wait(never(), 0.1)
    assert loop.time() - began >= 0.1


async def test_time_between_waits_is_nobodys() -> None:
    patience, rang = DeadlineTimer(), asyncio.Event()
    await patience.wait(at_once(""), 0.01)
    asyncio.get_running_loop().call_later(0.05, rang.set)
    await rang.wait()
    assert await patience.wait(at_once("still there"), 3600.0) == "still there"


async def test_being_cancelled_is_not_a_time_out() -> None:
    begun = asyncio.Event()

    async def waits() -> None:
        begun.set()
        await DeadlineTimer().wait(never(), 3600.0)

    task = asyncio.create_task(waits())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_closed_one_is_held_by_no_timer() -> None:
    patience = DeadlineTimer()
    await patience.wait(at_once(""), 3600.0)
    patience.close()
    held = weakref.ref(patience)
    del patience
    gc.collect()
    assert held() is None
