"""Folds of long logs on the event loop: whatever else waits has its turn after every slice."""

import asyncio
from typing import TypeVar

from angelia.core.slices import SlicedFold

T = TypeVar("T")


async def in_slices(fold: SlicedFold[T]) -> T:
    """The value of a fold; a short one is folded without giving way."""
    while True:
        try:
            next(fold)
        except StopIteration as done:
            value: T = done.value
            return value
        await asyncio.sleep(0)
