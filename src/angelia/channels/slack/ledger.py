"""Up to when everything was taken in: what came later is read from the chats after a gap."""

import asyncio

_SECOND = 1_000_000


class SlackLedger:
    """Moments are microseconds, as in Slack's `ts`. `mark` only grows, whatever order things are taken in."""

    def __init__(self, mark: int) -> None:
        self._newest = mark
        self._open: dict[object, int] = {}

    def note(self, moment: int, taken: asyncio.Future[str]) -> None:
        """A message came."""
        one = object()
        self._open[one] = moment
        self._newest = max(self._newest, moment)
        taken.add_done_callback(lambda done: None if done.cancelled() else self._open.pop(one, None))

    @property
    def mark(self) -> int:
        """The last moment before which everything was taken in."""
        return min([self._newest, *(moment - 1 for moment in self._open.values())])


def moment_of(ts: str) -> int:
    """A `ts` in microseconds; 0 if it is none.

    >>> moment_of("1503435956.000247"), ts_of(1503435956000247)
    (1503435956000247, '1503435956.000247')
    """
    seconds, _, fraction = ts.partition(".")
    if not (seconds.isdecimal() and fraction.isdecimal()):
        return 0
    return int(seconds) * _SECOND + int(fraction[:6].ljust(6, "0"))


def ts_of(moment: int) -> str:
    """The `ts` of a moment."""
    return f"{moment // _SECOND}.{moment % _SECOND:06d}"
