"""The words of a question as the index is asked for them: stems and pairs, the rarest first, as many as it can rank.

`bm25` looks at every message that holds one of the words, so a common word costs seconds among a million messages and
says next to nothing. How many messages hold a word the index knows (`fts5vocab`, https://sqlite.org/fts5.html).
"""

import re
import sqlite3
import unicodedata

from msgspec import Struct

from angelia.store.log.word_index import RUN

MOST_POSTINGS = 20_000
"""Messages that are ranked for one question, about."""

_LEAST_STEM = 3
_ENDINGS = ("ingly", "ings", "edly", "ies", "ied", "ing", "ers", "est", "es", "ed", "er", "ly", "en", "s", "e", "y")
"""What English words, and some others, end with beyond their stem; what is left begins all forms of the word."""


class Term(Struct, frozen=True):
    """One thing that is asked for: `text` begins a word, or is one where it is a pair. `held` counts its messages."""

    text: str
    begins: bool
    held: int

    @property
    def expression(self) -> str:
        """As FTS5 reads it."""
        return f'"{self.text}"*' if self.begins else f'"{self.text}"'


class Terms(Struct, frozen=True):
    """What is asked for, rarest first; `common` are in too many messages to be ranked, `unknown` in none."""

    used: tuple[Term, ...]
    common: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def stem(word: str) -> str:
    """What all forms of a word begin with, as far as its ending tells.

    >>> [stem(word) for word in ("running", "studies", "baked", "fish", "is")]
    ['run', 'stud', 'bak', 'fish', 'is']
    """
    for ending in _ENDINGS:
        left = word.removesuffix(ending)
        if left != word and len(left) >= _LEAST_STEM:
            doubled = len(left) > _LEAST_STEM and left[-1] == left[-2] and left[-1] not in "aeiouls"
            return left[:-1] if doubled else left
    return word


def terms_for(connection: sqlite3.Connection, query: str) -> Terms:
    """The terms by which a question is ranked; none where there is no word in it, or none that a message holds."""
    known, unknown = list[Term](), list[str]()
    for text, begins in dict.fromkeys(_wanted(query)):
        held = _held(connection, text, begins=begins)
        if held:
            known.append(Term(text, begins, held))
        else:
            unknown.append(text)
    known.sort(key=lambda term: (term.held, term.text))
    used, postings = list[Term](), 0
    for term in known:
        postings += term.held
        if used and postings > MOST_POSTINGS:
            break
        used.append(term)
    return Terms(tuple(used), tuple(term.text for term in known[len(used) :]), tuple(unknown))


def _wanted(query: str) -> list[tuple[str, bool]]:
    """What to look up, and whether it begins a word."""
    wanted: list[tuple[str, bool]] = []
    for word in re.findall(r"\w+", _folded(query)):
        for piece in re.split(f"({RUN})", word):
            if re.fullmatch(RUN, piece):
                pairs = [piece[at : at + 2] for at in range(max(len(piece) - 1, 1))]
                wanted += [(pair, len(pair) == 1) for pair in pairs]
            elif piece.strip("_"):
                wanted.append((stem(piece.strip("_")), True))
    return wanted


def _folded(query: str) -> str:
    """As the index folds words: without case, and without marks on Latin letters (`remove_diacritics 2`)."""
    lowered = unicodedata.normalize("NFKC", query).lower()
    bare = "".join(one for one in unicodedata.normalize("NFD", lowered) if not "\u0300" <= one <= "\u036f")
    return unicodedata.normalize("NFC", bare)  # Hangul and kana were taken apart, too


def _held(connection: sqlite3.Connection, text: str, *, begins: bool) -> int:
    above = f"{text}\U0010ffff" if begins else text
    query = "SELECT coalesce(sum(doc), 0) FROM terms WHERE term >= ? AND term <= ?"
    return int(connection.execute(query, (text, above)).fetchone()[0])
