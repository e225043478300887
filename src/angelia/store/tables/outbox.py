"""What is to go out, and what became of it."""

from collections.abc import Mapping

from msgspec import Struct

from angelia.core.content import Content, Text
from angelia.core.entry import Address, DeliveryQueued, Entry, QuestionChoice
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.principal import Principal
from angelia.store.log.examined import at_places
from angelia.store.log.projections import PREVIEW
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to


class Progress(Struct, frozen=True):
    """What is known of a delivery's messages: the network's id of each that `arrived`, and how many sends of each
    other one are in doubt. `preview` is its preview's id, empty if nobody knows it, None if there is none.
    """

    arrived: Mapping[int, str]
    doubts: Mapping[int, int]
    preview: str | None


class Receipt(Struct, frozen=True):
    """Where one delivery stands.

    `status` is `queued`, `sending`, `sent`, `confirmed`, `failed`, `unknown`, `kept`, or `let_be`; `attempt` counts
    starts;
    `seq` is the entry that queued it, and `place` orders the entries of all conversations; `platform_id` and `detail`
    come from its settlement, or say why it was put off. `at` is when it was queued, Unix milliseconds.
    """

    id: DeliveryId
    conversation: ConversationId
    seq: int
    place: int
    address: Address
    parts: tuple[Content, ...]
    origin: str
    status: str
    attempt: int
    platform_id: str
    detail: str
    reply_to: str = ""
    choices: tuple[QuestionChoice, ...] = ()
    after: DeliveryId = DeliveryId("")
    at: int = 0


UNREADABLE = DeliveryQueued(DeliveryId(""), Address("", ""), (Text("(what it says cannot be read)"),), "")
"""Stands for a delivery that cannot be read: damaged, altered, or written by a newer version."""

_SELECT = "SELECT o.id, o.conversation, o.seq, o.place, o.status, o.attempt, o.platform_id, o.detail FROM outbox AS o "
_COUNTED = "SELECT status, count(*) FROM outbox WHERE door = ?"
_BEYOND = 2**62
"""A place after all others."""


class Outbox:
    """A view of the log: `DeliveryQueued`, `DeliveryStarted` and `DeliverySettled` are appended to the transcript."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def pending(self, door: str, after: int = 0) -> list[Receipt]:
        """What is queued, or was being sent when something ended, for this door; in the order it was queued.

        Of those whose place is after `after` alone.
        """
        where = "WHERE o.door = ? AND o.status IN ('queued', 'sending') AND o.place > ? ORDER BY o.place"
        return await self._db.read(lambda connection: _receipts(connection, where, door, after))

    async def last_address(self, conversation: ConversationId, door: str) -> Address | None:
        """Where a conversation was last bound through this door; None if it is not, or not any more."""
        query = "SELECT chat, thread FROM doors WHERE conversation = ? AND door = ? ORDER BY place DESC"
        row = await self._db.read(lambda connection: connection.execute(query, (conversation, door)).fetchone())
        return Address(door, *row) if row else None

    async def at(self, place: int) -> Receipt | None:
        """The delivery that was queued at this place of the log; None if there is none, or not any more."""
        found = await self._db.read(lambda connection: _receipts(connection, "WHERE o.place = ?", place))
        return found[0] if found else None

    async def receipts(self, viewer: Principal, conversation: ConversationId) -> list[Receipt]:
        """Everything that a conversation sent or tried to send, in order; nothing of one that they may not see."""
        theirs, values = visible_to(viewer, "c.owner")
        where = f"JOIN conversations AS c ON c.id = o.conversation WHERE o.conversation = ? AND {theirs} ORDER BY o.seq"
        return await self._db.read(lambda connection: _receipts(connection, where, conversation, *values), viewer)

    async def newest(self, viewer: Principal, limit: int, before: int = 0) -> list[Receipt]:
        """What was last sent or tried in all conversations that they may see, newest first; of those before the
        `place` of another, if it is given.
        """
        theirs, values = visible_to(viewer, "c.owner")
        where = (
            "CROSS JOIN conversations AS c WHERE c.id = o.conversation"
            f" AND o.place < ? AND {theirs} ORDER BY o.place DESC LIMIT ?"
        )
        return await self._db.read(
            lambda connection: _receipts(connection, where, before or _BEYOND, *values, limit), viewer
        )

    async def progress(self, conversation: ConversationId, delivery: DeliveryId) -> Progress:
        """Which messages of a delivery were begun, and which are known to be there."""
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT piece, platform_id, doubts FROM pieces WHERE conversation = ? AND id = ?",
                (conversation, delivery),
            ).fetchall()
        )
        arrived = {piece: platform_id for piece, platform_id, _ in rows if platform_id and piece != PREVIEW}
        doubts = {piece: count for piece, platform_id, count in rows if not platform_id and piece != PREVIEW}
        return Progress(arrived, doubts, next((one for piece, one, _ in rows if piece == PREVIEW), None))

    async def is_settled(self, conversation: ConversationId, delivery: DeliveryId) -> bool:
        """Whether a delivery was queued and has come to its end."""
        where = "conversation = ? AND id = ? AND status NOT IN ('queued', 'sending')"
        found = await self._db.read(
            lambda connection: connection.execute(
                f"SELECT 1 FROM outbox WHERE {where}",  # noqa: S608 - fixed text
                (conversation, delivery),
            ).fetchone()
        )
        return found is not None

    async def by_platform_id(self, door: str, platform_id: str) -> tuple[ConversationId, DeliveryId] | None:
        """The delivery that one of the network's messages belongs to, and its conversation."""
        row = await self._db.read(
            lambda connection: connection.execute(
                "SELECT p.conversation, p.id FROM pieces AS p JOIN outbox AS o USING (conversation, id)"
                " WHERE p.platform_id = ? AND o.door = ? ORDER BY o.place DESC",
                (platform_id, door),
            ).fetchone()
        )
        return (ConversationId(row[0]), DeliveryId(row[1])) if row else None

    async def version(self) -> int:
        """A number that changes when anybody, this process or another, has committed something."""
        return await self._db.data_version()

    async def counts(self, door: str) -> dict[str, int]:
        """How many deliveries of a door wait (`queued`, `sending`), and how many failed or may have (`failed`,
        `unknown`); a status that none has is left out.
        """
        rows = await self._db.read(
            lambda connection: connection.execute(
                f"{_COUNTED} AND status IN ('queued', 'sending') GROUP BY status"
                f" UNION ALL {_COUNTED} AND status IN ('failed', 'unknown') GROUP BY status",
                (door, door),
            ).fetchall()
        )
        return dict(rows)


def _receipts(connection: StoreConnection, where: str, *values: str | int) -> list[Receipt]:
    rows = connection.execute(_SELECT + where, values).fetchall()
    receipts = []
    for row, stored in zip(rows, at_places(connection, [row[3] for row in rows]), strict=True):
        number, conversation, seq, place, status, attempt, platform_id, detail = row
        # Those behind one that cannot be read go out.
        queued = stored.fact if isinstance(stored, Entry) else UNREADABLE
        assert isinstance(queued, DeliveryQueued)
        receipts.append(
            Receipt(
                number,
                conversation,
                seq,
                place,
                queued.address,
                queued.parts,
                queued.origin,
                status,
                attempt,
                platform_id,
                detail,
                queued.reply_to,
                queued.choices,
                queued.after,
                stored.at,
            )
        )
    return receipts
