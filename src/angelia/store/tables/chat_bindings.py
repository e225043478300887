"""Which conversation each chat is in: the last `DoorMoved` of an address wins."""

from msgspec import Struct

from angelia.core.entry import Address
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to


class ChatBinding(Struct, frozen=True):
    """An address, and the conversation that what is said there belongs to. `person` is None for everybody's."""

    address: Address
    person: Principal | None
    conversation: ConversationId


class ChatBindings:
    """A view of the log."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def conversation(self, address: Address, person: Principal | None = None) -> ConversationId | None:
        """The conversation of this address, and of this person where everybody has their own; None before the first."""
        row = await self._db.read(
            lambda connection: connection.execute(
                "SELECT conversation FROM doors WHERE door = ? AND chat = ? AND thread = ? AND person = ?",
                (address.door, address.chat, address.thread, str(person or "")),
            ).fetchone()
        )
        return ConversationId(row[0]) if row else None

    async def of_door(self, viewer: Principal, door: str) -> list[ChatBinding]:
        """The conversations reached through a door that they may see, the latest first."""
        return await self._db.read(lambda connection: _reached(connection, viewer, "d.door = ?", door), viewer)

    async def of_conversation(self, viewer: Principal, conversation: ConversationId) -> list[ChatBinding]:
        """Every address that leads to a conversation, the latest first; none to one that they may not see."""
        return await self._db.read(
            lambda connection: _reached(connection, viewer, "conversation = ?", conversation), viewer
        )

    async def heard(self, door: str, key: str) -> bool:
        """Whether something came in through a door under this key."""
        row = await self._db.read(
            lambda connection: connection.execute(
                "SELECT 1 FROM inbox WHERE door = ? AND key = ?", (door, key)
            ).fetchone()
        )
        return row is not None

    async def received(self, viewer: Principal, door: str, key: str) -> tuple[ConversationId, int] | None:
        """Where the message stands that came in through a door under this key: the conversation and the entry's number;
        None where there is none that they may see.
        """
        theirs, values = visible_to(viewer, "c.owner")
        row = await self._db.read(
            lambda connection: connection.execute(
                "SELECT conversation, seq FROM inbox JOIN conversations AS c ON c.id = conversation"  # noqa: S608 - fixed text
                f" WHERE inbox.door = ? AND key = ? AND {theirs}",
                (door, key, *values),
            ).fetchone(),
            viewer,
        )
        return (ConversationId(row[0]), int(row[1])) if row else None


def _reached(connection: StoreConnection, viewer: Principal, where: str, value: str) -> list[ChatBinding]:
    theirs, values = visible_to(viewer, "c.owner")
    rows = connection.execute(
        "SELECT d.door, chat, thread, person, conversation FROM doors AS d CROSS JOIN conversations AS c"  # noqa: S608 - fixed text
        f" WHERE c.id = conversation AND {where} AND {theirs} ORDER BY d.place DESC",
        (value, *values),
    )
    return [
        ChatBinding(
            Address(door, chat, thread), Principal.parse(person) if person else None, ConversationId(conversation)
        )
        for door, chat, thread, person, conversation in rows
    ]
