"""What is waited for, since when or until when, and how to stop it, in words."""

import time

from angelia.engine.live import Awaiting, Resting


def awaiting_words(event: Awaiting, stop: str) -> str:
    """A request of which nothing has come; `stop` is what ends it at this door."""
    end = f", until {_clock(event.until)} at most" if event.until else ""
    return f"waiting for {event.model} since {_clock(event.since)}{end}; {stop}"


def resting_words(event: Resting, stop: str) -> str:
    """A wait before the model is asked again, with its end where that is known."""
    if event.until <= time.time() * 1000 + 1000:
        return f"waiting: {event.why}"
    span = _span(event.until / 1000 - time.time())
    return f"waiting until {_clock(event.until)} ({span}): {event.why.rstrip('.')}; {stop}"


def _clock(moment: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment / 1000))


def _span(seconds: float) -> str:
    """A span as people say it.

    >>> [_span(seconds) for seconds in (2.2, 59, 61, 900)]
    ['3 s', '59 s', '2 min', '15 min']
    """
    return f"{-(-seconds // 1):.0f} s" if seconds < 60 else f"{-(-seconds // 60):.0f} min"
