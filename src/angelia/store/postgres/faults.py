"""What PostgreSQL complains about, as errors that say what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from angelia.core.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnreachable

if TYPE_CHECKING:
    import psycopg

LOCKED_MS = 20_000
"""How long a lock is waited for that somebody else has. Who writes has it for milliseconds, a process that was stopped
for two seconds; who copies or rebuilds a store has it until that is done.
"""
_LOCKED = "55P03"
_FULL = ("53100", "53200", "54000")
_READ_ONLY = ("25006", "42501")
_DAMAGED = ("XX001", "XX002")
_CLOSED = ("3D000", "28P01", "28000")
_WITHIN = ("08", "57", "53300", "25P03")
"""SQLSTATEs by which the server goes away, comes up, takes no more connections, or ended one that asked for nothing
(https://www.postgresql.org/docs/current/errcodes-appendix.html).
"""
_TURNED_DOWN = re.compile(
    r"FATAL: +(password authentication failed|database .* does not exist|role .* does not exist|no pg_hba\.conf entry"
    r"|permission denied for database|role .* is not permitted to log in)|no password supplied"
)
"""What is said to somebody who connects and will never be let in: libpq gives no SQLSTATE there. A server that speaks
another language is taken for one that is away.
"""


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Whatever PostgreSQL complains about says what to do about it; `where` is the address without its secrets."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        told = of_postgres(error, where)
        if told is error:
            raise
        raise told from error


def gone(error: Exception) -> bool:
    """Whether the connection is lost, or the server; the same may succeed with the next one."""
    import psycopg

    if not isinstance(error, psycopg.Error) or _turned_down(error):
        return False
    return (error.sqlstate is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)) or (
        error.sqlstate is not None and error.sqlstate.startswith(_WITHIN)
    )


def of_postgres(error: "psycopg.Error", where: str) -> Exception:
    """The error to raise in place of psycopg's own; one that is a fault of ours (a constraint, a typo) stays itself."""
    if gone(error):
        return unreachable(where, str(error))
    said, code = str(error).partition("\n")[0], error.sqlstate or ""
    if code in _FULL:
        return StoreFull(
            f"The database {where} has no room: {said}.",
            then="What was being stored was not accepted; everything stored before is safe.",
        )
    if code in _READ_ONLY:
        return StoreReadOnly(f"The database {where} cannot be written: {said}.", then="Nothing was stored.")
    if code in _DAMAGED:
        return StoreDamaged(f"The database {where} is damaged: {said}.", then="Restore it from its backup.")
    if code == _LOCKED:
        return StoreBusy(
            f"Another process keeps the database {where} locked; this one waited for {LOCKED_MS / 1000:g} seconds.",
            why="It copies this store, rebuilds it, or brings it to a newer version: nothing else takes so long.",
            then="Nothing was written; try again when that is done, or end that process.",
        )
    if code in _CLOSED or _turned_down(error):
        return StoreError(f"The database {where} lets nobody in: {said}.", then="Look at `store` in the settings.")
    return error


def _turned_down(error: Exception) -> bool:
    return bool(_TURNED_DOWN.search(str(error)))


def unreachable(where: str, said: str) -> StoreUnreachable:
    """Nobody answers there."""
    return StoreUnreachable(
        f"The database {where} cannot be reached: {said.partition(chr(10))[0].rstrip('.')}.",
        then="What was being stored was not accepted; everything stored before is safe. Try again when it answers.",
    )
