"""Checking a home, deriving its tables anew, copying it, sweeping out what nobody refers to."""

import sqlite3
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from angelia.core import codec
from angelia.core.errors import BadInput, CodecError
from angelia.store.log import projections, word_index
from angelia.store.log.erase import remove_unreferenced
from angelia.store.media.blobs import BlobStore, damaged, missing
from angelia.store.sql.database import FILE, Database, scratch
from angelia.store.sql.faults import explained

DAY_S = 86_400


async def verify(db: Database, blobs: BlobStore) -> list[str]:
    """Everything that is wrong with a home, a sentence each; empty when all is well. Changes nothing.

    Looks at: SQLite's own integrity, gaps in the numbering, every entry, every blob that is referred to, every
    derived table against one derived anew, the full-text index.
    """
    problems = await db.read(_look_at_log)
    if not problems:  # what cannot be read cannot be derived from
        problems += await db.read(_look_at_projections)
    problems += await _look_at_index(db)
    return problems + await _look_at_blobs(db, blobs)


async def rebuild(db: Database) -> None:
    """Derive every table and the full-text index anew from the log. Others wait to write meanwhile.

    Raises:
        CodecError: an entry cannot be read; nothing was changed.
    """
    await db.write(_derive_anew)
    await db.write(word_index.start_over)
    while await db.write(word_index.catch_up):
        pass


async def backup(db: Database, blobs: BlobStore, to: Path) -> None:
    """Copy the home to a new folder, consistently, while others go on working. The copy is a home itself.

    Raises:
        BadInput: `to` exists and is not empty.
        StoreFull, StoreReadOnly: it could not be written there.
        NotFound, StoreDamaged: a blob is missing or damaged; the copy is not complete.
    """
    with explained(to):
        to.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(to.iterdir()):
            raise BadInput(f"{to} is not empty.", then="Name a new folder for the backup.")
    copy = BlobStore(to)
    for sha256 in await db.copy_to(to / FILE, _referenced):
        await _copy_blob(blobs, copy, sha256)


async def sweep(db: Database, blobs: BlobStore, older_than_s: float = DAY_S) -> list[str]:
    """Remove blobs that nothing refers to and nobody has put for so many seconds; returns their names."""
    return await remove_unreferenced(db, blobs, await blobs.aged(older_than_s))


def _look_at_log(connection: sqlite3.Connection) -> list[str]:
    said = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    problems = [f"The database is damaged: {line}." for line in said if line != "ok"]
    gaps = connection.execute(
        "SELECT conversation, max(seq), count(*) FROM entries GROUP BY conversation HAVING max(seq) <> count(*)"
    )
    problems += [f"{conversation} has {count} entries, numbered up to {last}." for conversation, last, count in gaps]
    for conversation, seq, version, body in connection.execute("SELECT conversation, seq, version, body FROM entries"):
        try:
            codec.decode(body, version=version, where=f"Entry {seq} of {conversation}")
        except CodecError as error:
            problems.append(str(error))
    return problems


def _look_at_projections(connection: sqlite3.Connection) -> list[str]:
    anew = scratch()
    try:
        projections.rederive(connection, anew)
        return [problem for table in projections.TABLES for problem in _differences(table, connection, anew)]
    finally:
        anew.close()


def _differences(table: str, stored: sqlite3.Connection, anew: sqlite3.Connection) -> Iterator[str]:
    columns = projections.TABLES[table]
    rows = f"SELECT {columns} FROM {table} ORDER BY {columns}"  # noqa: S608 - names from a table of ours
    for here, there in zip_longest(stored.execute(rows), anew.execute(rows)):
        if here != there:
            yield f"The table {table} says {here}, and the log says {there}; `angelia store rebuild` mends that."
            return


async def _look_at_index(db: Database) -> list[str]:
    try:
        await db.write(_check_index)
    except sqlite3.DatabaseError as error:
        return [f"The full-text index is damaged ({error}); `angelia store rebuild` mends that."]
    found, wanted = await db.read(_count_index)
    if found != wanted:
        return [f"The full-text index knows {found} of {wanted} entries; `angelia store rebuild` mends that."]
    return []


def _check_index(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")


def _count_index(connection: sqlite3.Connection) -> tuple[int, int]:
    (found,) = connection.execute("SELECT count(*) FROM words_docsize").fetchone()
    return found, word_index.count(connection)


async def _look_at_blobs(db: Database, blobs: BlobStore) -> list[str]:
    wanted = await db.read(_referenced)
    there = set(await blobs.all())
    damaged = set(await blobs.verify())
    lost = [f"The blob {sha256} is missing." for sha256 in wanted if sha256 not in there]
    return lost + [f"The blob {sha256} holds other bytes than were stored." for sha256 in wanted if sha256 in damaged]


async def _copy_blob(blobs: BlobStore, copy: BlobStore, sha256: str) -> None:
    path = blobs.path(sha256)
    if not path.exists():
        raise missing(sha256)
    if (await copy.put_file(path, limit=path.stat().st_size)).sha256 != sha256:
        raise damaged(sha256)


def _derive_anew(connection: sqlite3.Connection) -> None:
    projections.empty(connection)
    projections.rederive(connection, connection)


def _referenced(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT DISTINCT sha256 FROM blob_refs ORDER BY sha256")]
