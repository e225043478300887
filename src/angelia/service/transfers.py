"""Bytes on their way: told about while they move, if that takes more than a second."""

import time
from collections.abc import AsyncIterator, Callable

from angelia.context.forms import size_words

PATIENCE = 1.0
"""Seconds before anybody is told."""

Told = Callable[[int, int], None]
"""Is told how many bytes have moved, and of how many."""


async def watched(content: AsyncIterator[bytes], size: int, told: Told, *, every: float = 0.2) -> AsyncIterator[bytes]:
    """`content` as it is. `told` hears of it after the first second, from then on every so many seconds, and at the
    end of what took longer than that.
    """
    done, next_at = 0, time.monotonic() + PATIENCE
    begun = False
    async for chunk in content:
        yield chunk
        done += len(chunk)
        if time.monotonic() >= next_at:
            begun, next_at = True, time.monotonic() + every
            told(done, size)
    if begun:
        told(done, size)


def in_words(what: str, say: Callable[[str], None]) -> Told:
    """Tells in words.

    >>> in_words("a.pdf", print)(12_000_000, 80_000_000)
    a.pdf: 12.0 MB of 80.0 MB
    """
    return lambda done, size: say(f"{what}: {size_words(done)} of {size_words(size)}")
