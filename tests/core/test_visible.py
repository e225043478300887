"""What a terminal would obey or a person would not see becomes a sign; what writing needs stays."""

import sys
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.core.visible import visible, visible_line

LETTERS_OF_FORMAT = set("\u06dd\u070f\u08e2\u0890\u0891\U000110bd\U000110cd") | {chr(n) for n in range(0x600, 0x606)}
"""They are format characters, and seen all the same (PropList, "Prepended_Concatenation_Mark")."""
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_no_control_or_format_character_stays_alone() -> None:
    stays = {chr(n) for n in range(sys.maxunicode + 1) if visible(chr(n)) == chr(n)}
    assert {one for one in stays if category(one) in HIDDEN} == LETTERS_OF_FORMAT | {"\n", "\t"}
    assert not stays & set("\u115f\u1160\u3164\uffa0\u034f\ufe0f\U000e0100"), "letters that nobody sees"


@given(st.text())
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    once = visible(text)
    assert visible(once) == once
    assert "\n" not in visible_line(text)


@given(st.text(), st.text())
def test_what_is_cut_in_two_hides_nothing(one: str, other: str) -> None:
    assert not any(character < " " and character not in "\n\t" for character in visible(one) + visible(other))


@pytest.mark.parametrize(
    "text",
    [
        "plain\twords\nÄöü 日本語",
        "👩\u200d⚕\ufe0f 👨🏽\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 ‼\ufe0f 🏳\ufe0f\u200d🌈",
        "می\u200cخواهم",
        "क्\u200dष",
        "葛\U000e0100",
        "no\u00a0break and 全\u3000角",
    ],
)
def test_what_writing_needs_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("touch MARK #\b\b\b\bls", "touch MARK #␈␈␈␈ls"),
        ("a\u200db", "a‹U+200D›b"),
        ("rm\ufe0f", "rm‹U+FE0F›"),
        ("❤\ufe0f\ufe0f\ufe0f", "❤\ufe0f‹U+FE0F›‹U+FE0F›"),
        ("👋\U000e0041", "👋‹U+E0041›"),
        ("\u202etxt.exe", "‹U+202E›txt.exe"),
        ("\udc9b2J", "‹U+DC9B›2J"),
        ("two\r\nlines", "two␍\nlines"),
    ],
)
def test_what_hides_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown
