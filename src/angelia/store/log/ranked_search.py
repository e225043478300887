"""Finding what a question is about: messages with any of its words, the best first, each with what stood beside it.

`search` finds all words, newest first, which is what a person at the prompt means; who asks in a sentence gets nothing
from it. Both read one index.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.entry import Address
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.log import word_index
from angelia.store.log.chain import StoredEntry
from angelia.store.log.examined import at_place
from angelia.store.log.query_terms import MOST_POSTINGS, Term, Terms, terms_for
from angelia.store.log.search import catch_up
from angelia.store.port import LogStore, StoreConnection, WordIndex
from angelia.store.portable import ends_with
from angelia.store.sql.visibility import RECORDS

KINDS = {
    "people": ("UserSaid", "Transcribed"),
    "replies": ("ModelSaid",),
    "tools": ("ToolFinished",),
}
"""Whose words are looked for, as they are asked for, and the facts that hold them."""
_SPOKEN = (*KINDS["people"], *KINDS["replies"])
_OF_TOOLS = 0.5
"""A tool's result counts half of what people and models said: it is long, and repeats words."""
_CANDIDATES = 4
"""Times as many as are wanted, since some are neighbours of each other, or cannot be read."""
_MOST_PASSED = 6
"""Entries without words, such as calls, that may stand between a message and its neighbour."""
ECHO = "From earlier conversations,"
"""Begins what the model is told of a search, so that no later search finds it in place of what was found."""


class Within(Struct, frozen=True):
    """What is searched: the conversations of `owner`, in a group those of the chat alone (`chat` is None elsewhere).

    `since` and `before` are Unix milliseconds, 0 for any; `folder` begins the path in which they worked; `kind` is one
    of `KINDS`, empty for all. Of the conversation `own` only what stands before the entry `own_before` counts: the rest
    is in view.
    """

    owner: Principal
    chat: Address | None = None
    since: int = 0
    before: int = 0
    folder: str = ""
    kind: str = ""
    own: str = ""
    own_before: int = 0


class Passage(Struct, frozen=True):
    """A message as it was said; `said_by` is the kind of its fact."""

    seq: int
    at: int
    said_by: str
    text: str


class RankedHit(Struct, frozen=True):
    """A message that holds some of the words, with the one before and the one after it, where there are any."""

    conversation: ConversationId
    door: str
    found: Passage
    earlier: Passage | None
    later: Passage | None


class RankedFound(Struct, frozen=True):
    """The best hits first, the words by which they were found, and how much was searched."""

    hits: tuple[RankedHit, ...]
    terms: Terms
    conversations: int
    matches: int
    newest_only: bool
    damaged: tuple[str, ...] = ()


async def ranked_search(db: LogStore, within: Within, query: str, limit: int = 10) -> RankedFound:
    """The messages that are most about `query`, by how rare its words are and how often a message holds them (bm25).

    Words are taken as stems and the rarest first, until `MOST_POSTINGS` messages are ranked. Where the rarest alone is
    in more than that, the newest of those are taken, unranked (`newest_only`).

    Raises:
        BadInput: there is no word in the query, or no such kind.
    """
    if within.kind and within.kind not in KINDS:
        raise BadInput(f"There is no kind {within.kind!r}.", then=f"Kinds: {', '.join(KINDS)}, or none for all.")
    if not any(letter.isalnum() for letter in query):
        raise BadInput(f"There is no word to search for in “{query}”.", then="Write one or more words.")
    await catch_up(db)
    looked_up = await db.read(lambda connection: _looked_up(connection, db.words, within, query))
    return await db.read(lambda connection: _ranked(connection, within, looked_up, limit), within.owner)


async def one_within(db: LogStore, within: Within, part: str) -> ConversationId | None:
    """The one conversation of those that are searched whose id ends like this; None where not exactly one does."""
    where, values = _ours(within)
    query = f"SELECT c.id FROM conversations AS c WHERE {where} AND {ends_with('c.id')} LIMIT 2"  # noqa: S608
    found = await db.read(lambda connection: connection.execute(query, (*values, part, part)).fetchall(), within.owner)
    return ConversationId(found[0][0]) if len(found) == 1 else None


