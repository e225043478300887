"""Tasks that end when they are cancelled, also where an error takes the place of the cancellation.

What cleans up on its way out may fail: a lease is given back to a store that says that somebody else has it, a
connection is closed that has broken. Python raises that error then instead of the cancellation, and a loop that goes on
after each error would go on for ever, and whoever awaits its end would wait as long.
"""

import asyncio
import logging
from typing import Any

from angelia.core.errors import AngeliaError

logger = logging.getLogger(__name__)


def end_if_cancelled() -> None:
    """For a loop that may have caught an error, before it goes on.

    Raises:
        asyncio.CancelledError: its task is to end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def cancel_and_wait(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel those that there are, and wait until each has `ended`."""
    there = [task for task in tasks if task is not None]
    for task in there:
        task.cancel()
    await ended(*there)


async def ended(*cancelled: asyncio.Future[Any]) -> None:
    """Wait until each of them has ended, however it did. What one had failed with before is logged: nobody else may
    have looked.
    """
    for task, came in zip(cancelled, await asyncio.gather(*cancelled, return_exceptions=True), strict=True):
        if isinstance(came, Exception):
            fault = None if isinstance(came, AngeliaError) else came
            logger.info("had failed before it was to end: %r: %s", task, came, exc_info=fault)
