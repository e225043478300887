"""Text from outside is made storable, and shortened without lying about it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from angelia.core.text import clean, one_line, shorten

ANYTHING = st.text(st.characters(codec=None, exclude_categories=[]))


@given(ANYTHING)
def test_cleaned_text_can_be_stored_and_keeps_its_length(text: str) -> None:
    assert clean(text).encode("utf-8").decode("utf-8") == clean(text)
    assert len(clean(text)) == len(text)
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_good_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@given(st.text(max_size=400), st.integers(10, 300))
def test_shortened_text_counts_what_it_leaves_out(text: str, most: int) -> None:
    short = shorten(text, most)
    if len(text) <= most:
        assert short == text
        return
    head, tail = short.split(" … (", 1)[0], text[-(len(short.rsplit(" … ", 1)[1])) :]
    counted = re.search(r"\((\d+) characters left out\)", short)
    assert counted
    assert int(counted[1]) == len(text) - len(head) - len(tail)


@given(st.text(), st.integers(2, 50))
def test_one_line_is_one_short_line(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line.splitlines()) <= 1
    assert len(line) <= most
