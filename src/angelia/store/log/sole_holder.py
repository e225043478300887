"""What only one process of a store may be at a time, on whichever machine it runs: its gateway."""

import asyncio
from contextlib import suppress

from angelia.core.errors import Fenced, StoreError
from angelia.core.ids import ConversationId
from angelia.store.log.lease import HeldElsewhere, Lease, check, take_row
from angelia.store.port import LogStore, StoreConnection


class HeldByAnother(HeldElsewhere):
    """Another process is it now; `holder` says which."""


class SoleHolder:
    """The right to be `what`, once it is taken. While this process has not let go of it, each of its writes begins with
    a look whether it has it still: so who was stopped past the lease, and replaced, writes nothing more.
    """

    def __init__(self, db: LogStore, what: str, lease: Lease) -> None:
        self._db, self._lease = db, lease
        self._what = what

    async def keep(self) -> None:
        """Hold on to it until this is cancelled. A store that is away is waited for: nobody else reaches it, either.

        Raises:
            Fenced: another process has it.
        """
        while True:
            await asyncio.sleep(self._db.presence.ttl_ms / 3000)
            with suppress(StoreError):
                await self._lease.renew()

    async def release(self) -> None:
        """Let the next one have it at once. Nothing happens if it was lost already."""
        with suppress(Fenced):
            await self._lease.release()
        self._db.require(None)

    def look(self, connection: StoreConnection) -> None:
        """Within a write: raises Fenced, if it was lost."""
        try:
            check(connection, self._lease)
        except Fenced as error:
            raise Fenced(
                f"Another process is the {self._what} of this store now.",
                why="This one did not renew its lease in time.",
                then="Nothing more was written here; what was open goes on there.",
            ) from error


async def take_sole(db: LogStore, what: str) -> SoleHolder:
    """Be `what` from now on. It is taken over from a process that ended at once, from one that hangs, or whose machine
    is cut off, when its lease has expired.

    Raises:
        HeldByAnother: another process is it.
        StoreError: the store cannot be written.
    """
    name = ConversationId(what)  # leases have one table, and no conversation has such an id
    ttl_ms = db.presence.ttl_ms
    try:
        epoch = await db.write(lambda connection: take_row(connection, db, name, f"the {what}", ttl_ms))
    except HeldElsewhere as held:
        raise HeldByAnother(held.holder) from held
    holder = SoleHolder(db, what, Lease(db, name, epoch, ttl_ms))
    db.require(holder.look)
    return holder
