"""Which machine is to have which part of the work, so that each has about as many: the same answer on every machine.

There is nobody who decides for the others. Each looks at the same rows and finds what falls to it: a part that nobody
holds falls to whoever had it last, if that one has not too much, since files of its chats lie there; else to the one
that has the fewest. A machine lets go of a part when another one has two fewer. That two find different answers, having
looked at different moments, does no harm: the store lets one of them have it.
"""

from collections import Counter

from msgspec import Struct

from angelia.store.tables.machines import CLOCK, NO_DRAIN, ClusterPart, ClusterState, Machine

AGAIN_MS = 1_500
"""How long a part may lie there for the one to whom it falls, who may still begin another one; after that whoever can
serve it takes it.
"""
DEAD_MS = 1_000
"""How long somebody has to be seen gone before a part is taken from them: after a restart of the database everybody's
sessions are away for a moment, and everybody would take everything from everybody.
"""


class WorkShare(Struct, frozen=True):
    """What a machine is to do now."""

    take: frozenset[str] = frozenset()
    let_go: frozenset[str] = frozenset()


def shares_of(name: str, state: ClusterState, free_ms: dict[str, int]) -> WorkShare:
    """What falls to the machine `name`. `free_ms` is for how long each part has been seen held by nobody."""
    working = {one.name: one for one in state.machines if one.drain == NO_DRAIN}
    counts = Counter(dict.fromkeys(working, 0))
    counts.update(part.machine for part in state.parts if part.held and part.machine in working)
    mine = [part for part in state.parts if part.held and part.machine == name]
    if name not in working:
        return WorkShare(let_go=frozenset(part.name for part in mine))
    return WorkShare(_falls_to(name, working, counts, state, free_ms), _too_much(name, working, counts, mine))


def _falls_to(
    name: str, working: dict[str, Machine], counts: Counter[str], state: ClusterState, free_ms: dict[str, int]
) -> frozenset[str]:
    found = set()
    counts = Counter(counts)
    for part in state.parts:
        able = [one for one in working if part.name in working[one].wants]
        waited = free_ms.get(part.name, 0)
        if part.held or not able or waited < (0 if part.given_up else DEAD_MS):
            continue
        next_one = _next(part, able, counts)
        counts[next_one] += 1
        if next_one == name or (name in able and waited >= AGAIN_MS):
            found.add(part.name)
    return frozenset(found)


def _next(part: ClusterPart, able: list[str], counts: Counter[str]) -> str:
    fewest = min(counts[one] for one in able)
    if part.machine in able and counts[part.machine] == fewest:
        return part.machine
    return min(one for one in able if counts[one] == fewest)


def _too_much(name: str, working: dict[str, Machine], counts: Counter[str], mine: list[ClusterPart]) -> frozenset[str]:
    """One at a time: what it cannot serve, if another one can; then the clock, with which no connection goes; then the
    channel that it has had for the shortest time.
    """
    wants = working[name].wants
    for part in sorted(mine, key=lambda part: (part.name in wants, part.name != CLOCK, -part.since)):
        others = [one for one in working if one != name and part.name in working[one].wants]
        if others and (part.name not in wants or counts[name] - min(counts[one] for one in others) >= 2):
            return frozenset({part.name})
    return frozenset()
