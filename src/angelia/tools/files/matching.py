"""Where a piece of text stands in a file, exactly or as good as, and what to put there instead."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate

from msgspec import Struct

from angelia.core.counts import counted
from angelia.tools.files.text_file import newline_of, with_newlines

_FOLD = str.maketrans(
    dict.fromkeys("‘’‚‛′", "'")
    | dict.fromkeys("“”„‟″", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)
"""Typographic characters and what models write for them, one for one, so that positions stay."""


class Replacement(Struct, frozen=True):
    """A span of the text, and what is to stand there instead."""

    start: int
    end: int
    instead: str


class Match(Struct, frozen=True):
    """A span that reads like the wanted text, and the smallest part of it that has to change."""

    start: int
    end: int
    place: Replacement


class ChangedText(Struct, frozen=True):
    """The new text, at how many places it differs, and what was overlooked to find them (nothing: an exact match)."""

    text: str
    places: int
    overlooked: str = ""


class Unclear(Struct, frozen=True):
    """No change can be made; `because` tells the model why and what to do."""

    because: str


def change(text: str, old: str, new: str, *, everywhere: bool = False) -> ChangedText | Unclear:
    r"""`text` with `old` replaced by `new`; every other character stays as it is, line endings too.

    `old` must stand there exactly once, unless `everywhere`. Where it does not stand exactly, lines are compared
    without trailing spaces, then with typographic characters as plain ones, then without indentation; the lines
    of `new` then get the file's indentation.

    >>> change("a\r\nb\r\n", "a\nb\n", "a\nc\n").text
    'a\r\nc\r\n'
    """
    fresh = new.replace("\r\n", "\n")
    if old.endswith("\r") and old in text:  # half of a line ending perhaps, which is one character of the plain text
        windows: list[int] = []
        found = _find(text, old, fresh, everywhere)
    else:
        windows = _windows_newlines(text)
        found = _find(text.replace("\r\n", "\n"), old.replace("\r\n", "\n"), fresh, everywhere)
    if isinstance(found, Unclear):
        return found
    overlooked, places = found
    changed = _put(text, places, windows)
    if changed == text:
        return Unclear("the file already reads like the new text there.")
    return ChangedText(changed, len(places), overlooked)


def _find(text: str, old: str, new: str, everywhere: bool) -> tuple[str, list[Replacement]] | Unclear:
    if not old:
        return Unclear("the text to replace is empty. Use `write` for a whole file.")
    if old == new:
        return Unclear("old and new are the same.")
    for overlooked, attempt in _ATTEMPTS.items():
        matches = attempt(text, old, new)
        if isinstance(matches, Unclear):
            return matches
        if len(matches) > 1 and not everywhere:
            where = ", ".join(str(_line_at(text, match.start)) for match in matches[:10])
            alike = f" (apart from {overlooked})" if overlooked else ""
            return Unclear(
                f"the text stands there {counted(len(matches), 'time')}{alike}, at lines {where}. "
                f"Give more of the text around it, or set replace_all."
            )
        if matches:
            return overlooked, _apart(matches)
    return Unclear(_not_there(text, old))


def _apart(matches: list[Match]) -> list[Replacement]:
    """From the top, each match that does not overlap the one before."""
    places: list[Replacement] = []
    free = 0
    for match in matches:
        if match.start >= free:
            places.append(match.place)
            free = match.end
    return places


def _put(text: str, places: list[Replacement], windows: list[int]) -> str:
    """Put each replacement in its place; places count each of the line endings at `windows` as one character."""
    pieces, at = [], 0
    for place in places:
        start = place.start + bisect_left(windows, place.start)
        end = place.end + bisect_left(windows, place.end)
        newline = newline_of(text[start:end] if "\n" in text[start:end] else text)
        pieces += [text[at:start], with_newlines(place.instead, newline)]
        at = end
    return "".join([*pieces, text[at:]])


def _windows_newlines(text: str) -> list[int]:
    """Where the line feeds of CR LF stand, counted as if each pair were one character."""
    places: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = text.find("\r\n", at + 2)
    return places


def _smallest(text: str, start: int, end: int, instead: str) -> Match:
    head, tail = _common(text[start:end], instead)
    return Match(start, end, Replacement(start + head, end - tail, instead[head : len(instead) - tail]))


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many leading and trailing items two sequences share, none of them counted twice."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    tail = next((i for i in range(most - head) if old[-1 - i] != new[-1 - i]), most - head)
    return head, tail


def _exactly(text: str, old: str, new: str) -> list[Match]:
    return [_smallest(text, at, at + len(old), new) for at in _positions(text, old)]


def _folded(text: str, old: str, new: str) -> list[Match]:
    """Where old and new agree at both ends, the file keeps its own characters."""
    head, tail = _common(old, new)
    matches = []
    for at in _positions(text.translate(_FOLD), old.translate(_FOLD)):
        end = at + len(old)
        instead = text[at : at + head] + new[head : len(new) - tail] + text[end - tail : end]
        matches.append(_smallest(text, at, end, instead))
    return matches


def _positions(text: str, old: str) -> list[int]:
    """Every position, overlapping ones too: "aa" in "aaa" is ambiguous."""
    positions, at = [], text.find(old)
    while at >= 0:
        positions.append(at)
        at = text.find(old, at + 1)
    return positions


def _without_trailing(text: str, old: str, new: str) -> list[Match]:
    matches = _by_lines(text, old, new, str.rstrip, _as_written)
    return matches if isinstance(matches, list) else []


def _without_indentation(text: str, old: str, new: str) -> list[Match] | Unclear:
    return _by_lines(text, old, new, lambda line: line.translate(_FOLD).strip(), _shifted)


_ATTEMPTS: dict[str, Callable[[str, str, str], list[Match] | Unclear]] = {
    "": _exactly,
    "trailing spaces": _without_trailing,
    "typographic characters": _folded,
    "indentation": _without_indentation,
}
"""What is overlooked, in this order, until the text is found."""

Fit = Callable[[list[str], list[str], list[str]], list[str] | None]
"""Makes new lines fit, given the file's lines and the old ones they match; None where that cannot be done."""


