"""How soon somebody may try again to log in: longer after each failure, told with the wait.

Two counts run at once. That of an address is strict; that of everybody together is lenient and its wait short, since
whoever fails on purpose from many addresses must not be able to keep the owner out: it only bounds how much can be
guessed. An attempt counts as failed from its beginning, so that a hundred at once are a hundred. Counts live in memory:
nobody from afar can start us anew.
"""

from collections import OrderedDict
from ipaddress import ip_address, ip_network

from msgspec import Struct

from angelia.core.ids import Clock
from angelia.faces.web.asgi.request import TooManyAttempts

_MINUTE_MS = 60 * 1000


class Backoff(Struct, frozen=True):
    """So many failures are free; then the wait is a second and doubles with each, up to `most_ms`. After `quiet_ms`
    without one all are forgotten.
    """

    free: int
    most_ms: int
    quiet_ms: int

    def wait(self, failed: int) -> int:
        """Milliseconds to wait after that many failures.

        >>> [Backoff(3, 5_000, 0).wait(failed) for failed in range(7)]
        [0, 0, 0, 1000, 2000, 4000, 5000]
        """
        over = failed - self.free
        return 0 if over < 0 else min(self.most_ms, 1000 << min(over, 20))


ADDRESS = Backoff(10, 15 * _MINUTE_MS, 24 * 60 * _MINUTE_MS)
EVERYBODY = Backoff(50, _MINUTE_MS // 2, 60 * _MINUTE_MS)
_MOST = 10_000
"""Addresses that are remembered; the one that failed longest ago goes first."""


class _Failures(Struct, frozen=True):
    count: int = 0
    last: int = 0


class LoginThrottle:
    """Counts the failures of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._addresses: OrderedDict[str, _Failures] = OrderedDict()
        self._everybody = _Failures()

    def begin(self, address: str) -> None:
        """An attempt, which counts as failed until `succeeded`.

        Raises:
            TooManyAttempts: it comes too soon, and is not looked at.
        """
        now = self._clock()
        own = self._recent(self._addresses.get(address, _Failures()), ADDRESS, now)
        all_of_them = self._recent(self._everybody, EVERYBODY, now)
        for failures, rule, whose in ((own, ADDRESS, "from this address"), (all_of_them, EVERYBODY, "from everywhere")):
            if (wait := self._left(failures, rule, now)) > 0:
                raise TooManyAttempts(failures.count, whose, wait)
        self._addresses[address] = _Failures(own.count + 1, now)
        self._addresses.move_to_end(address)
        if len(self._addresses) > _MOST:
            self._addresses.popitem(last=False)
        self._everybody = _Failures(all_of_them.count + 1, now)

    def succeeded(self, address: str) -> None:
        """It was the owner: nothing is held against their address, and this attempt against nobody."""
        self._addresses.pop(address, None)
        self._everybody = _Failures(max(0, self._everybody.count - 1), self._everybody.last)

    def _recent(self, failures: _Failures, rule: Backoff, now: int) -> _Failures:
        return failures if now - failures.last <= rule.quiet_ms else _Failures()

    def _left(self, failures: _Failures, rule: Backoff, now: int) -> int:
        """What is left of the wait; a clock that was set back makes it no longer than it was."""
        wait = rule.wait(failures.count)
        return min(wait, failures.last + wait - now)


def counted_address(client: tuple[str, int] | None) -> str:
    """The address that a request came from, as far as it is one; an IPv6 address as its network (/64), since who has
    one has all of them.

    >>> [counted_address((address, 0)) for address in ("2001:db8::1:2:3:4", "::ffff:203.0.113.9", "<b>")]
    ['2001:db8::/64', '203.0.113.9', 'unknown']
    """
    try:
        found = ip_address(client[0] if client else "")
    except ValueError:
        return "unknown"
    if found.version == 6 and found.ipv4_mapped:
        return str(found.ipv4_mapped)
    if found.version == 4 or found.is_loopback:
        return str(found)
    return str(ip_network((found, 64), strict=False))
