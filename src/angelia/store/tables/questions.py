"""What waits for a person, in all conversations."""

from msgspec import Struct

from angelia.core import codec
from angelia.core.entry import ApprovalAsked
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to


class WaitingQuestion(Struct, frozen=True):
    """An open question: the entry `seq` of a conversation, asked `at` (Unix milliseconds)."""

    conversation: ConversationId
    title: str
    door: str
    seq: int
    at: int
    asked: ApprovalAsked


_SELECT = """
    SELECT q.conversation, c.title, c.door, q.seq, e.at, e.version, e.body
    FROM questions AS q CROSS JOIN conversations AS c JOIN entries AS e ON e.id = q.place
"""


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
    found = []
    for conversation, title, door, seq, at, version, body in connection.execute(_SELECT + where, values):
        asked = codec.decode(body, version=version, where=f"Entry {seq} of {conversation}")
        assert isinstance(asked, ApprovalAsked)
        found.append(WaitingQuestion(ConversationId(conversation), title, door, seq, at, asked))
    return found
