"""What waits for a person, in all conversations."""

from msgspec import Struct

from angelia.core.entry import ApprovalAsked, Entry
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.log.examined import UnreadableEntry, at_places
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to


class WaitingQuestion(Struct, frozen=True):
    """An open question: the entry `seq` of a conversation, asked `at` (Unix milliseconds). One that is damaged waits as
    well, and says why it cannot be read.
    """

    conversation: ConversationId
    title: str
    door: str
    seq: int
    at: int
    asked: ApprovalAsked | UnreadableEntry


_SELECT = "SELECT q.conversation, c.title, c.door, q.seq, q.place FROM questions AS q CROSS JOIN conversations AS c "


class WaitingQuestions:
    """A view of the log. Those of a child conversation stand in its parent, under the child's name."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def all(self, viewer: Principal) -> list[WaitingQuestion]:
        """What waits in conversations that they may see, oldest first."""
        theirs, values = visible_to(viewer, "c.owner")
        where = f"WHERE c.id = q.conversation AND {theirs} AND c.door <> 'parent' ORDER BY q.place"
        return await self._db.read(lambda connection: _found(connection, where, values), viewer)

    async def counts(self, viewer: Principal) -> dict[ConversationId, int]:
        """How many wait in each conversation that has some."""
        theirs, values = visible_to(viewer, "c.owner")
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT q.conversation, count(*) FROM questions AS q"  # noqa: S608 - fixed text
                f" CROSS JOIN conversations AS c WHERE c.id = q.conversation AND {theirs} AND c.door <> 'parent'"
                " GROUP BY q.conversation",
                values,
            ).fetchall(),
            viewer,
        )
        return {ConversationId(conversation): count for conversation, count in rows}


def _found(connection: StoreConnection, where: str, values: tuple[str, ...]) -> list[WaitingQuestion]:
    rows = connection.execute(_SELECT + where, values).fetchall()
    found = []
    for row, stored in zip(rows, at_places(connection, [row[-1] for row in rows]), strict=True):
        conversation, title, door, seq, _ = row
        asked = stored.fact if isinstance(stored, Entry) else stored
        assert isinstance(asked, ApprovalAsked | UnreadableEntry)
        found.append(WaitingQuestion(ConversationId(conversation), title, door, seq, stored.at, asked))
    return found
