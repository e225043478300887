"""The beat of an idle stream, by which its reader knows that the connection still stands."""

import asyncio

BEAT_S = 10.0
"""How long somebody hears nothing before they are told that there is nothing."""
TOGETHER_S = 0.25
"""Beats that are due within it are sent in one go: to wake a process costs more than the beats of many readers."""


async def heard(news: asyncio.Event) -> bool:
    """Wait until it is set, or a beat is due; returns whether it was set."""
    try:
        async with asyncio.timeout_at(due(asyncio.get_running_loop().time())):
            await news.wait()
    except TimeoutError:
        return False
    return True


def due(now: float) -> float:
    """When somebody is told a beat who hears nothing from `now` on, both in the seconds of a loop.

    >>> due(100.3), due(100.4), due(100.5)
    (110.25, 110.25, 110.5)
    """
    return (now + BEAT_S) // TOGETHER_S * TOGETHER_S