async def around(db: LogStore, conversation: ConversationId, seq: int, turns: int) -> list[Passage]:
    """The messages around the entry `seq` of a conversation that its caller may see, `turns` on each side, in order."""

    def look(connection: StoreConnection) -> list[Passage]:
        here = _passage(_row(connection, conversation, seq))
        before = list(_beside(connection, conversation, seq, turns, later=False))
        return [
            *reversed(before),
            *([here] if here else ()),
            *_beside(connection, conversation, seq, turns, later=True),
        ]

    return await db.read(look)


class _LookedUp(Struct, frozen=True):
    """Where the words stand, the best first. The index knows numbers alone; what stands there is read as the owner."""

    terms: Terms
    places: Sequence[int] = ()
    newest_only: bool = False


def _looked_up(connection: StoreConnection, words: WordIndex, within: Within, query: str) -> _LookedUp:
    terms = terms_for(connection, query)
    if not terms.used:
        return _LookedUp(terms)
    if terms.used[0].held > MOST_POSTINGS:
        return _LookedUp(terms, _newest(connection, words, within, terms.used[0]), newest_only=True)
    places = _best(connection, words, within, terms)
    return _LookedUp(_theirs(connection, words, terms, places), places)


def _ranked(connection: StoreConnection, within: Within, found: _LookedUp, limit: int) -> RankedFound:
    where, values = _ours(within)
    counted = f"SELECT count(*) FROM conversations AS c WHERE {where} AND c.door NOT IN {RECORDS}"  # noqa: S608 - fixed
    conversations = connection.execute(counted, values).fetchone()[0]
    hits, damaged = _hits(connection, found.places[: limit * _CANDIDATES], limit)
    return RankedFound(tuple(hits), found.terms, conversations, len(found.places), found.newest_only, tuple(damaged))


def _best(connection: StoreConnection, words: WordIndex, within: Within, terms: Terms) -> list[int]:
    """Every place that holds one of the words, the best first."""
    where, values = _conditions(within)
    expression = " OR ".join(term.expression for term in terms.used)
    relevance, weights = words.relevance(connection, expression)
    score = f"{relevance} * CASE e.kind WHEN 'ToolFinished' THEN {_OF_TOOLS} ELSE 1 END"
    rows = connection.execute(
        f"SELECT words.rowid FROM words JOIN entries AS e ON e.id = words.rowid"  # noqa: S608 - fixed text
        f" CROSS JOIN conversations AS c WHERE c.id = e.conversation AND {words.matches} AND {where} ORDER BY {score}",
        (words.expression(expression), *values, *weights),
    )
    return [place for (place,) in rows]


def _newest(connection: StoreConnection, words: WordIndex, within: Within, term: Term) -> list[int]:
    """The newest places that hold a common word, of the newest `MOST_POSTINGS` of everybody's."""
    where, values = _conditions(within)
    rows = connection.execute(
        "SELECT w.place FROM (SELECT rowid AS place FROM words"  # noqa: S608 - fixed text
        f" WHERE {words.matches} ORDER BY rowid DESC LIMIT {MOST_POSTINGS}) AS w JOIN entries AS e ON e.id = w.place"
        f" CROSS JOIN conversations AS c WHERE c.id = e.conversation AND {where} ORDER BY w.place DESC",
        (words.expression(term.newest_first), *values),
    )
    return [place for (place,) in rows]


def _theirs(connection: StoreConnection, words: WordIndex, terms: Terms, places: Sequence[int]) -> Terms:
    """The terms as far as these places tell: that a word stands in what somebody else said is nothing to be told."""
    searched = set(places)
    holding = f"SELECT rowid FROM words WHERE {words.matches}"  # noqa: S608 - fixed text
    held = {
        term.text: sum(one in searched for (one,) in connection.execute(holding, (words.expression(term.expression),)))
        for term in terms.used
    }
    used = tuple(replace(term, held=held[term.text]) for term in terms.used if held[term.text])
    unknown = (*terms.unknown, *(text for text, count in held.items() if not count))
    return replace(terms, used=used, unknown=unknown)


