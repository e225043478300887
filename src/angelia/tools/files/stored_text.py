"""Lines out of the middle of a stored text of any size, in constant memory."""

from collections.abc import AsyncIterator

from msgspec import Struct

from angelia.core.text import clean, shorten

_LINE_BYTES = 8_000
"""Bytes of one line that are looked at; no more of it would be shown."""


class LinePage(Struct, frozen=True):
    """Some lines with their numbers, and how many there are in all."""

    shown: tuple[str, ...]
    total: int


async def line_page(
    chunks: AsyncIterator[bytes], *, first: int, most: int, characters: int, line_characters: int
) -> LinePage:
    """At most `most` lines from number `first` (the first is 1) on, and at most about so many characters of them."""
    shown: list[str] = []
    number, left, line, cut = 0, characters, bytearray(), 0

    def end() -> None:
        nonlocal number, left, cut
        number += 1
        if first <= number < first + most and left >= 0:
            more = f"… ({cut} more bytes in this line)" if cut else ""
            text = clean(line.decode("utf-8", "replace"))
            numbered = f"{number}\t{shorten(text, line_characters)}{more}"
            left -= len(numbered) + 1
            if left >= 0 or not shown:
                shown.append(numbered)
        line.clear()
        cut = 0

    def take(part: bytes) -> None:
        nonlocal cut
        fits = _LINE_BYTES - len(line)
        line.extend(part[:fits])
        cut += max(len(part) - fits, 0)

    async for chunk in chunks:
        if first <= number + 1 < first + most and left >= 0:
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                take(part)
                end()
        else:
            count, rest = chunk.count(b"\n"), chunk[chunk.rfind(b"\n") + 1 :]
            skipped = first - number - 1
            if 0 < skipped <= count:  # what is wanted begins in this chunk
                *whole, rest = chunk.split(b"\n")
                for part in whole:
                    take(part)
                    end()
            elif count:
                number += count
                line.clear()
                cut = 0
        take(rest)
    if line or cut:
        end()
    return LinePage(tuple(shown), number)
