"""What one process of a store holds for all of them, on whichever machine it runs: channels, the clock, its own name.

A process that was stopped past its leases, or cut off, and wakes up later must not go on as if nothing had happened:
somebody else has what it held. So each of its writes looks whether it has everything still, in the same transaction;
what has been taken from it makes all of them fail, also those about what it has yet, since a process of which others
believe that it is gone knows nothing that it could rely on.

A write that finds everything there renews it, if that is due: a renewal of its own would wait behind all that is
queued, and of a process that has much to do others would believe that it hangs.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from angelia.cancellation import end_if_cancelled
from angelia.core.errors import Fenced, StoreError
from angelia.core.ids import Clock, steady_clock
from angelia.store.log.lease import take_row
from angelia.store.port import Haste, LogStore, StoreConnection

Held = tuple[tuple[str, int], ...]
"""Names, each with the epoch of its lease."""


class Holdings:
    """The leases that this process has beside those of conversations; made once for a store."""

    def __init__(self, db: LogStore, steady: Clock = steady_clock) -> None:
        self._db, self._steady = db, steady
        self._held: Held = ()
        self._renewed = 0

    async def take(self, name: str, holder: str) -> None:
        """Hold `name` from now on; others are told that `holder` has it. It is taken over from a process that ended,
        from one that hangs, or whose machine is cut off, when its lease has expired.

        Raises:
            HeldElsewhere: another process has it.
            Fenced: something that was held here was lost.
            StoreError: the store cannot be written.
        """
        ttl_ms = self._db.presence.ttl_ms
        epoch = await self._db.write(
            lambda connection: take_row(connection, self._db, name, holder, ttl_ms), Haste.URGENT
        )
        self._require((*self._held, (name, epoch)))

    async def release(self, name: str) -> None:
        """Let the next one have it at once. Nothing happens if it is not held here, or was lost."""
        given_up = [one for one in self._held if one[0] == name]
        self._require(tuple(one for one in self._held if one[0] != name))
        with suppress(Fenced):
            await self._db.write(lambda connection: _release(connection, given_up), Haste.URGENT)

    async def release_all(self) -> None:
        """Let others have everything at once."""
        given_up = self._held
        self._require(())
        await self._db.write(lambda connection: _release(connection, given_up))

    async def keep(self) -> None:
        """Hold on to everything until this is cancelled. A store that is away is waited for: nobody else reaches it,
        either.

        Raises:
            Fenced: another process has something of it.
        """
        while True:
            await asyncio.sleep(self._db.presence.ttl_ms / 3000)
            try:
                await self._db.write(lambda _: None, Haste.URGENT)  # as each write, it renews what is held
            except StoreError:
                end_if_cancelled()

    def _require(self, held: Held) -> None:
        self._held = held
        self._db.require(self._look if held else None)

    def _prolong(self, connection: StoreConnection) -> None:
        expires = self._db.presence.until(connection, self._db.presence.ttl_ms)[1]
        for name, epoch in self._held:
            connection.execute(
                "UPDATE leases SET expires = ? WHERE conversation = ? AND epoch = ?", (expires, name, epoch)
            )

    def _look(self, connection: StoreConnection) -> Callable[[], None]:
        held = self._held
        which = " OR ".join(["(conversation = ? AND epoch = ?)"] * len(held)) or "1 = 0"
        values = [value for one in held for value in one]
        rows = connection.execute(f"SELECT conversation FROM leases WHERE {which}", values)  # noqa: S608 - marks

        def judge() -> None:
            left = {name for (name,) in rows}
            if lost := sorted(name for name, _ in held if name not in left):
                raise Fenced(
                    f"Another process has taken over from this one: {', '.join(lost)}.",
                    why="This one did not renew its lease in time.",
                    then="Nothing more was written here; what was open goes on there.",
                )
            if self._steady() - self._renewed >= self._db.presence.ttl_ms / 4:  # the other clock may be set back
                self._prolong(connection)
                self._renewed = self._steady()

        return judge


def _release(connection: StoreConnection, held: "Held | list[tuple[str, int]]") -> None:
    for name, epoch in held:
        connection.execute(
            "UPDATE leases SET presence = '', expires = 0 WHERE conversation = ? AND epoch = ?", (name, epoch)
        )
