"""What a program wrote to a terminal, as bounded plain text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.tools.shell.output import WATCHED, LiveOutput, Unseen, head_and_tail, plain


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(B\x1b7a\x1b8", "a"),
        ("\x9b31mred", "red"),
        ("a\r\nb\r\n", "a\nb\n"),
        (" 1 %\r50 %\r100 %\nend", "100 %\nend"),
        ("100 %\r", "100 %"),
        ("ab\b\bcd", "cd"),
        ("N\bNA\bA", "NA"),
        ("be\x07ep\x00", "beep"),
    ],
)
def test_a_table_of_terminal_output(written: str, read: str) -> None:
    assert plain(written) == read


@given(st.binary(max_size=200))
def test_any_bytes_become_text_that_can_be_stored(data: bytes) -> None:
    output = Unseen()
    output.feed(data)
    text = output.text()
    assert text.encode().decode() == text
    assert not any(character < " " and character not in "\n\t" for character in text)
    assert output.size == len(data)


@given(
    st.lists(
        st.sampled_from([b"a", b"\xc3", b"\xa4", b"\x1b", b"[3", b"1m", b"\n", b"\xff", b"]0;t", b"\x07"]), max_size=20
    )
)
def test_what_is_shown_live_adds_up_to_what_is_kept(chunks: list[bytes]) -> None:
    output, live = Unseen(), LiveOutput()
    shown = ""
    for chunk in (*chunks, b"\nend"):
        output.feed(chunk)
        shown += live.feed(chunk)
    assert shown.endswith("end")
    assert [letter for letter in shown if letter in "aä"] == [letter for letter in output.text() if letter in "aä"]


def test_of_a_flood_a_person_watches_the_latest() -> None:
    shown = LiveOutput().feed(b"a" * 1_000_000 + b"b")
    assert len(shown) == WATCHED
    assert shown.endswith("ab")


def test_a_flood_keeps_both_ends_and_counts_the_rest() -> None:
    output = Unseen(kept=1000)
    whole = b"".join(b"line %d\n" % number for number in range(100_000))
    for start in range(0, len(whole), 777):
        output.feed(whole[start : start + 777])
    head, counted, tail = re.split(r"\n… \((\d+) bytes are left out here; [^)]+\) …\n", output.text())
    assert whole.startswith(head.encode())
    assert whole.endswith(tail.encode())
    assert len(head) + int(counted) + len(tail) == len(whole) == output.size
    assert len(head) + len(tail) < 4000


@given(st.text(alphabet="ab\n", max_size=400), st.integers(40, 200))
def test_shortened_text_is_bounded_and_says_how_much_is_missing(text: str, most: int) -> None:
    shown = head_and_tail(text, most, pointer="blob:ab")
    if len(text) <= most:
        assert shown == text
        return
    head, _, rest = shown.partition("\n… (")
    counted, _, tail = rest.partition(") …\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    missing = int(counted.partition(" characters")[0].rpartition(" ")[2])
    assert len(head) + missing + len(tail) == len(text)
    assert "read blob:ab shows the whole" in counted
    assert len(head) + len(tail) <= most
