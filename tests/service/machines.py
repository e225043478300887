"""Machines and parts of their work, as one of them reads them."""

from angelia.store.tables.machines import NO_DRAIN, ClusterPart, Machine

PARTS = ("clock", *(f"channel {name}" for name in "abcde"))


def machine(name: str, *wants: str, drain: int = NO_DRAIN, left_ms: int = 4_000) -> Machine:
    return Machine(name, "process 1 on x", 0, "1", frozenset(wants or PARTS), 0, drain, left_ms)


def held(name: str, by: str, since: int = 0) -> ClusterPart:
    return ClusterPart(name, by, since, held=True, given_up=False, left_ms=3_000)


def free(name: str, last: str = "", *, given_up: bool = True, left_ms: int = 3_000) -> ClusterPart:
    """With a lease that was renewed: its process is gone, or given up."""
    return ClusterPart(name, last, 0, held=False, given_up=given_up, left_ms=left_ms)
