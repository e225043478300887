"""From when on a machine holds it against others that they are gone."""

import pytest

from angelia.service.cluster.parts_seen_free import LOOK_MS, RENEWED_MS, PartsSeenFree
from angelia.service.cluster.shares import AGAIN_MS, DEAD_MS
from angelia.store.tables.machines import ClusterPart, ClusterState
from tests.service.machines import free, held, machine


def seen(free_ms: dict[str, int], *parts: ClusterPart) -> PartsSeenFree:
    """By a machine that has been there for an hour, at the time 0; each part free for so long, and these as well."""
    them = PartsSeenFree()
    for at in sorted({3_600_000, *range(0, 2_000, 100), *free_ms.values()}, reverse=True):
        gone = [free(name) for name, since in free_ms.items() if since >= at]
        them.look("one", ClusterState((machine("one"),), (*gone, *(parts if at == 0 else ()))), -at / 1000)
    return them


@pytest.mark.parametrize(
    ("free_ms", "wait_ms"),
    [
        ({}, LOOK_MS),
        ({"clock": 0}, LOOK_MS),
        ({"clock": DEAD_MS - 120}, 120),
        ({"clock": DEAD_MS - 120, "channel a": DEAD_MS - 20, "channel b": 0}, 20),
        ({"clock": DEAD_MS, "channel a": AGAIN_MS - 30}, 30),
        ({"clock": AGAIN_MS, "channel a": AGAIN_MS + 1}, LOOK_MS),
    ],
)
def test_who_waits_for_somebody_to_be_gone_for_long_enough_looks_just_then(
    free_ms: dict[str, int], wait_ms: int
) -> None:
    them = seen(free_ms)
    assert them.free_ms(0.0) == free_ms
    assert them.next_look_ms(0.0) == wait_ms


def test_who_sees_that_a_lease_ends_soon_looks_just_then() -> None:
    ends = ClusterPart("clock", "two", 0, held=True, given_up=False, left_ms=70)
    assert seen({}, ends).next_look_ms(0.0) == 70


def test_who_did_not_renew_a_lease_in_time_has_been_gone_for_long() -> None:
    assert seen({}, free("clock", left_ms=0, given_up=False)).free_ms(0.0) == {"clock": DEAD_MS}
    assert seen({}, free("clock", given_up=False)).free_ms(0.0) == {"clock": 0}
    assert seen({}, free("clock", left_ms=0, given_up=True)).free_ms(0.0) == {"clock": 0}
    assert seen({"clock": AGAIN_MS}, free("clock", left_ms=0, given_up=False)).free_ms(0.0) == {"clock": AGAIN_MS}


@pytest.mark.parametrize("before", [[], [-1.2], [-9.0, -8.5], [-1.2, -0.9, None, -0.5]])
def test_who_was_not_there_itself_for_a_while_does_not_hold_the_end_of_a_lease_against_anybody(
    before: list[float | None],
) -> None:
    """`None`: it was not there itself, by what is written."""
    them, overdue = PartsSeenFree(), free("clock", "two", left_ms=0, given_up=False)
    there = ClusterState((machine("one"),), (held("clock", "two"),))
    for at in before:
        them.look("one", there if at is not None else ClusterState((), there.parts), at or -0.7)
    them.look("one", ClusterState((machine("one"),), (overdue,)), 0.0)
    assert them.free_ms(0.0)["clock"] < DEAD_MS


def test_who_could_not_write_for_long_begins_to_count_once_it_is_there_again() -> None:
    parts = (free("channel a", "two", given_up=False), held("channel b", "two"))
    there, away = ClusterState((machine("one"), machine("two")), parts), ClusterState((machine("two"),), parts)
    them = PartsSeenFree()
    them.look("one", there, 5.0)
    them.look("one", there, 6.0)
    assert them.free_ms(6.0) == {"channel a": 1_000}
    them.look("one", away, 7.0)
    assert them.free_ms(7.0) == {}
    them.look("one", there, 8.0)
    assert them.free_ms(8.0) == {"channel a": 0}


def test_who_has_not_renewed_its_own_lease_lately_holds_nobody_to_theirs() -> None:
    """Where nobody can write for a while, the leases of all end one after the other."""
    them, overdue = PartsSeenFree(), free("clock", "two", left_ms=0, given_up=False)
    for at in (-1.5, -1.0, -0.5):
        them.look("one", ClusterState((machine("one"),), (held("clock", "two"),)), at)
    them.look("one", ClusterState((machine("one", left_ms=RENEWED_MS - 1),), (overdue,)), 0.0)
    assert them.free_ms(0.0) == {"clock": 0}
    them.look("one", ClusterState((machine("one", left_ms=RENEWED_MS),), (overdue,)), 0.1)
    assert them.free_ms(0.1) == {"clock": DEAD_MS}
