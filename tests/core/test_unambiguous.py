"""Nothing hides in a text that somebody says yes to, and no two texts look the same for what they hide."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.core.unambiguous import claimed, readable, unambiguous, unambiguous_line

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
BLANK = "\u034f\u115f\u1160\u17b4\u2800\u3164\uffa0\ufe0f\U000e0101\u180b"


def test_no_control_format_or_blank_character_gets_through() -> None:
    hidden = [letter for letter in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(letter) in HIDDEN]
    hidden = [*(letter for letter in hidden if letter not in "\n "), *BLANK]
    shown = set(unambiguous("".join(hidden)))
    assert [f"U+{ord(letter):04X}" for letter in hidden if letter in shown] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la\nrm x", "ls -la\nrm x"),
        ("touch MARK #\b\bls", "touch MARK #␈␈ls"),
        ("a\tb\r\x1b[2K", "a␉b␍␛[2K"),
        ("a\x7f\x9b", "a␡⟨U+009B⟩"),
        ("\u202eabc\u2066\u200b\ufeff", "⟨U+202E⟩abc⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩"),
        ("a\u00a0b\u3000", "a⟨U+00A0⟩b⟨U+3000⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("␈ and ⟨U+202E⟩", "⟨U+2408⟩ and ⟨U+27E8⟩U+202E⟩"),
        ("rm x  \nls ", "rm x␠␠\nls␠"),
        ("ls" + " " * 40 + "; rm x", "ls" + "␠" * 40 + "; rm x"),
        ("ls\n\n\n\n\nrm x", "ls" + "␤\n" * 5 + "rm x"),
        ("ls\n", "ls␤"),
        ("e\u0301" + "\u0336" * 9, "e\u0301\u0336\u0336\u0336" + "⟨U+0336⟩" * 6),
        ("Ærlig, 你好, עברית, ❤", "Ærlig, 你好, עברית, ❤"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert unambiguous(text) == shown


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\n ␈⟨⟩␠␤\b\u202e`")), max_size=30))
def test_two_texts_never_look_the_same(text: str) -> None:
    assert original(unambiguous(text)) == text


def original(shown: str) -> str:
    """The text that is shown so."""
    found, at = [], 0
    while at < len(shown):
        letter = shown[at]
        if letter == "⟨":
            end = shown.index("⟩", at)
            found.append(chr(int(shown[at + 3 : end], 16)))
            at = end + 1
            continue
        code = ord(letter)
        if letter == "␤":
            found.append("\n")
            at += 1 + (shown[at + 1 : at + 2] == "\n")
            continue
        found.append(
            " "
            if letter == "␠"
            else "\x7f"
            if letter == "␡"
            else chr(code - 0x2400)
            if 0x2400 <= code < 0x2420
            else letter
        )
        at += 1
    return "".join(found)


def test_a_label_has_one_line() -> None:
    assert unambiguous_line("Ann\n1  yes, once\n") == "Ann␤1  yes, once␤"
    assert claimed("Ann\r\n" + "x" * 100) == "Ann␍␤" + "x" * 35 + "…"


def test_words_in_scripts_that_join_stay_readable() -> None:
    persian, family = "می\u200cخواهم", "👨\u200d👩\u200d👧 ❤\ufe0f"
    assert readable(persian) == persian
    assert readable(family) == family
    assert "⟨U+200C⟩" in unambiguous(persian)
    assert readable("a\u202eb") == "a⟨U+202E⟩b"
