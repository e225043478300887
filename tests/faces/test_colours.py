"""What is read can be read: on light and on dark grounds, in the colours of common terminals."""

from itertools import product

import pytest

from angelia.faces.words.markdown import markdown_rows
from angelia.faces.words.paint import Paint
from angelia.faces.words.transcript_lines import Tone, TranscriptLine

Colour = tuple[int, int, int]


def rgb(*given: str) -> tuple[Colour, ...]:
    """Colours written as `rrggbb`."""
    return tuple((int(one[:2], 16), int(one[2:4], 16), int(one[4:], 16)) for one in given)


PALETTES = {
    "xterm": rgb("000000", "cd0000", "00cd00", "cdcd00", "0000ee", "cd00cd", "00cdcd", "e5e5e5"),
    "vga": rgb("000000", "aa0000", "00aa00", "aa5500", "0000aa", "aa00aa", "00aaaa", "aaaaaa"),
    "tango": rgb("2e3436", "cc0000", "4e9a06", "c4a000", "3465a4", "75507b", "06989a", "d3d7cf"),
    "solarized": rgb("073642", "dc322f", "859900", "b58900", "268bd2", "d33682", "2aa198", "eee8d5"),
}
"""The eight basic colours: XTerm-col.ad, the VGA text mode, GNOME Terminal's Tango, Solarized."""

GROUNDS = {
    "xterm": (rgb("ffffff", "000000"), rgb("000000", "e5e5e5")),
    "vga": (rgb("ffffff", "000000"), rgb("000000", "aaaaaa")),
    "tango": (rgb("ffffff", "2e3436"), rgb("2e3436", "d3d7cf")),
    "solarized": (rgb("fdf6e3", "586e75"), rgb("002b36", "93a1a1")),
}
"""Ground and text of the light and of the dark form."""

READABLE = 3.0
"""The least contrast of large text and of graphics that have a meaning (WCAG 2.2, 1.4.3 and 1.4.11)."""


def luminance(colour: Colour) -> float:
    """Relative luminance (WCAG 2.2)."""
    shares = [value / 255 for value in colour]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    """Contrast ratio (WCAG 2.2), from 1 to 21."""
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


PAINT = Paint(colour=True, columns=60, renders=True)
SHOWN: dict[str, str] = {
    **{str(tone): PAINT.line(TranscriptLine(tone, "+some words")) for tone in Tone},
    "code": PAINT.markdown("```python\ndef f(a):\n    return 'b'  # c\n```"),
    "a reply": PAINT.markdown("# A\n\n`b` **c** *d* [e](f)\n\n|g|h|\n|-|-|\n|i|j|"),
}


def coloured(shown: str) -> list[tuple[set[int], str]]:
    """SGR parameters and the text that has them."""
    parts = [part.partition("m") for part in shown.split("\x1b[")[1:]]
    return [({int(one) for one in codes.split(";")}, text) for codes, _, text in parts if text.strip()]


@pytest.mark.parametrize("name", SHOWN)
def test_only_colours_that_can_be_read_on_either_ground_are_used_for_words(name: str) -> None:
    for codes, text in coloured(SHOWN[name]):
        assert not codes & {30, 37, *range(40, 48), *range(90, 108)}, "the ground of one theme or another"
        for code, (palette, grounds) in product(codes & set(range(31, 37)), GROUNDS.items()):
            for ground, _ in grounds:
                ratio = contrast(PALETTES[palette][code - 30], ground)
                assert ratio >= READABLE or len(text.strip()) == 1, f"{text!r} in {palette}: {ratio:.1f}"


def test_marks_that_have_a_colour_are_said_in_words_too() -> None:
    for tone in (Tone.DONE, Tone.FAILED, Tone.WARNING, Tone.STARTED):
        marks = [text for codes, text in coloured(SHOWN[tone]) if codes & set(range(31, 37))]
        assert all(len(mark.strip()) == 1 for mark in marks)


def test_of_a_question_only_what_is_asked_is_bold() -> None:
    title = "Run a command that is longer than sixty columns, so that it goes on below?"
    shown = PAINT.line(TranscriptLine(Tone.QUESTION, f"{title}\n  │ reach: network\n  1  yes, once"))
    bold = [text for codes, text in coloured(shown) if codes == {1}]
    assert " ".join(bold).split() == ["?", *title.split()]


def test_rows_of_a_reply_are_as_wide_as_the_window() -> None:
    text = "some words that are wrapped and wrapped again\n\n- and an item that is quite long too, for its part\n"
    for columns in (20, 50, 110):
        rows = ["".join(piece for _, piece in row) for row in markdown_rows(text, columns)]
        assert all(len(row) <= columns for row in rows)
