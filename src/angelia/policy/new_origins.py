"""Whether an address may be told anything while private words and untrusted ones are both in view."""

import math
import re
from collections import Counter
from urllib.parse import unquote, urlsplit

from angelia.context.in_view import InView

_LONG = 24
"""Characters of one piece of an address that no page needs for its name; a key has more, a title is words."""
_MIXED = 12
"""Characters in words of letters and digits, all together, so that a key in small pieces is one too: `/python3/v2` has
nine."""
_DRAWN_BITS = 3.3
"""Shannon's bits a character from which a piece of 12 looks drawn by lot: English titles have 2.5 to 3.2."""


def origin_of(url: str) -> str:
    """Scheme, host and port: whom one tells something by asking for the URL.

    >>> origin_of("https://Example.com/a?b")
    'https://example.com'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def why_ask(url: str, seen: InView) -> str:
    """Why a URL asks although the network is free; empty when it need not.

    A person's own word opens an origin: a URL that they named whole, and any other of its origin that carries nothing.

    >>> seen = InView(private=True, untrusted=True, named=frozenset({"https://example.com/a"}))
    >>> why_ask("https://example.com/b", seen), why_ask("https://other.example/", InView(private=True))
    ('', '')
    >>> why_ask("https://example.com/?k=9f8a7b6c", seen)
    'Private words and words from elsewhere are both in view, and the address carries something of its own.'
    """
    if not seen.mixed or url in seen.named:
        return ""
    both = "Private words and words from elsewhere are both in view"
    known = origin_of(url) in {origin_of(name) for name in seen.named}
    if known and not carries(url):
        return ""
    if carries(url):
        return f"{both}, and the address carries something of its own."
    return f"{both}, and nobody has named {origin_of(url)} yet: whoever runs it learns of this."


def carries(url: str) -> bool:
    """Whether an address holds more than is its own: a query, a fragment, a long or random piece.

    >>> carries("https://docs.example.com/en/latest/getting-started.html"), carries("https://e.example/9f8a7b6c5d4e3f2a")
    (False, True)
    """
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        return True
    pieces = [*unquote(parts.path).split("/"), *(parts.hostname or "").split(".")]
    small = [word for piece in pieces for word in re.split(r"[-_.]", piece) if _mixed(word)]
    return sum(map(len, small)) >= _MIXED or any(
        _looks_drawn(word) for piece in pieces for word in [piece, *re.split(r"[-_.]", piece)]
    )


def _looks_drawn(piece: str) -> bool:
    words = re.split(r"[-_. ]", piece)
    if max(map(len, words)) > _LONG:
        return True
    return len(piece) >= _MIXED and len(words) == 1 and _bits(piece) > _DRAWN_BITS


def _mixed(word: str) -> bool:
    """Whether letters and digits stand in one word."""
    return bool(re.search(r"\d", word) and re.search(r"[A-Za-z]", word))


def _bits(piece: str) -> float:
    counts = Counter(piece)
    return -sum(count / len(piece) * math.log2(count / len(piece)) for count in counts.values())