def _by_lines(text: str, old: str, new: str, key: Callable[[str], str], fit: Fit) -> list[Match] | Unclear:
    """Whole lines whose keys are equal. Lines on which old and new agree stay as the file has them."""
    lines, wanted, fresh = text.split("\n"), _lines(old), _lines(new)
    keys, wanted_keys = [key(line) for line in lines], [key(line) for line in wanted]
    if not any(wanted_keys):
        return []
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    head, tail = _common(wanted, fresh)
    matches: list[Match] = []
    count = len(wanted)
    for first in range(len(lines) - count + 1):
        if keys[first] != wanted_keys[0] or keys[first : first + count] != wanted_keys:
            continue
        own = lines[first : first + count]
        middle = fit(fresh[head : len(fresh) - tail], own, wanted)
        if middle is None:
            return Unclear(
                f"it stands at line {first + 1} with an indentation that cannot be carried over to the new text. "
                f"Read those lines and give them exactly."
            )
        end = starts[first + count] - 1
        instead = "\n".join([*own[:head], *middle, *own[count - tail :]])
        if old.endswith("\n") and end < len(text):
            end += 1
            instead += "\n" if new.endswith("\n") else ""
        matches.append(_smallest(text, starts[first], end, instead))
    return matches


def _lines(text: str) -> list[str]:
    """The lines, without an empty one after a final line feed; no lines in an empty text."""
    return text.removesuffix("\n").split("\n") if text else []


def _as_written(fresh: list[str], own: list[str], wanted: list[str]) -> list[str]:
    return fresh


def _shifted(fresh: list[str], own: list[str], wanted: list[str]) -> list[str] | None:
    """The new lines moved by as much as the file's lines stand to the right or left of the old ones."""
    pairs = {(_indentation(a), _indentation(b)) for a, b in zip(own, wanted, strict=True) if b.strip()}
    more = {a.removesuffix(b) for a, b in pairs if a.endswith(b)}
    less = {b.removesuffix(a) for a, b in pairs if b.endswith(a)}
    if len(more) == 1 and all(a.endswith(b) for a, b in pairs):
        extra = more.pop()
        return [extra + line if line.strip() else line for line in fresh]
    if len(less) == 1 and all(b.endswith(a) for a, b in pairs):
        extra = less.pop()
        if all(line.startswith(extra) or not line.strip() for line in fresh):
            return [line.removeprefix(extra) if line.strip() else line for line in fresh]
    return None


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _not_there(text: str, old: str) -> str:
    """Says where its first line stands, if it does: the rest is then what differs."""
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    near = [number for number, line in enumerate(text.split("\n"), 1) if first and first in line][:3]
    if near:
        return (
            f"the text is not there as given; its first line stands at line {', '.join(map(str, near))}. Read it there."
        )
    return "the text is not there. Read the file, and give the text exactly."
