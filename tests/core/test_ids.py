"""Identifiers sort by time, do not collide, and say the same when derived twice."""

import re

from hypothesis import given
from hypothesis import strategies as st

from angelia.core.ids import ConversationId, call_id, delivery_id, new_conversation, sortable_id

TIMES = st.integers(0, 2**48 - 1)


@given(TIMES, TIMES, st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_ids_sort_by_time_whatever_the_randomness(early: int, late: int, one: bytes, two: bytes) -> None:
    first, second = sortable_id(lambda: early, lambda _: one), sortable_id(lambda: late, lambda _: two)
    assert (first < second) == ((early, one) < (late, two))
    assert re.fullmatch(r"[0-9a-hjkmnp-tv-z]{26}", first)


def test_conversations_of_one_instant_do_not_collide() -> None:
    assert len({new_conversation(lambda: 1) for _ in range(10_000)}) == 10_000


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(0, 999), st.integers(0, 999))
def test_call_ids_differ_by_reply_and_place_and_are_legal_on_every_wire(a: int, b: int, i: int, j: int) -> None:
    assert (call_id(a, i) == call_id(b, j)) == ((a, i) == (b, j))
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call_id(a, i))


def test_the_same_thing_sent_twice_is_the_same_delivery() -> None:
    here, there = ConversationId("c1"), ConversationId("c2")
    assert delivery_id(here, "c12_0") == delivery_id(here, "c12_0")
    assert delivery_id(here, "c12_0") != delivery_id(there, "c12_0")
