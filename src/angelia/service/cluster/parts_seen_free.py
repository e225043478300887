"""Since when a machine sees that nobody holds a part, and when it had better look again."""

import math

from angelia.service.cluster.shares import AGAIN_MS, DEAD_MS
from angelia.store.tables.machines import ClusterState

LOOK_MS = 500
"""How long from one look at who has what to the next, at most."""
RENEWED_MS = 2_000
"""How long the own lease has to hold yet for others to be held to theirs: it is renewed more often than that."""


class PartsSeenFree:
    """What one machine has seen. Times are seconds of one clock.

    Who is not there itself, by what is written, could not write for so long that its lease is over: then perhaps nobody
    could, and all seem to be gone. It begins to count once it is there.

    Whose lease is over was gone for long, and counts as seen gone for `DEAD_MS`, but only for a machine that renewed
    its own meanwhile and has looked all that time: after an outage of the database nobody has, and the first one that
    is back would take everything from everybody.
    """

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._there_since = -math.inf
        self._looked = -math.inf
        self._ends_ms: list[int] = []

    def look(self, name: str, state: ClusterState, now: float) -> None:
        """Take in how the machine `name` sees it now."""
        self._ends_ms = [part.left_ms for part in state.parts if part.held]
        own_left_ms = next((one.left_ms for one in state.machines if one.name == name), 0)
        if not own_left_ms:
            self._since = {}
            self._looked = -math.inf
            return
        if now - self._looked > DEAD_MS / 1000:
            self._there_since = now
        self._looked = now
        overdue = max(self._there_since, now - DEAD_MS / 1000) if own_left_ms >= RENEWED_MS else now
        self._since = {
            part.name: min(self._since.get(part.name, now), now if part.given_up or part.left_ms else overdue)
            for part in state.parts
            if not part.held
        }

    def free_ms(self, now: float) -> dict[str, int]:
        """For how long each part has been seen held by nobody."""
        return {name: round((now - since) * 1000) for name, since in self._since.items()}

    def next_look_ms(self, now: float) -> int:
        """In how many milliseconds to look again: when a part will have been seen free for long enough to be taken by
        the one to whom it falls, or by any, or when somebody's lease ends, if that is soon.
        """
        free = self.free_ms(now).values()
        bounds = [bound - waited for waited in free for bound in (DEAD_MS, AGAIN_MS) if waited < bound]
        return max(min([LOOK_MS, *bounds, *self._ends_ms]), 1)
