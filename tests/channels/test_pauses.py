"""Pauses grow up to a bound, however long an outage lasts."""

from hypothesis import given
from hypothesis import strategies as st

from angelia.channels.backoff import LONGEST, growing_pause


@given(st.floats(0.001, 60.0), st.integers(0, 1_000_000))
def test_a_pause_is_never_beyond_its_bound_nor_nothing(pause: float, failures: int) -> None:
    assert 0 < growing_pause(pause, failures) <= LONGEST


@given(st.integers(0, 10))
def test_the_shortest_pause_after_two_more_failures_is_longer(failures: int) -> None:
    assert growing_pause(0.001, failures + 2) > growing_pause(0.001, failures)
