"""Checking a home, deriving its tables anew, copying it, sweeping out what nobody refers to."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct

from angelia.core.counts import counted
from angelia.core.errors import BadInput, StoreDamaged
from angelia.core.ids import ConversationId
from angelia.store.log import projections, word_index
from angelia.store.log.closed_turns import log_end
from angelia.store.log.erase import remove_unreferenced
from angelia.store.log.examined import examined, missing_at_end
from angelia.store.media.blobs import BlobStore, damaged
from angelia.store.port import LogStore, StoreConnection
from angelia.store.portable import without_nul
from angelia.store.sql.connections import scratch
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.day_sums import ADD_UP, AS_SUMMED, COLUMNS
from angelia.store.sql.faults import explained
from angelia.store.sql.schema import SPOKEN
from angelia.store.sql.tips import FILE as TIPS
from angelia.store.sql.tips import Tip, Tips, TipsJournal
from angelia.store.sql.wholeness import ends, integrity, lost, not_whole

DAY_S = 86_400

_REBUILD = "`angelia store rebuild` mends that."


async def verify(db: LogStore, blobs: BlobStore) -> list[str]:
    """Everything that is wrong with a home, a sentence each; empty when all is well. Changes nothing.

    Looks at: SQLite's own integrity, every entry with its checksum, the end of every conversation, every blob that is
    referred to, every derived table against one derived anew, the full-text index.
    """
    tips = db.tips.read()  # before the log, which is never behind it
    problems = await db.faults() + await db.read(lambda connection: look_at_log(connection, tips))
    if tips.unreadable:
        problems.append(
            f"{counted(tips.unreadable, 'line')} of {TIPS} cannot be read; nothing of the log is lost by that."
        )
    try:
        if not problems:  # what cannot be read cannot be derived from
            problems += await db.read(_look_at_projections)
            problems += await _look_at_index(db)
        problems += await _look_at_blobs(db, blobs)
    except (StoreDamaged, sqlite3.DatabaseError) as error:
        problems.append(f"What refers to files, and the full-text index, cannot be looked at: {error}")
    return problems


class PartlyVerified(Struct, frozen=True):
    """What is wrong in what was looked at, a sentence each: in `looked` of the `conversations` that there are."""

    problems: tuple[str, ...]
    looked: int
    conversations: int


async def verify_newest(db: LogStore, blobs: BlobStore, entries: int) -> PartlyVerified:
    """As `verify`, whose time grows with the home; where a log has more than so many entries, only the entries of the
    conversations used last, until they have as many together.
    """
    end, count, newest = await db.read(partial(_used_last, entries=entries))
    if end <= entries:
        return PartlyVerified(tuple(await verify(db, blobs)), count, count)
    found = await db.read(lambda connection: [line for one in newest for line in _look_at_entries(connection, one)])
    return PartlyVerified(tuple(found), len(newest), count)


def _used_last(connection: StoreConnection, entries: int) -> tuple[int, int, list[ConversationId]]:
    """The last place of the log, how many conversations there are, and those used last."""
    (count,) = connection.execute(f"SELECT count(*) FROM conversations WHERE {SPOKEN}").fetchone()  # noqa: S608
    latest_first = f"WHERE {SPOKEN} ORDER BY last_minute DESC, last_at DESC, id DESC LIMIT ?"
    rows = connection.execute(f"SELECT id, last_seq FROM conversations {latest_first}", (entries,))  # noqa: S608
    newest: list[ConversationId] = []
    for conversation, last in rows:
        newest.append(ConversationId(conversation))
        entries -= last
        if entries <= 0:
            break
    return log_end(connection), count, newest


async def unreferenced(db: LogStore, blobs: BlobStore) -> tuple[int, int]:
    """How many blobs nobody refers to, and their bytes; all of them, if nobody can read what is referred to."""
    try:
        wanted = set(await db.read(_referenced))
    except StoreDamaged:
        wanted = set()
    sizes = [size for sha256, size in (await blobs.stored()).items() if sha256 not in wanted]
    return len(sizes), sum(sizes)


async def rebuild(db: LogStore, blobs: BlobStore) -> list[str]:
    """Derive every table and the full-text index anew from the log, and bring back from the trash what it refers to.
    Others wait to write meanwhile. Says what could not be read, and so is not in the tables.
    """
    unread = await db.write(_derive_anew)
    await db.write(partial(word_index.start_over, words=db.words))
    while await db.write(partial(word_index.catch_up, words=db.words)):
        pass
    there = set(await blobs.all())
    for sha256 in await db.read(_referenced):
        if sha256 not in there:
            await blobs.bring_back(sha256)
    return unread


async def accept(db: Database, blobs: BlobStore) -> list[str]:
    """Let the log count as it is, whatever it had before; says what that gives up. Tables are derived anew."""
    tips = db.tips.read()
    given_up = await db.read(lambda connection: list(lost(connection, tips)))
    await rebuild(db, blobs)
    await db.write(lambda connection: db.tips.rewrite(ends(connection)))
    return given_up


async def backup(db: LogStore, blobs: BlobStore, to: Path) -> None:
    """Copy the home to a new folder, consistently, while others go on working. The copy is a home itself, with the log
    in it, wherever that lies.

    Raises:
        BadInput: `to` exists and is not empty.
        StoreFull, StoreReadOnly: it could not be written there.
        NotFound, StoreDamaged: the log is not whole, or a blob is missing or damaged; there is no copy of the log.
    """
    with explained(to):
        to.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(to.iterdir()):
            raise BadInput(f"{to} is not empty.", then="Name a new folder for the backup.")
    copy = BlobStore(to)
    try:
        copied = await (copy_log(db, to / FILE) if isinstance(db, Database) else _copy_log_here(db, to))
        for sha256 in copied.referenced:
            await _copy_blob(blobs, copy, sha256)
        with explained(to):
            TipsJournal(to).rewrite(copied.ends)
    except BaseException:
        (to / FILE).unlink(missing_ok=True)  # what is not a whole home must not be taken for one
        raise


class CopiedBlobs(Struct, frozen=True):
    """How many were copied, their bytes; how many were there already."""

    count: int
    size: int
    there: int


async def copy_blobs(db: LogStore, blobs: BlobStore, to: BlobStore) -> CopiedBlobs:
    """Copy every blob that the log refers to, each checked against its name; what is there already, from a copying that
    ended before or from today, is not copied again. What is put meanwhile is for the next time.

    Raises:
        NotFound, StoreDamaged: one is missing or damaged; those before it are there.
        StoreFull, StoreReadOnly, StoreUnreachable: it could not be written there.
    """
    there, wanted = await to.stored(), await db.read(_referenced)
    missing_there = [sha256 for sha256 in wanted if sha256 not in there]
    size = 0
    for sha256 in missing_there:
        size += await _copy_blob(blobs, to, sha256)
    return CopiedBlobs(len(missing_there), size, len(wanted) - len(missing_there))


class CopiedLog(Struct, frozen=True):
    """What is in a copy of a log: where its conversations end, the names of the blobs that it refers to."""

    ends: tuple[Tip, ...]
    referenced: tuple[str, ...]


async def copy_log(db: Database, to: Path) -> CopiedLog:
    """Copy the log to the file `to`, and look whether the copy is whole: no entry less, none altered.

    Raises:
        StoreFull, StoreReadOnly: it could not be written there.
        StoreDamaged: it is not whole, and was removed again.
    """
    tips = db.tips.read()

    def look(connection: StoreConnection) -> CopiedLog:
        if problems := integrity(connection) + look_at_log(connection, tips):
            raise not_whole(db.home / FILE, problems)
        return CopiedLog(tuple(ends(connection)), tuple(_referenced(connection)))

    try:
        return await db.copy_to(to, look)
    except BaseException:
        to.unlink(missing_ok=True)
        raise


async def _copy_log_here(db: LogStore, to: Path) -> CopiedLog:
    """The same of a log that lies elsewhere, into the home `to`."""
    from angelia.store.log.copying import copy_as_it_stands

    with closing(Database.open(to)) as copy:
        await copy_as_it_stands(db, copy)
        copied = await copy.read(lambda connection: CopiedLog(tuple(ends(connection)), tuple(_referenced(connection))))
        await copy.checkpoint()
    return copied


async def sweep(db: LogStore, blobs: BlobStore, before: float) -> list[str]:
    """Put blobs into the trash that nothing refers to and nobody has put since a moment, Unix seconds; returns their
    names.

    Nothing is swept by a log that is not whole, is empty, or is younger than the bytes: they are not its own to judge.

    Raises:
        StoreDamaged: the log is not whole.
    """
    tips = db.tips.read()
    if missing_there := await db.read(lambda connection: list(lost(connection, tips))):
        raise not_whole(db.home / FILE, missing_there)
    born, entries = await db.read(_beginning)
    if not entries:
        return []
    aside = await remove_unreferenced(db, await blobs.aged(before, since=born), blobs.set_aside)
    await blobs.swept(aside)
    return aside


def look_at_log(connection: StoreConnection, tips: Tips) -> list[str]:
    """Everything that is wrong with a log, a sentence each."""
    problems: list[str] = []
    try:
        found = connection.execute("SELECT id FROM conversations UNION SELECT DISTINCT conversation FROM entries")
        for (conversation,) in found.fetchall():
            problems += _look_at_entries(connection, conversation)
        problems += lost(connection, tips)
    except sqlite3.DatabaseError as error:
        problems.append(f"The log cannot be looked through to its end: {error}.")
    return list(dict.fromkeys(problems))


def _look_at_entries(connection: StoreConnection, conversation: ConversationId) -> Iterator[str]:
    yield from (str(one.damage) for one in examined(connection, conversation) if one.damage)
    if end := missing_at_end(connection, conversation):
        yield str(end)


def _beginning(connection: StoreConnection) -> tuple[int, int]:
    """Since when there is this log, in Unix seconds, and whether there is anything in it."""
    (born,) = connection.execute("SELECT at FROM born").fetchone()
    (entries,) = connection.execute("SELECT EXISTS (SELECT 1 FROM entries)").fetchone()
    return born, entries


def _look_at_projections(connection: StoreConnection) -> list[str]:
    anew = scratch()
    try:
        projections.rederive(connection, anew)
        found = [problem for table in projections.TABLES for problem in _differences(table, connection, anew)]
        return found + [problem for table in COLUMNS for problem in _wrong_sums(table, connection)]
    finally:
        anew.close()


def _differences(table: str, stored: StoreConnection, anew: StoreConnection) -> Iterator[str]:
    columns = projections.TABLES[table]
    rows = f"SELECT {columns} FROM {table} ORDER BY {columns}"  # noqa: S608 - names from a table of ours
    for here, there in zip_longest(_legible(stored, rows), _legible(anew, rows)):
        if here != there:
            yield f"The table {table} says {here}, and the log says {there}; {_REBUILD}"
            return


def _wrong_sums(table: str, stored: StoreConnection) -> Iterator[str]:
    columns = COLUMNS[table]
    order = f" ORDER BY {columns}"
    says = _legible(stored, f"SELECT {columns} FROM {table}{order}")  # noqa: S608 - names of ours
    for here, there in zip_longest(says, _legible(stored, AS_SUMMED[table] + order)):
        if here != there:
            yield f"The table {table} says {here}, and what was paid adds up to {there}; {_REBUILD}"
            return


def _legible(connection: StoreConnection, query: str) -> Iterator[tuple[object, ...]]:
    return (tuple(map(without_nul, row)) for row in connection.execute(query))


async def _look_at_index(db: LogStore) -> list[str]:
    if said := await db.index_faults():
        return [f"The full-text index is damaged ({said}); {_REBUILD}"]
    found, wanted = await db.read(lambda connection: (db.words.count(connection), word_index.count(connection)))
    if found != wanted:
        return [f"The full-text index knows {found} of {counted(wanted, 'entry')}; {_REBUILD}"]
    return []


async def _look_at_blobs(db: LogStore, blobs: BlobStore) -> list[str]:
    wanted = await db.read(_referenced)
    there, aside = set(await blobs.all()), set(await blobs.trash())
    changed = set(await blobs.verify())
    gone = [sha256 for sha256 in wanted if sha256 not in there]
    lost_bytes = [f"The blob {sha256} is missing." for sha256 in gone if sha256 not in aside]
    lost_bytes += [f"The blob {sha256} lies in the trash; {_REBUILD}" for sha256 in gone if sha256 in aside]
    altered = [f"The blob {sha256} holds other bytes than were stored." for sha256 in wanted if sha256 in changed]
    return lost_bytes + altered


async def _copy_blob(blobs: BlobStore, copy: BlobStore, sha256: str) -> int:
    path = await blobs.local(sha256)
    ref = await copy.put_file(path, limit=path.stat().st_size)
    if ref.sha256 != sha256:
        raise damaged(sha256)
    return ref.size


def _derive_anew(connection: StoreConnection) -> list[str]:
    projections.empty(connection)
    unread = projections.rederive(connection, connection)
    for statement in ADD_UP:
        connection.execute(statement)
    return unread


def _referenced(connection: StoreConnection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT DISTINCT sha256 FROM blob_refs ORDER BY sha256")]
