r"""Text from outside as a person may safely look at it: whatever would move, hide or reorder is a sign that is seen.

A terminal obeys what it is sent: ESC begins sequences that move the cursor, set its title or fill the clipboard
(ECMA-48, 5.4 and 5.6; the 8-bit forms U+0080 to U+009F do the same), BS and CR overwrite what was read. Format
characters reorder a line (Unicode 9, "Bidirectional Algorithm") or are not seen at all (DerivedCoreProperties,
"Default_Ignorable_Code_Point"). No sequence is parsed here, because what is parsed can be cut in two or written in
another way: each character alone becomes a sign, so that none of them is left to begin anything.

Joiners and variation selectors stay where writing needs them: within an emoji, behind a symbol, between letters of
scripts that join (Persian, Hindi). In doubt they are shown.
"""

import re
from unicodedata import category

_UNSEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_NON_JOINER, _JOINER, _KEYCAP = "\u200c", "\u200d", "\u20e3"
_LETTERS = ("Lo", "Mn", "Mc")
"""What stands beside a joiner in scripts that join."""
_SYMBOLS = ("So", "Sm", "Lo", "Po", "Pd")
"""What a variation selector may follow (Unicode, StandardizedVariants and emoji-variation-sequences)."""


def visible(text: str) -> str:
    r"""`text` with a sign for every character that a terminal would obey or a person would not see.

    Newline and tab stay. What has been made visible stays as it is.

    >>> visible("\x1b]0;title\x07 ok\n"), visible("\x7f \x9b2J \u202egpj.exe")
    ('␛]0;title␇ ok\n', '␡ ‹U+009B›2J ‹U+202E›gpj.exe')
    """
    return text if text.isascii() and text.isprintable() else re.sub(_UNSEEN, _sign, text)


def visible_line(text: str) -> str:
    r"""The same for what has to stay on its line: a cell of a table, a name within a sentence.

    >>> visible_line("Ann\n✔ let in\x1b[2J")
    'Ann ✔ let in␛[2J'
    """
    return visible(text.replace("\r\n", " ").replace("\n", " ").replace("\t", " "))


def _sign(found: re.Match[str]) -> str:
    character, number = found[0], ord(found[0])
    if number < 0x20:
        return chr(0x2400 + number)
    if number == 0x7F:
        return "\u2421"
    return character if _needed(character, found.string, found.start()) else f"‹U+{number:04X}›"


def _needed(character: str, text: str, at: int) -> bool:
    """Whether writing needs it here."""
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if character in (_NON_JOINER, _JOINER):
        joins_letters = _is(before, _LETTERS) and _is(after, ("Lo",))
        return joins_letters or (character == _JOINER and _within_emoji(text, at))
    if not 0xFE00 <= ord(character) <= 0xFE0F and not 0xE0100 <= ord(character) <= 0xE01EF:
        return "\u180b" <= character <= "\u180d" and _is(before, ("Lo",))
    if after == _KEYCAP and character == "\ufe0f":
        return before in set("#*0123456789")
    return not before.isascii() and _is(before, ("Lo",) if ord(character) > 0xFFFF else _SYMBOLS)


def _within_emoji(text: str, at: int) -> bool:
    """Between two symbols; the first may have a colour of skin or ask to be shown as a picture."""
    if at > 1 and (text[at - 1] == "\ufe0f" or "\U0001f3fb" <= text[at - 1] <= "\U0001f3ff"):
        at -= 1
        return _is(text[at - 1], ("So",)) and _is(text[at + 2 : at + 3], ("So",))
    return _is(text[at - 1 : at] if at else "", ("So",)) and _is(text[at + 1 : at + 2], ("So",))


def _is(character: str, kinds: tuple[str, ...]) -> bool:
    return len(character) == 1 and category(character) in kinds and not re.match(_UNSEEN, character)
