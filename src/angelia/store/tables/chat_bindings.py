"""Which conversation each chat is in: the last `DoorMoved` of an address wins."""

import sqlite3

from msgspec import Struct

from angelia.core.entry import Address
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.sql.database import Database


class ChatBinding(Struct, frozen=True):
    """An address, and the conversation that what is said there belongs to. `person` is None for everybody's."""

    address: Address
    person: Principal | None
    conversation: ConversationId


class ChatBindings:
    """A view of the log."""

    def __init__(self, db: Database) -> None:
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

    async def of_door(self, door: str) -> list[ChatBinding]:
        """Everything that is reached through a door, the latest first."""
        return await self._db.read(lambda connection: _reached(connection, "door = ?", door))

    async def of_conversation(self, conversation: ConversationId) -> list[ChatBinding]:
        """Every address that leads to a conversation, the latest first."""
        return await self._db.read(lambda connection: _reached(connection, "conversation = ?", conversation))

    async def heard(self, door: str, key: str) -> bool:
        """Whether something came in through a door under this key."""
        row = await self._db.read(
            lambda connection: connection.execute(
                "SELECT 1 FROM inbox WHERE door = ? AND key = ?", (door, key)
            ).fetchone()
        )
        return row is not None


def _reached(connection: sqlite3.Connection, where: str, value: str) -> list[ChatBinding]:
    rows = connection.execute(
        f"SELECT door, chat, thread, person, conversation FROM doors WHERE {where} ORDER BY place DESC",  # noqa: S608 - fixed text
        (value,),
    )
    return [
        ChatBinding(
            Address(door, chat, thread), Principal.parse(person) if person else None, ConversationId(conversation)
        )
        for door, chat, thread, person, conversation in rows
    ]
