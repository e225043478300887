"""The full-text index: what of an entry is findable, how it is cut into words, how the index follows the log."""

import re
import unicodedata
from contextlib import closing

from angelia.core import codec
from angelia.core.content import Content, Media, ReplyPart, Text
from angelia.core.entry import AnyFact, ModelSaid, ToolFinished, Transcribed, UserSaid
from angelia.core.errors import BadInput, CodecError
from angelia.store.log.chain import COLUMNS, StoredEntry, is_copied
from angelia.store.log.examined import by_place
from angelia.store.port import StoreConnection, WordIndex
from angelia.store.sql.connections import scratch

STRIDE = 64
"""Entries that the index may lag behind. Indexing them together costs a tenth of indexing them one by one."""

_SLICE = 2048
"""Entries that one step of `catch_up` reads."""

_TOOL_HEAD = 2000
"""Characters of a tool's result that can be found."""

# Han, kana (without their punctuation), Hangul: written without spaces, or with words that grow by suffixes.
_CJK = "々〇ぁ-ゖゝ-ゟァ-ヺー-ヿ㐀-䶿一-鿿가-힣豈-\ufaff\U00020000-\U0003ffff"
RUN = f"[{_CJK}]+"
"""A pattern that takes 4 ms to compile, which most runs of the program never need."""
_TERM = r'"([^"]*)"|(\S+)'
_HAS_WORD = r"[^\W_]"


def findable(fact: AnyFact) -> str:
    """The text by which a person can find this entry; empty when there is none."""
    match fact:
        case UserSaid(parts=parts):
            return _text(parts)
        case Transcribed(spoken=spoken):
            return "\n".join(one.text for one in spoken if one.text)
        case ModelSaid(parts=replied):
            return _text(replied)
        case ToolFinished(parts=parts):
            return _text(parts)[:_TOOL_HEAD]
        case _:
            return ""


def _text(parts: tuple[Content | ReplyPart, ...]) -> str:
    said = [part.text for part in parts if isinstance(part, Text)]
    named = [words for part in parts if isinstance(part, Media) for words in (part.name, part.words) if words]
    return "\n".join((*said, *named))


def cut(text: str) -> str:
    """Text as the index takes it: runs of CJK as overlapping pairs, and the last character on its own.

    The pairs make a run findable as a phrase; with the last character every single one begins some token.

    >>> cut("in 東京都")
    'in  東京 京都 都 '
    """
    return re.sub(RUN, _pairs, unicodedata.normalize("NFKC", text))


def _pairs(run: re.Match[str]) -> str:
    text = run.group()
    return f" {' '.join(text[at : at + 2] for at in range(len(text)))} "


def expression(query: str) -> str:
    """An FTS5 expression for entries with all words of `query`; `"quoted words"` stay together, `begin*` begins one.

    >>> expression('the "big fish" 東京都 re*')
    '"the" AND "big fish" AND "東京 京都" AND "re"*'

    Raises:
        BadInput: there is no word in it.
    """
    normal = unicodedata.normalize("NFKC", query)
    words = (quoted or word for quoted, word in re.findall(_TERM, normal))
    terms = [_term(word) for word in words if re.search(_HAS_WORD, word)]
    if not terms:
        raise BadInput(f"There is no word to search for in “{query}”.", then="Write one or more words.")
    return " AND ".join(terms)


def _term(term: str) -> str:
    begins = term.endswith("*")
    text = re.sub(RUN, _query_pairs, term.rstrip("*").replace('"', " ")).strip()
    lonely = len(text) == 1 and re.fullmatch(RUN, text)
    return f'"{text}"*' if begins or lonely else f'"{text}"'


def _query_pairs(run: re.Match[str]) -> str:
    text = run.group()
    return f" {' '.join(text[at : at + 2] for at in range(max(len(text) - 1, 1)))} "


def catch_up(connection: StoreConnection, words: WordIndex) -> int:
    """Index the next entries that are not indexed yet; returns how many were looked at, 0 when there are none."""
    (upto,) = connection.execute("SELECT upto FROM indexed").fetchone()
    rows = list(by_place(connection, upto, _SLICE))
    words.put(connection, [(place, cut(text)) for place, row in rows if row and (text := stored(row))])
    if rows:
        connection.execute("UPDATE indexed SET upto = ?", (rows[-1][0],))
    return len(rows)


def not_indexed(connection: StoreConnection, expression: str) -> list[int]:
    """The places of entries that match and that the index has not come to, newest first; a reader cannot index them.

    There are less than `STRIDE` of them, unless indexing was interrupted.
    """
    (upto,) = connection.execute("SELECT upto FROM indexed").fetchone()
    beyond = [(place, stored(row)) for place, row in by_place(connection, upto) if row]
    if not any(text for _, text in beyond):
        return []
    with closing(scratch()) as own:
        own.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", [(at, cut(text)) for at, text in beyond])
        matching = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC"
        return [place for (place,) in own.execute(matching, (expression,))]


def forget(connection: StoreConnection, words: WordIndex, conversation: str) -> None:
    """Take a conversation, whose entries are still there, out of the index."""
    words.take_out(connection, _texts(connection, conversation))


def put_again(connection: StoreConnection, words: WordIndex, conversation: str) -> None:
    """Index a conversation that was taken out, by what its entries say now."""
    words.put(connection, _texts(connection, conversation))


def _texts(connection: StoreConnection, conversation: str) -> list[tuple[int, str]]:
    (upto,) = connection.execute("SELECT upto FROM indexed").fetchone()
    query = f"SELECT id, {COLUMNS} FROM entries WHERE conversation = ? AND id <= ?"  # noqa: S608 - fixed names
    rows = connection.execute(query, (conversation, upto)).fetchall()
    return [(at, cut(text)) for at, *row in rows if (text := stored(StoredEntry(*row)))]


def start_over(connection: StoreConnection, words: WordIndex) -> None:
    """Empty the index; `catch_up` fills it again."""
    words.clear(connection)
    connection.execute("UPDATE indexed SET upto = 0")


def count(connection: StoreConnection) -> int:
    """How many entries the index ought to know."""
    (upto,) = connection.execute("SELECT upto FROM indexed").fetchone()
    rows = (row for place, row in by_place(connection) if row and place <= upto)
    return sum(1 for row in rows if stored(row))


def stored(row: StoredEntry) -> str:
    """The text by which a stored entry can be found."""
    if is_copied(row) or row.kind not in ("UserSaid", "Transcribed", "ModelSaid", "ToolFinished"):
        return ""
    try:
        return findable(codec.decode(row.body, version=row.version))
    except CodecError:  # nobody can find what nobody can read; `verify` names it
        return ""
