"""Finding messages by their words, in all conversations."""

import re
import sqlite3

from msgspec import Struct

from angelia.core import codec
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.core.text import one_line
from angelia.store.log import word_index
from angelia.store.sql.database import Database
from angelia.store.sql.visibility import visible_to

_LOOKED_AT = 100
"""Newest matches that are ranked. Ranking all of them (bm25) took 0.7 s for a common word in a million messages."""
_AROUND = 60
"""Characters shown before the found words; twice as many after them."""


class Hit(Struct, frozen=True):
    """An entry that holds the words; `at` is Unix milliseconds, `snippet` one line around the first word found."""

    conversation: ConversationId
    seq: int
    at: int
    snippet: str


async def search(db: Database, viewer: Principal, query: str, limit: int = 20) -> list[Hit]:
    """The newest messages that hold all words of `query`, in conversations that `viewer` may see.

    Those with the query word for word come first, then by time.
    What people and models said is searched, the names of files, and the head of tools' results. A run of Chinese,
    Japanese or Korean characters is found wherever it stands. `"quoted words"` stay together, `begin*` begins a word.

    Raises:
        BadInput: there is no word in the query.
    """
    expression = word_index.expression(query)
    while await db.read(_behind):
        await db.write(word_index.catch_up)
    found = await db.read(lambda connection: _look(connection, viewer, expression))
    needle = query.replace('"', "").strip().casefold()
    found.sort(key=lambda row: (needle not in row[3].casefold(), -row[2], -row[1]))
    return [Hit(conversation, seq, at, _snippet(text, query)) for conversation, seq, at, text in found[:limit]]


def _behind(connection: sqlite3.Connection) -> bool:
    (behind,) = connection.execute("SELECT EXISTS (SELECT 1 FROM entries, indexed WHERE id > upto)").fetchone()
    return bool(behind)


def _look(
    connection: sqlite3.Connection, viewer: Principal, expression: str
) -> list[tuple[ConversationId, int, int, str]]:
    theirs, values = visible_to(viewer, "c.owner")
    joined = " JOIN entries AS e ON e.id = words.rowid JOIN conversations AS c ON c.id = e.conversation"
    query = (
        f"SELECT words.rowid FROM words{'' if viewer == OWNER else joined}"  # noqa: S608 - fixed text
        f" WHERE words MATCH ? AND {theirs} ORDER BY words.rowid DESC LIMIT ?"
    )
    places = connection.execute(query, (expression, *values, _LOOKED_AT)).fetchall()
    found = []
    for (place,) in places:
        conversation, seq, at, version, body = connection.execute(
            "SELECT conversation, seq, at, version, body FROM entries WHERE id = ?", (place,)
        ).fetchone()
        found.append((conversation, seq, at, word_index.findable(codec.decode(body, version=version))))
    return found


def _snippet(text: str, query: str) -> str:
    terms = "|".join(re.escape(term.strip('"*')) for term in query.split() if term.strip('"*'))
    match = re.search(terms, text, re.IGNORECASE)
    start = max((match.start() if match else 0) - _AROUND, 0)
    before = "…" if start else ""
    return one_line(before + text[start : start + 3 * _AROUND], 3 * _AROUND)
