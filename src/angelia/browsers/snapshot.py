"""A page as a model reads it: a line for each thing that a person sees, with a reference where it can be acted on."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from angelia.core.counts import counted
from angelia.core.text import clean, one_line, shorten

MOST = 12_000
"""Characters of one look; the whole page is kept, and `find` reaches all of it."""
_MOST_LINE = 400
_MOST_CHANGES = 40


class PageLine(Struct, frozen=True):
    """One thing: words alone, or an element by role and name, with its states; `ref` where it can be acted on."""

    text: str = ""
    role: str = ""
    name: str = ""
    state: tuple[str, ...] = ()
    ref: str = ""

    def shown(self) -> str:
        """As it is read: `button "Send" [e7] disabled`.

        >>> PageLine(role="button", name="Send", ref="e7", state=("disabled",)).shown()
        'button "Send" [e7] disabled'
        """
        if self.text:
            return one_line(clean(self.text), _MOST_LINE)
        named = f' "{one_line(clean(self.name), 200)}"' if self.name else ""
        at = f" [{self.ref}]" if self.ref else ""
        states = "".join(f" {one_line(clean(state), 400)}" for state in self.state)
        return f"{self.role}{named}{at}{states}"


class PageLook(Struct, frozen=True):
    """What is in view, or the whole page. `above` and `below` count what can be acted on outside of the view.

    `loading` is for how many seconds the page has not been all there, 0 once it is.
    """

    url: str
    title: str
    lines: tuple[PageLine, ...]
    above: int = 0
    below: int = 0
    scroll: int = 0
    height: int = 0
    seen: int = 0
    loading: float = 0.0

    def head(self) -> str:
        """Title and address, how far it is scrolled, and whether it is all there."""
        at = f", at {self.scroll:,} of {self.height:,} px" if self.height > self.seen else ""
        awaited = f", {self.awaited()}" if self.loading else ""
        return f"{one_line(clean(self.title), 150) or '(no title)'} · {shorten(clean(self.url), 300)}{at}{awaited}"

    def awaited(self) -> str:
        """For how long it has not been all there."""
        return f"still loading after {self.loading:.1f} s"

    def words(self) -> str:
        """All lines, with the counts of what is not in view; at most `MOST` characters."""
        above = [f"↑ {self.above:,} more above"] if self.above else []
        below = [f"↓ {self.below:,} more below"] if self.below else []
        lines = [line.shown() for line in self.lines]
        held: list[str] = []
        used = 0
        for line in lines:
            used += len(line) + 1
            if used > MOST - 200:
                held.append(f"… {counted(len(lines) - len(held), 'more line')} here; ask with `find`, or scroll")
                break
            held.append(line)
        return "\n".join([*above, *held, *below]) or f"(nothing to see{' yet' if self.loading else ''})"


def read_look(told: dict[str, Any]) -> PageLook:
    """What the script in the page said."""
    lines = tuple(
        PageLine(
            str(line.get("text", "")),
            str(line.get("role", "")),
            str(line.get("name", "")),
            tuple(map(str, line.get("state", ()))),
            str(line.get("ref", "")),
        )
        for line in told.get("lines", ())
    )
    counts = {name: int(told.get(name, 0)) for name in ("above", "below", "scroll", "height", "seen")}
    return PageLook(str(told.get("url", "")), str(told.get("title", "")), lines, **counts)


def found(look: PageLook, wanted: str, most: int = 30) -> str:
    """The lines in which `wanted` stands (a regular expression, else these words), each with its neighbours."""
    try:
        pattern = re.compile(wanted, re.IGNORECASE)
    except re.error:
        pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    lines = [line.shown() for line in look.lines]
    hits = [number for number, line in enumerate(lines) if pattern.search(line)]
    if not hits:
        return f"{wanted!r} stands nowhere on this page ({counted(len(lines), 'line')} looked through)."
    kept = sorted({near for hit in hits[:most] for near in (hit - 1, hit, hit + 1) if 0 <= near < len(lines)})
    pieces = [("" if before == number - 1 else "…\n") + lines[number] for before, number in _pairs(kept)]
    more = f"\n… {len(hits) - most:,} more" if len(hits) > most else ""
    return shorten("\n".join(pieces), MOST) + more


def _pairs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip((numbers[0] - 1, *numbers), numbers, strict=False)) if numbers else []


def changes(before: PageLook | None, after: PageLook) -> str:
    """What is there now and was not before, and how much went; the whole look for another page."""
    if before is None or before.url.partition("#")[0] != after.url.partition("#")[0]:
        return f"{after.head()}\n{after.words()}"
    known = Counter(line.shown() for line in before.lines)
    new = []
    for line in after.lines:
        words = line.shown()
        if known[words]:
            known[words] -= 1
        else:
            new.append(words)
    gone = sum(known.values())
    awaited = [f"(The page is {after.awaited()}: look again.)"] if after.loading else []
    if not new and not gone:
        return " ".join(["Nothing in view has changed.", *awaited])
    shown = [f"+ {line}" for line in new[:_MOST_CHANGES]]
    more = (
        [f"… {counted(len(new) - _MOST_CHANGES, 'more new line')}; look again for all"]
        if len(new) > _MOST_CHANGES
        else []
    )
    went = [f"− {gone:,} {'line that was' if gone == 1 else 'lines that were'} in view before"] if gone else []
    return shorten("\n".join([*shown, *more, *went, *awaited]), MOST)
