"""Finding messages by their words, in all conversations."""

import re
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.core.text import one_line
from angelia.store.log import word_index
from angelia.store.log.chain import StoredEntry
from angelia.store.log.examined import at_place
from angelia.store.port import LogStore, StoreConnection, WordIndex
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


class Found(Struct, frozen=True):
    """What a search found, and the entries that hold the words and are not what was stored, a sentence each."""

    hits: tuple[Hit, ...]
    damaged: tuple[str, ...]


async def search(db: LogStore, viewer: Principal, query: str, limit: int = 20) -> Found:
    """The newest messages that hold all words of `query`, in conversations that `viewer` may see.

    Those with the query word for word come first, then by time.
    What people and models said is searched, the names of files, and the head of tools' results. A run of Chinese,
    Japanese or Korean characters is found wherever it stands. `"quoted words"` stay together, `begin*` begins a word.

    Raises:
        BadInput: there is no word in the query.
    """
    expression = word_index.expression(query)
    await catch_up(db)
    places = await db.read(lambda connection: _places(connection, db.words, viewer, expression))
    found, damaged = await db.read(lambda connection: _said_at(connection, places), viewer)
    needle = query.replace('"', "").strip().casefold()
    found.sort(key=lambda one: (needle not in one[1].casefold(), -one[0].at, -one[0].seq))
    hits = [Hit(ConversationId(row.conversation), row.seq, row.at, _snippet(text, query)) for row, text in found]
    return Found(tuple(hits[:limit]), tuple(damaged))


async def catch_up(db: LogStore) -> None:
    """Index what the index has not come to yet, where this process may write."""
    while db.writable and await db.read(_behind):
        await db.write(partial(word_index.catch_up, words=db.words))


def _behind(connection: StoreConnection) -> bool:
    (behind,) = connection.execute("SELECT EXISTS (SELECT 1 FROM entries, indexed WHERE id > upto)").fetchone()
    return bool(behind)


def _places(connection: StoreConnection, words: WordIndex, viewer: Principal, expression: str) -> list[int]:
    """Where the words stand, newest first. The index knows numbers alone; what stands there is read as the viewer."""
    places = [*_not_indexed(connection, viewer, expression), *_indexed(connection, words, viewer, expression)]
    return places[:_LOOKED_AT]


def _said_at(connection: StoreConnection, places: Sequence[int]) -> tuple[list[tuple[StoredEntry, str]], list[str]]:
    found: list[tuple[StoredEntry, str]] = []
    damaged: list[str] = []
    for place in places:
        row, damage = at_place(connection, place)
        if damage:
            damaged.append(damage)
        if row and (text := word_index.stored(row)):
            found.append((row, text))
    return found, damaged


def _indexed(connection: StoreConnection, words: WordIndex, viewer: Principal, expression: str) -> list[int]:
    values: tuple[object, ...] = ()
    if viewer == OWNER:
        query = f"SELECT words.rowid FROM words WHERE {words.matches}"  # noqa: S608 - fixed text
    else:
        theirs, owners = visible_to(viewer, "c.owner")
        within = f"{words.matches} AND words.rowid BETWEEN ? AND ?"
        query = (
            "SELECT words.rowid FROM words JOIN entries AS e ON e.id = words.rowid"  # noqa: S608 - fixed text
            " CROSS JOIN conversations AS c"
            f" WHERE c.id = e.conversation AND {within} AND {theirs}"
        )
        values = (*_span(connection, viewer), *owners)
    return words.newest(connection, query, (words.expression(expression), *values), _LOOKED_AT)


def _span(connection: StoreConnection, viewer: Principal) -> tuple[int, int]:
    """The first and the last place of what somebody may see: who said little is not looked for among a million."""
    theirs, values = visible_to(viewer, "c.owner")
    query = (
        "SELECT coalesce(min(first.id), 0), coalesce(max(last.id), 0) FROM conversations AS c"  # noqa: S608 - fixed text
        " JOIN entries AS first ON first.conversation = c.id AND first.seq = 1"
        f" JOIN entries AS last ON last.conversation = c.id AND last.seq = c.last_seq WHERE {theirs}"
    )
    least, most = connection.execute(query, values).fetchone()
    return int(least), int(most)


def _not_indexed(connection: StoreConnection, viewer: Principal, expression: str) -> list[int]:
    theirs, values = visible_to(viewer, "c.owner")
    seen = (
        "SELECT 1 FROM entries AS e JOIN conversations AS c ON c.id = e.conversation"  # noqa: S608 - fixed text
        f" WHERE e.id = ? AND {theirs}"
    )
    places = word_index.not_indexed(connection, expression)
    return [place for place in places if connection.execute(seen, (place, *values)).fetchone()]


def _snippet(text: str, query: str) -> str:
    terms = "|".join(re.escape(term.strip('"*')) for term in query.split() if term.strip('"*'))
    match = re.search(terms, text, re.IGNORECASE)
    start = max((match.start() if match else 0) - _AROUND, 0)
    before = "…" if start else ""
    return one_line(before + text[start : start + 3 * _AROUND], 3 * _AROUND)