def _hits(connection: StoreConnection, places: Iterable[int], limit: int) -> tuple[list[RankedHit], list[str]]:
    """The first of the places that are no neighbours of one before, each with its own."""
    hits, damaged = list[RankedHit](), list[str]()
    shown: set[tuple[str, int]] = set()
    for place in places:
        if len(hits) == limit:
            break
        row, damage = at_place(connection, place)
        if damage:
            damaged.append(damage)
        found = _passage(row)
        if row is None or found is None or (row.conversation, row.seq) in shown or found.text.startswith(ECHO):
            continue
        conversation = ConversationId(row.conversation)
        earlier = next(_beside(connection, conversation, row.seq, 1, later=False), None)
        later = next(_beside(connection, conversation, row.seq, 1, later=True), None)
        shown |= {(row.conversation, one.seq) for one in (found, earlier, later) if one}
        (door,) = connection.execute("SELECT door FROM conversations WHERE id = ?", (row.conversation,)).fetchone()
        hits.append(RankedHit(conversation, door, found, earlier, later))
    return hits, damaged


def _conditions(within: Within) -> tuple[str, tuple[object, ...]]:
    where, values = _ours(within)
    kinds = KINDS.get(within.kind, ())
    conditions: list[tuple[str, Sequence[object]]] = [
        (where, values),
        *([("e.at >= ?", (within.since,))] if within.since else []),
        *([("e.at < ?", (within.before,))] if within.before else []),
        *([(f"e.kind IN ({', '.join('?' * len(kinds))})", kinds)] if kinds else []),
        *([("NOT (e.conversation = ? AND e.seq >= ?)", (within.own, within.own_before))] if within.own else []),
    ]
    return " AND ".join(condition for condition, _ in conditions), tuple(v for _, given in conditions for v in given)


def _ours(within: Within) -> tuple[str, tuple[object, ...]]:
    """The conversations that are searched: of one principal, and in a group of its chat alone."""
    where, values = "c.owner = ?", [str(within.owner)]
    if within.chat is not None:
        bound = "SELECT conversation FROM doors WHERE door = ? AND chat = ?"
        begun = f"/{within.chat.chat}"
        where += f" AND (c.id IN ({bound}) OR (c.door = ? AND {ends_with('c.workspace')}))"
        values += [within.chat.door, within.chat.chat, within.chat.door, begun, begun]
    if within.folder:
        where += " AND (c.workspace = ? OR substr(c.workspace, 1, length(?)) = ?)"
        beneath = within.folder.rstrip("/") + "/"
        values += [within.folder.rstrip("/"), beneath, beneath]
    return where, tuple(values)


def _beside(
    connection: StoreConnection, conversation: ConversationId, seq: int, most: int, *, later: bool
) -> Iterator[Passage]:
    """What was said next to an entry, nearest first; calls and results are passed over."""
    order, beyond = ("ASC", ">") if later else ("DESC", "<")
    rows = connection.execute(
        f"SELECT seq FROM entries WHERE conversation = ? AND seq {beyond} ? AND kind IN (?, ?, ?)"  # noqa: S608
        f" ORDER BY seq {order} LIMIT ?",
        (conversation, seq, *_SPOKEN, most + _MOST_PASSED),
    )
    found = 0
    for (near,) in rows.fetchall():
        if found < most and (passage := _passage(_row(connection, conversation, near))):
            found += 1
            yield passage


def _row(connection: StoreConnection, conversation: ConversationId, seq: int) -> StoredEntry | None:
    query = "SELECT id FROM entries WHERE conversation = ? AND seq = ?"
    place = connection.execute(query, (conversation, seq)).fetchone()
    return at_place(connection, place[0])[0] if place else None


def _passage(row: StoredEntry | None) -> Passage | None:
    text = word_index.stored(row) if row else ""
    return Passage(row.seq, row.at, row.kind, text) if row and text.strip() else None
