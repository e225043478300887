"""The full-text index in PostgreSQL: the words of each entry with their places (`tsvector`), and a row for each word.

Words are cut and folded here, so what counts as one is the same on both stores, and no dictionary of the server's is
asked (https://www.postgresql.org/docs/current/datatype-textsearch.html).
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from angelia.store.port import StoreConnection

_MOST_POSITIONS = 16_383
"""Places that a `tsvector` knows; words after them are found, and stand together with any."""
_MOST_OF_ONE = 255
"""Places of one word in it."""
_LONGEST = 500
"""Characters of a word, of which PostgreSQL takes 2,046 bytes."""

_WALKED = 20_000
"""Places from the newest on in which common words are found: whoever is in one of 200 texts is there 100 times."""

_COUNT = "INSERT INTO terms VALUES (?, ?) ON CONFLICT (term) DO UPDATE SET doc = terms.doc + excluded.doc"
_ADD = "INSERT INTO words VALUES (?, CAST(? AS tsvector), ?)"
_TOTAL = "UPDATE words_total SET texts = texts + ?, size = size + ?"
_TERM = re.compile(r'"([^"]*)"(\*?)|\b(AND|OR)\b')


class PostgresFullText:
    """See `store.port.WordIndex`."""

    matches = "words.tokens @@ CAST(? AS tsquery)"

    def newest(self, connection: StoreConnection, query: str, values: Sequence[object], most: int) -> list[int]:
        """Of the newest texts, which are walked; where those are not enough, of all that the index of words finds.

        Either alone takes seconds in ten million texts, the one for a word that nobody said, the other for one that
        everybody says. Which it is the planner cannot know: of rare words the server keeps no figures. It walks the key
        where that is the order that is asked for, and has to sort for any other.
        """
        newest = f"{query} AND words.rowid > (SELECT max(rowid) - {_WALKED} FROM words)"  # noqa: S608 - a number of ours
        rows = connection.execute(f"{newest} ORDER BY words.rowid DESC LIMIT ?", (*values, most)).fetchall()
        if len(rows) < most:
            rows = connection.execute(f"{query} ORDER BY words.rowid + 0 DESC LIMIT ?", (*values, most)).fetchall()
        return [place for (place,) in rows]

    def relevance(self, connection: StoreConnection, expression: str) -> tuple[str, tuple[object, ...]]:
        """The formula of FTS5 (https://sqlite.org/fts5.html#the_bm25_function), over words and beginnings of words."""
        texts, size = connection.execute("SELECT texts, size FROM words_total").fetchone()
        asked = [(word, bool(begins)) for text, begins, _ in _TERM.findall(expression) for word in words_of(text)]
        weights = [_weight(texts, _holding(connection, word, begins=begins)) for word, begins in asked]
        values = ([word for word, _ in asked], [begins for _, begins in asked], weights, max(size, 1) / max(texts, 1))
        return "words_bm25(words.tokens, words.size, ?, ?, ?, ?)", values

    def expression(self, expression: str) -> str:
        """The same as a `tsquery`.

        >>> PostgresFullText().expression('"the" AND "big fish" AND "re"*')
        "'the' & ('big' <-> 'fish') & 're':*"
        """
        return " ".join(_query_term(found) for found in _TERM.finditer(expression))

    def put(self, connection: StoreConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Let entries be found by these texts."""
        cut = [(place, words_of(text)) for place, text in texts]
        connection.executemany(_ADD, [(place, _vector(words), len(words)) for place, words in cut])
        connection.execute(_TOTAL, (len(cut), sum(len(words) for _, words in cut)))
        connection.executemany(_COUNT, sorted(_held(words for _, words in cut).items()))

    def take_out(self, connection: StoreConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Let them be found no longer."""
        cut = [(place, words_of(text)) for place, text in texts]
        connection.executemany("DELETE FROM words WHERE rowid = ?", [(place,) for place, _ in cut])
        connection.execute(_TOTAL, (-len(cut), -sum(len(words) for _, words in cut)))
        fewer = [(-count, word) for word, count in sorted(_held(words for _, words in cut).items())]
        connection.executemany("UPDATE terms SET doc = doc + ? WHERE term = ?", fewer)
        connection.execute("DELETE FROM terms WHERE doc <= 0")

    def clear(self, connection: StoreConnection) -> None:
        """Forget all texts."""
        connection.execute("DELETE FROM words")
        connection.execute("DELETE FROM terms")
        connection.execute("UPDATE words_total SET texts = 0, size = 0")

    def count(self, connection: StoreConnection) -> int:
        """How many entries it knows."""
        return int(connection.execute("SELECT count(*) FROM words").fetchone()[0])

    def tidy(self, _: StoreConnection) -> int:
        """Nothing: the server's own vacuum takes away what was deleted."""
        return 0


def words_of(text: str) -> list[str]:
    """The words of a text in their order: without case and without marks, as FTS5's `unicode61` takes them.

    >>> words_of("Café, the_end 東京 2nd")
    ['cafe', 'the', 'end', '東京', '2nd']
    """
    apart = unicodedata.normalize("NFD", text.lower())
    bare = unicodedata.normalize("NFC", "".join(one for one in apart if not "\u0300" <= one <= "\u036f"))
    return [word[:_LONGEST] for word in re.findall(r"[^\W_]+", bare)]


def _weight(texts: int, holding: int) -> float:
    """How rare a word is."""
    return max(math.log((texts - holding + 0.5) / (holding + 0.5)), 1e-6) if holding < texts else 1e-6


def _holding(connection: StoreConnection, word: str, *, begins: bool) -> int:
    """How many texts hold a word, or any that begins like it; who holds two of those counts twice."""
    query = "SELECT coalesce(sum(doc), 0) FROM terms WHERE term >= ? AND term <= ?"
    return int(connection.execute(query, (word, f"{word}\U0010ffff" if begins else word)).fetchone()[0])


def _held(texts: Iterable[list[str]]) -> Counter[str]:
    """How many of the texts hold each word."""
    return Counter(word for words in texts for word in set(words))


def _vector(words: list[str]) -> str:
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word, []).append(min(place, _MOST_POSITIONS))
    return " ".join(f"'{word}':{','.join(map(str, at[:_MOST_OF_ONE]))}" for word, at in places.items())


def _query_term(found: re.Match[str]) -> str:
    text, begins, operator = found.groups()
    if operator:
        return "&" if operator == "AND" else "|"
    words = [f"'{word}'" for word in words_of(text)] or ["''"]
    words[-1] += ":*" if begins else ""
    return words[0] if len(words) == 1 else f"({' <-> '.join(words)})"
