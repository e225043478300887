"""Where a text may be cut: at the end of a paragraph, line, sentence or word, else between whole letters."""

import re
import unicodedata

_JOINER = "\u200d"
_FLAGS = range(0x1F1E6, 0x1F200)
"""Regional indicators: two make a flag."""
_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)

_SENTENCE = re.compile(r"[.!?…:;][)\]\"'»”’]*(?=\s)|[。！？；…]")
_PAUSE = re.compile(r"[，、,]")


def best_place(text: str, most: int, least: int = 0) -> int:
    """The best place for a cut in `text`, more than `least` and at most `most` characters from its start.

    Larger units go first, as long as half of the space is used; a word is cut only if it fills the space alone.
    """
    if most >= len(text):
        return len(text)
    half = max(most // 2, least)
    for mark in ("\n\n", "\n"):
        if (found := text.rfind(mark, half, most + len(mark))) > half:
            return found
    ends = [match.end() for match in _SENTENCE.finditer(text, half, most + 1) if match.end() <= most]
    if ends:
        return ends[-1]
    spaces = max(text.rfind(space, least + 1, most + 1) for space in " \n\t")
    if spaces > 0:
        return spaces
    pauses = [match.end() for match in _PAUSE.finditer(text, half, most)]
    return pauses[-1] if pauses else whole_letters(text, most)


def whole_letters(text: str, most: int) -> int:
    """The last place up to `most` that no letter as people see it spans, unless there is none within 64 characters.

    An approximation of the grapheme clusters of Unicode Annex 29: marks, joined emoji, flags, Hangul syllables.
    """
    for place in range(most, max(0, most - 64), -1):
        if not _one_letter(text, place):
            return place
    return max(most, 1)


def _one_letter(text: str, place: int) -> bool:
    """Whether the signs before and after this place belong together."""
    before, after = text[place - 1], text[place]
    if before in ("\r", _JOINER) or after == _JOINER:
        return before != "\r" or after == "\n"
    code = ord(after)
    if code < 0x300:
        return False
    if unicodedata.category(after)[0] == "M" or code in _TONES or code in _TAGS:
        return True
    if code in _FLAGS and ord(before) in _FLAGS:
        run = len(text[:place]) - len(text[:place].rstrip("".join(map(chr, _FLAGS))))
        return run % 2 == 1
    return 0x1160 <= code <= 0x11FF and 0x1100 <= ord(before) <= 0x11FF
