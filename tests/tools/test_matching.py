"""An edit that reports success did what was wanted, and nothing else."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from angelia.tools.files.matching import ChangedText, Unclear, change

PIECES = st.lists(
    st.sampled_from(["a", "b", " ", "  ", "\t", "\n", "\r\n", "\r", "“", "”", '"', "–", "-", "\u00a0", "é", "if x:"]),
    max_size=14,
).map("".join)


def plain(text: str) -> str:
    return text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("text", "old", "new", "result", "overlooked"),
    [
        ("a\nb\nc\n", "b", "B", "a\nB\nc\n", ""),
        ("a\nb\nc\n", "b\n", "", "a\nc\n", ""),
        ("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n", ""),
        ("a\r\nb\r\nc\n", "b\nc\n", "b\nd\n", "a\r\nb\r\nd\n", ""),
        ("a\nb", "b", "b\n", "a\nb\n", ""),
        ("x = 1  \ny = 2\n", "x = 1\ny = 2\n", "x = 1\ny = 3\n", "x = 1  \ny = 3\n", "trailing spaces"),
        ("x = 1\n", "x = 1  \n", "x = 2\n", "x = 2\n", "trailing spaces"),
        ("b", "b \n", "c\n", "c", "trailing spaces"),
        ("say “hi” now", 'say "hi" now', 'say "hi" then', "say “hi” then", "typographic characters"),
        ("a\u00a0– b", "a - b", "a - c", "a\u00a0– c", "typographic characters"),
        ("  if x:\n    y()\n", "if x:\n  z()\n", "", None, ""),
        (
            "  if x:\n    y()  \n",
            "if x:\n  y()\n",
            "if x:\n  z()\n\n  w()\n",
            "  if x:\n    z()\n\n    w()\n",
            "indentation",
        ),
        ("if x:\n  y()\n", "    if x:\n      y()\n", "    if x:\n      z()\n", "if x:\n  z()\n", "indentation"),
        ("\tif x:\n\t\ty()\n", "    if x:\n        y()\n", "    z()\n", None, ""),
        ("if x:\n  y()\n", "  if x:\n    y()\n", "z()\n", None, ""),
    ],
)
def test_a_table_of_edits(text: str, old: str, new: str, result: str | None, overlooked: str) -> None:
    changed = change(text, old, new)
    if result is None:
        assert isinstance(changed, Unclear), changed
    else:
        assert changed == ChangedText(result, 1, overlooked)


@pytest.mark.parametrize(
    ("text", "old", "new", "because"),
    [
        ("abc", "", "x", "is empty"),
        ("abc", "b", "b", "the same"),
        ("a\nb\na\n", "a", "c", "stands there 2 times, at lines 1, 3"),
        ("aaa", "aa", "b", "stands there 2 times"),
        ("a \nb\na \n", "a\n", "c\n", "stands there 2 times (apart from trailing spaces), at lines 1, 3"),
        ("one\ntwo\n", "two\nthree", "x", "first line stands at line 2"),
        ("one\n", "zero", "x", "not there"),
        ("a\n\nb\n", " \n", "x", "not there"),
        ("a\n", "a  \n", "a\n", "already reads like the new text"),
        ("", "a", "b", "not there"),
    ],
)
def test_what_is_not_clear_is_refused(text: str, old: str, new: str, because: str) -> None:
    answer = change(text, old, new)
    assert isinstance(answer, Unclear)
    assert because in answer.because


def test_everywhere_takes_every_place_from_the_top() -> None:
    assert change("aaa b aa", "aa", "c", everywhere=True) == ChangedText("ca b c", 2)
    assert change("a \r\nb\r\na\r\n", "a", "c", everywhere=True) == ChangedText("c \r\nb\r\nc\r\n", 2)


@pytest.mark.parametrize(("new", "changed"), [("b\r", "b\r\n"), ("b", "b\n"), ("a \r", "a \r\n")])
def test_half_of_a_line_ending_is_text_like_any_other(new: str, changed: str) -> None:
    assert change("a\r\n", "a\r", new) == ChangedText(changed, 1)
    assert change("a\r\na\r\n", "a\r", new, everywhere=True) == ChangedText(changed * 2, 2)
    assert "stands there 2 times" in str(change("a\r\na\r\n", "a\r", new))


@given(PIECES, PIECES, PIECES)
@example("a\r\r\nb", "\r\n", "x")
@example("\r\na\r\n", "\na", "\nb\n")
@example("", "a\r", "\n")
@example("b\r\n", "\r\na\r", "\na\r")
def test_an_exact_edit_replaces_that_text_and_nothing_else(before: str, old: str, after: str) -> None:
    text, new = before + old + after, "NEW\nTEXT"
    changed = change(text, old, new)
    if isinstance(changed, Unclear):
        assert not old or plain(text).count(plain(old)) != 1 or "times" in changed.because
        return
    assert changed.overlooked == ""
    if old.endswith("\r"):  # half of a line ending, perhaps
        assert plain(changed.text) == plain(text.replace(old, new, 1))
    else:
        assert plain(changed.text) == plain(text).replace(plain(old), new, 1)


@given(PIECES, PIECES, PIECES, st.booleans())
def test_whatever_is_overlooked_the_lines_around_stay_byte_for_byte(
    text: str, old: str, new: str, everywhere: bool
) -> None:
    changed = change(text, old, new, everywhere=everywhere)
    if isinstance(changed, Unclear):
        assert changed.because
        return
    assert changed.text != text
    if changed.places > 1:
        return
    wanted = max(plain(old).count("\n"), 1) + 1
    lines, fresh = text.split("\n"), changed.text.split("\n")
    head = next((i for i, (a, b) in enumerate(zip(lines, fresh, strict=False)) if a != b), min(len(lines), len(fresh)))
    rest = min(len(lines), len(fresh)) - head
    pairs = zip(reversed(lines), reversed(fresh), strict=False)
    tail = next((i for i, (a, b) in enumerate(pairs) if i >= rest or a != b), rest)
    assert len(lines) - head - tail <= wanted


@given(st.lists(st.sampled_from(["a", "  b", "\tc", "d “e”", "", "f "]), min_size=1, max_size=8), st.data())
def test_line_endings_that_were_mixed_stay_as_they_were(lines: list[str], data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(lines), max_size=len(lines)))
    text = "".join(line + end for line, end in zip(lines, ends, strict=True)) + "MARK" + "".join(reversed(ends))
    assert change(text, "MARK", "DONE") == ChangedText(text.replace("MARK", "DONE"), 1)


@given(
    st.text(alphabet="ab \n", max_size=12), st.text(alphabet="ab \n", max_size=5), st.text(alphabet="xy\n", max_size=4)
)
def test_replacing_everywhere_exactly_is_what_str_replace_does(text: str, old: str, new: str) -> None:
    changed = change(text, old, new, everywhere=True)
    if isinstance(changed, ChangedText) and not changed.overlooked:
        assert changed.text == text.replace(old, new)
