"""A reply while it is written: each of its words is shown once, in order, and code is exact."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from angelia.channels.markup.cutting import plain
from angelia.channels.markup.reader import read_markdown
from angelia.faces.words.markdown import markdown_rows
from angelia.faces.words.reply_stream import ReplyBlock, ReplyStream

WORDS = st.text("abcdeé日 ", min_size=1, max_size=30).filter(str.strip).map(str.strip)
CODE = st.lists(st.sampled_from(["x = 1", "    y = [2]", "", "# no heading", "- no item", "~~~", "a | b"]), max_size=6)
BLOCKS = st.one_of(
    WORDS,
    WORDS.map(lambda words: f"## {words}"),
    WORDS.map(lambda words: f"> {words}\n> and more"),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(WORDS, min_size=1, max_size=3).map(lambda items: "\n".join(f"{n}. {i}" for n, i in enumerate(items, 7))),
    WORDS.map(lambda words: f"- {words}\n  - within it\n\n  a paragraph of it"),
    CODE.map(lambda lines: "\n".join(["```python", *lines, "```"])),
    CODE.map(lambda lines: "\n".join(["````", *lines, "```", "````"])),
    WORDS.map(lambda words: f"| head | other |\n|---|---|\n| {words} | b |"),
    st.just("---"),
    st.just("MEDIA:may.txt"),
    st.just("![a picture](https://example.org/a.png)"),
)
REPLIES = st.lists(BLOCKS, min_size=1, max_size=8).map("\n\n".join)


def streamed(text: str, cuts: list[int]) -> list[ReplyBlock]:
    """What is printed of a reply that comes in these pieces: what is final at once, the rest when it is delivered."""
    ends = sorted({cut % (len(text) + 1) for cut in cuts} | {len(text)})
    reply, at, blocks = ReplyStream(), 0, []
    for end in ends:
        blocks += reply.add(text[at:end])
        at = end
    return [*blocks, *reply.unshown(text)]


def shown(text: str) -> str:
    """The signs that a person reads, in order."""
    return "".join("".join(piece for _, piece in row) for row in markdown_rows(text, 80)).replace(" ", "")


@example("- a\n- b\n\n- c", [4])
@example("```\nx = 1\n\n\n    y = [2]\n```\n\nafter", [7, 9])
@given(REPLIES, st.lists(st.integers(0, 2000), max_size=12))
def test_each_word_of_a_reply_is_shown_once_and_in_order_wherever_it_was_cut(text: str, cuts: list[int]) -> None:
    assert "".join(shown(block.text) for block in streamed(text, cuts)) == shown(text)


@given(REPLIES, st.lists(st.integers(0, 2000), max_size=12))
def test_what_is_delivered_as_it_was_written_is_not_shown_again(text: str, cuts: list[int]) -> None:
    reply = ReplyStream()
    reply.add(text)
    first = reply.unshown(text)
    assert reply.unshown(text) == []
    assert first or not text.strip() or reply.begun


@given(st.lists(st.text("ab c#-*`|>_", max_size=150), min_size=1, max_size=9))
def test_lines_of_code_are_printed_as_they_were_written(lines: list[str]) -> None:
    fence = "`" * 160
    source = "\n".join([f"{fence}text", *lines, fence, "", "over"])
    rows = [row for block in streamed(source, list(range(0, len(source), 7))) for row in markdown_rows(block.text, 40)]
    printed = ["".join(piece for _, piece in row) for row in rows][:-1]
    assert [row.removeprefix("  ").rstrip() for row in printed] == "\n".join(line.rstrip() for line in lines).rstrip(
        "\n"
    ).split("\n")[: len(printed)]
    assert (
        len(printed) == len("\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n"))
        or not "".join(lines).strip()
    )


def test_another_text_than_the_one_that_was_shown_is_shown_whole() -> None:
    reply = ReplyStream()
    reply.add("One thing.\n\nAnother.\n\n")
    assert [block.text for block in reply.unshown("Something else.")] == ["Something else."]


def test_a_reply_that_goes_on_in_the_next_request_is_one_text() -> None:
    reply = ReplyStream()
    blocks = [*reply.add("First.\n\nSecond, cut"), *reply.add(" here.\n\nThird.")]
    assert [block.text.strip() for block in blocks] == ["First.", "Second, cut here."]
    assert [block.text.strip() for block in reply.unshown("First.\n\nSecond, cut here.\n\nThird.")] == ["Third."]


def test_marks_that_are_open_are_closed_for_show() -> None:
    reply = ReplyStream()
    reply.add("It is **very impor")
    assert reply.rest.text == "It is **very impor**"


def test_items_of_a_list_of_tasks_have_boxes() -> None:
    source = "- [x] *weighed* [x] it\n- [ ] not yet\n  1. [X] in\n- [z] no\n\n[ ] no list\n"
    rows = ["".join(piece for _, piece in row) for row in markdown_rows(source, 40)]
    assert rows == [" • ☑ weighed [x] it", " • ☐ not yet", "    1 ☑ in", " • [z] no", "", "[ ] no list"]


FORMULAS = [
    (r"So \[E = mc^2\], with \(a\_1 \in \{1, 2\}\).", r"So \[E = mc^2\], with \(a\_1 \in \{1, 2\}\)."),
    ("\\[\nx \\\\\n*y*\n\\]", "\\[\nx \\\\\n*y*\n\\]"),
    (r"\[no end, *so* \_ is an escape", "[no end, so _ is an escape"),
    (r"`\(a\)` and \*b\*", r"\(a\) and *b*"),
]
"""As they are written, and as they are shown."""


@pytest.mark.parametrize(("written", "shown"), FORMULAS)
def test_a_formula_is_shown_as_it_was_written(written: str, shown: str) -> None:
    assert "\n".join("".join(piece for _, piece in row) for row in markdown_rows(written, 80)) == shown
    assert plain(read_markdown(written)) == shown, "and so in chats"
