"""Which conversations may have something open, found without reading those that are known to rest.

Whoever lets go of a conversation in which nothing is open notes with the lease up to which entry that holds. It is the
log's first entries that it is said of, and those never change: so what was noted once stays true, whatever dies. Only
what comes after is looked at, by its kinds; one of which nothing was noted is one that may have something open.
"""

from collections.abc import Sequence
from typing import get_args

from angelia.core.entry import SideFact
from angelia.core.ids import ConversationId
from angelia.store.port import Haste, LogStore, StoreConnection

_AT_ONCE = 500
_ASIDE = ", ".join(f"'{kind.__name__}'" for kind in get_args(SideFact))
"""The kinds that neither open a turn nor go on with one; one that this version does not know is none of them."""


async def unfinished_among(db: LogStore, some: Sequence[ConversationId]) -> list[ConversationId]:
    """Those of some conversations that may have a turn, a message or work that is open, in the same order."""

    def look(connection: StoreConnection) -> set[str]:
        found = set[str]()
        for start in range(0, len(some), _AT_ONCE):
            asked = some[start : start + _AT_ONCE]
            rows = connection.execute(
                "SELECT c.id FROM conversations AS c LEFT JOIN leases AS l ON l.conversation = c.id"  # noqa: S608 - marks
                f" WHERE c.id IN ({', '.join('?' * len(asked))}) AND EXISTS (SELECT 1 FROM entries AS e"
                f" WHERE e.conversation = c.id AND e.seq > coalesce(l.rested, 0) AND e.kind NOT IN ({_ASIDE}))",
                asked,
            )
            found |= {name for (name,) in rows}
        return found

    found = await db.read(look)
    return [one for one in some if one in found]


async def note_rest(db: LogStore, conversation: ConversationId, upto: int) -> None:
    """The first `upto` entries of a conversation leave nothing open; noted where somebody has driven it before."""
    query = "UPDATE leases SET rested = ? WHERE conversation = ? AND rested < ?"
    await db.write(lambda connection: connection.execute(query, (upto, conversation, upto)), Haste.PATIENT)
