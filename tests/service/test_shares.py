"""What falls to which machine: every part to exactly one, about as many to each, and nothing moves without need."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.service.cluster.shares import AGAIN_MS, DEAD_MS, LOOK_MS, PartsSeenFree, WorkShare, shares_of
from angelia.store.tables.machines import NO_DRAIN, ClusterPart, ClusterState, Machine

PARTS = ("clock", *(f"channel {name}" for name in "abcde"))


def machine(name: str, *wants: str, drain: int = NO_DRAIN) -> Machine:
    return Machine(name, "process 1 on x", 0, "1", frozenset(wants or PARTS), 0, drain)


def held(name: str, by: str, since: int = 0) -> ClusterPart:
    return ClusterPart(name, by, since, held=True, given_up=False, left_ms=3_000)


def free(name: str, last: str = "", *, given_up: bool = True, left_ms: int = 3_000) -> ClusterPart:
    """With a lease that was renewed: its process is gone, or given up."""
    return ClusterPart(name, last, 0, held=False, given_up=given_up, left_ms=left_ms)


def seen(free_ms: dict[str, int], *parts: ClusterPart) -> PartsSeenFree:
    """By a machine that has been there for an hour, at the time 0; each part free for so long, and these as well."""
    them = PartsSeenFree("one")
    for at in sorted({3_600_000, *range(0, 2_000, 100), *free_ms.values()}, reverse=True):
        gone = [free(name) for name, since in free_ms.items() if since >= at]
        them.look(ClusterState((machine("one"),), (*gone, *(parts if at == 0 else ()))), -at / 1000)
    return them


def test_a_part_that_was_given_up_is_taken_at_once_by_who_has_the_fewest() -> None:
    state = ClusterState((machine("one"), machine("two")), (held("clock", "one"), free("channel a", "one")))
    assert shares_of("two", state, {}) == WorkShare(take=frozenset({"channel a"}))
    assert shares_of("one", state, {}) == WorkShare()


def test_who_had_it_last_has_it_again_while_nobody_has_fewer() -> None:
    state = ClusterState((machine("one"), machine("two")), (free("channel a", "two"), held("channel b", "three")))
    assert shares_of("two", state, {}).take == {"channel a"}
    assert shares_of("one", state, {}).take == set()


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
    them, overdue = PartsSeenFree("one"), free("clock", "two", left_ms=0, given_up=False)
    there = ClusterState((machine("one"),), (held("clock", "two"),))
    for at in before:
        them.look(there if at is not None else ClusterState((), there.parts), at or -0.7)
    them.look(ClusterState((machine("one"),), (overdue,)), 0.0)
    assert them.free_ms(0.0)["clock"] < DEAD_MS


def test_who_could_not_write_for_long_begins_to_count_once_it_is_there_again() -> None:
    parts = (free("channel a", "two", given_up=False), held("channel b", "two"))
    there, away = ClusterState((machine("one"), machine("two")), parts), ClusterState((machine("two"),), parts)
    them = PartsSeenFree("one")
    them.look(there, 5.0)
    them.look(there, 6.0)
    assert them.free_ms(6.0) == {"channel a": 1_000}
    them.look(away, 7.0)
    assert them.free_ms(7.0) == {}
    them.look(there, 8.0)
    assert them.free_ms(8.0) == {"channel a": 0}


def test_somebody_has_to_be_gone_for_a_while_before_a_part_is_taken_from_them() -> None:
    state = ClusterState((machine("one"),), (free("clock", "two", given_up=False),))
    assert shares_of("one", state, {"clock": DEAD_MS - 1}) == WorkShare()
    assert shares_of("one", state, {"clock": DEAD_MS}).take == {"clock"}


def test_what_its_next_holder_does_not_take_falls_to_anybody_who_can_serve_it() -> None:
    state = ClusterState((machine("one"), machine("two"), machine("three", "clock")), (free("channel a"),))
    assert shares_of("two", state, {"channel a": AGAIN_MS - 1}) == WorkShare()
    assert shares_of("two", state, {"channel a": AGAIN_MS}).take == {"channel a"}
    assert shares_of("three", state, {"channel a": AGAIN_MS}) == WorkShare()


def test_the_clock_moves_first_and_then_the_channel_that_came_last() -> None:
    parts = (held("channel a", "one", 5), held("channel b", "one", 9), held("channel c", "one", 7))
    machines = (machine("one"), machine("two"))
    assert shares_of("one", ClusterState(machines, parts), {}).let_go == {"channel b"}
    assert shares_of("one", ClusterState(machines, (*parts, held("clock", "one"))), {}).let_go == {"clock"}


def test_one_that_drains_lets_go_of_everything_and_takes_nothing() -> None:
    state = ClusterState((machine("one", drain=60), machine("two")), (held("clock", "one"), free("channel a", "one")))
    assert shares_of("one", state, {"channel a": AGAIN_MS}) == WorkShare(let_go=frozenset({"clock"}))


def test_a_channel_that_does_not_let_one_in_goes_to_another_who_can() -> None:
    parts = (held("clock", "one"), held("channel a", "one"))
    assert shares_of("one", ClusterState((machine("one", "clock"), machine("two")), parts), {}).let_go == {"channel a"}
    nobody_else = ClusterState((machine("one", "clock"), machine("two", "clock")), (held("channel a", "one"),))
    assert shares_of("one", nobody_else, {}) == WorkShare()


@given(
    st.lists(st.sets(st.sampled_from(PARTS)), min_size=1, max_size=4),
    st.lists(st.integers(-1, 4), min_size=len(PARTS), max_size=len(PARTS)),
    st.integers(-1, 3),
)
def test_in_a_few_looks_each_part_is_held_once_and_no_machine_has_two_more_than_another(
    wants: list[set[str]], begin: list[int], draining: int
) -> None:
    machines = tuple(
        machine(f"m{number}", *(parts or PARTS), drain=60 if number == draining else NO_DRAIN)
        for number, parts in enumerate(wants)
    )
    names = [one.name for one in machines]
    holder = {part: names[at] if 0 <= at < len(names) else "" for part, at in zip(PARTS, begin, strict=True)}
    moved = 0
    for _ in range(30):
        for name in names:  # each looks for itself, one after the other
            known = tuple(held(part, who) if who else free(part) for part, who in holder.items())
            shares = shares_of(name, ClusterState(machines, known), dict.fromkeys(PARTS, DEAD_MS))
            assert all(holder[part] == name for part in shares.let_go)
            assert all(holder[part] == "" for part in shares.take)
            holder |= dict.fromkeys(shares.let_go, "") | dict.fromkeys(shares.take, name)
            moved += len(shares.let_go)
    working = [one for one in machines if one.drain == NO_DRAIN]
    for part, who in holder.items():
        able = [one.name for one in working if part in one.wants]
        assert who in able if able else who == "" or who in names
    counts = Counter(holder.values())
    if all(one.wants == frozenset(PARTS) for one in working) and working:
        numbers = [counts[one.name] for one in working]
        assert max(numbers) - min(numbers) <= 1
    assert moved <= 3 * len(PARTS)
