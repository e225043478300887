"""The daily copies of the log after somebody was erased from it: made anew, so that they do not know them either."""

from angelia.store.port import LogStore
from angelia.store.sql.copies import copy_anew
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue

_COPIES = "copies-know-erased"
"""There while the daily copies hold what was erased, or is about to be."""


async def copies_know(key_value: KeyValue) -> None:
    """From now on the copies hold what the log does not."""
    await key_value.put(_COPIES, "yes")


async def make_copies_anew(db: LogStore, key_value: KeyValue) -> bool:
    """If somebody was erased of whom the daily copies still know, make them anew; whether they were."""
    if not await key_value.get(_COPIES):
        return False
    if isinstance(db, Database):  # a server's log has backups of its own
        await copy_anew(db, db.clock())
    await key_value.forget(_COPIES)
    return True
