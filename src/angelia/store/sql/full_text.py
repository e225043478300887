"""The full-text index in SQLite: FTS5 (https://sqlite.org/fts5.html), without the texts, which are in the log."""

from collections.abc import Iterable, Sequence

from angelia.store.port import StoreConnection


class FullText:
    """See `store.port.WordIndex`. Expressions are FTS5's own."""

    matches = "words MATCH ?"

    def newest(self, connection: StoreConnection, query: str, values: Sequence[object], most: int) -> list[int]:
        """FTS5 walks the texts of a word alone, from the newest on."""
        rows = connection.execute(f"{query} ORDER BY words.rowid DESC LIMIT ?", (*values, most))
        return [place for (place,) in rows]

    def relevance(self, _: StoreConnection, expression: str) -> tuple[str, tuple[object, ...]]:
        """FTS5 knows the expression by the condition."""
        return "bm25(words)", ()

    def expression(self, expression: str) -> str:
        """As it is."""
        return expression

    def put(self, connection: StoreConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Let entries be found by these texts."""
        connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", list(texts))

    def take_out(self, connection: StoreConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Let them be found no longer. The index does not know the texts, and has to be given the same ones."""
        delete = "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)"
        connection.executemany(delete, list(texts))

    def clear(self, connection: StoreConnection) -> None:
        """Forget all texts."""
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")

    def count(self, connection: StoreConnection) -> int:
        """How many entries it knows."""
        return int(connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])

    def tidy(self, connection: StoreConnection) -> int:
        """Merge some segments. A negative number of pages asks for all of them to become one, in steps (`merge`)."""
        before = _changes(connection)
        connection.execute("INSERT INTO words (words, rank) VALUES ('merge', -500)")
        return max(_changes(connection) - before - 1, 0)


def _changes(connection: StoreConnection) -> int:
    return int(connection.execute("SELECT total_changes()").fetchone()[0])
