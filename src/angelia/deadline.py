"""A bound on how long something may take, for clean-up: it holds in a task that was cancelled, too.

`asyncio.timeout` does not: up to Python 3.11.2 its end is told there as a cancellation (CPython's gh-102780), so that
what comes behind it is never done. And `asyncio.wait_for` of 3.11 loses a cancellation that comes as the work ends.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from angelia.cancellation import cancel_and_wait

T = TypeVar("T")


async def within(seconds: float, work: Awaitable[T]) -> T:
    """What it comes to; what is not done by then is cancelled, and waited for.

    Raises:
        TimeoutError: it was not done. And whatever it raises itself.
    """
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait([doing], timeout=seconds)
        if not doing.done():
            raise TimeoutError(f"It was not done within {seconds:g} s.")
    except BaseException:
        await cancel_and_wait(doing)
        raise
    return doing.result()
