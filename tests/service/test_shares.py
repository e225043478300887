"""What falls to which machine: every part to exactly one, about as many to each, and nothing moves without need."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from angelia.service.cluster.shares import AGAIN_MS, DEAD_MS, WorkShare, shares_of
from angelia.store.tables.machines import NO_DRAIN, ClusterState
from tests.service.machines import PARTS, free, held, machine


def test_a_part_that_was_given_up_is_taken_at_once_by_who_has_the_fewest() -> None:
    state = ClusterState((machine("one"), machine("two")), (held("clock", "one"), free("channel a", "one")))
    assert shares_of("two", state, {}) == WorkShare(take=frozenset({"channel a"}))
    assert shares_of("one", state, {}) == WorkShare()


def test_who_had_it_last_has_it_again_while_nobody_has_fewer() -> None:
    state = ClusterState((machine("one"), machine("two")), (free("channel a", "two"), held("channel b", "three")))
    assert shares_of("two", state, {}).take == {"channel a"}
    assert shares_of("one", state, {}).take == set()


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
