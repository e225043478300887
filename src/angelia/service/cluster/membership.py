"""How a gateway takes part in the work of several: it says that it is there, takes what falls to it, and lets it go."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from msgspec import Struct

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core.crash import crash_point
from angelia.core.errors import Fenced, StoreError
from angelia.core.version import PACKAGE_VERSION
from angelia.service.cluster.parts_seen_free import PartsSeenFree
from angelia.service.cluster.shares import shares_of
from angelia.store.log.holdings import Holdings
from angelia.store.log.lease import HeldElsewhere
from angelia.store.port import LogStore
from angelia.store.tables.machines import NO_DRAIN, ClusterState, Machines, machine_lease

_TELL_S = 2.0
"""Seconds between two times that a machine says how it is."""
_DELIVERY_S = 10.0
"""How long what is just being sent through a channel may take before the channel is handed over."""

logger = logging.getLogger("angelia.gateway")


class PartPort(Protocol):
    """What is done where this machine has a part."""

    async def begin(self) -> None:
        """Serve it from now on."""
        ...

    async def end(self, seconds: float) -> None:
        """Begin nothing more of it, give what is just being sent so many seconds, and let go of it."""
        ...


class MembershipDeps(Struct, frozen=True):
    """What a membership works with. `parts` are those that this machine can serve; `refused` are those of them that it
    turned out not to be let in for. `finish` ends the turns that are driven here, within some seconds. `changed` hears
    of each look.
    """

    db: LogStore
    machines: Machines
    parts: Mapping[str, PartPort]
    refused: Callable[[], frozenset[str]]
    finish: Callable[[float], Coroutine[Any, Any, None]]
    changed: Callable[[ClusterState], None]


class Membership:
    """One gateway among those that there are. `name` is the one that `join` found."""

    def __init__(self, deps: MembershipDeps) -> None:
        self._deps = deps
        self._holdings = Holdings(deps.db)
        self._had: list[str] = []
        self._seen_free = PartsSeenFree()
        self._finishing: asyncio.Task[None] | None = None
        self.name = ""

    async def join(self) -> None:
        """Be there, under the name of this computer; where that is taken, with a number after it.

        Raises:
            StoreError: the store cannot be written.
        """
        number = 1
        while not self.name:
            name = socket.gethostname() + (f"-{number}" if number > 1 else "")
            number += 1
            try:
                await self._holdings.take(machine_lease(name), self._deps.db.presence.here)
            except HeldElsewhere:
                continue
            self.name = name
        await self._deps.machines.forget(self.name)
        await self._tell()

    async def keep(self) -> None:
        """Hold on to what is held here, until cancelled: until `leave` is done. A store that is away is waited for.

        Raises:
            Fenced: others have taken it, since this machine was not heard of for too long.
        """
        await self._holdings.keep()

    async def work(self) -> None:
        """Take and let go, until cancelled. Raises as `keep`."""
        telling = asyncio.create_task(self._go_on_telling())
        try:
            while not telling.done():
                try:
                    await self._look()
                except StoreError as error:
                    end_if_cancelled()
                    logger.warning("who has which part of the work cannot be looked at: %s", error)
                await asyncio.sleep(self._seen_free.next_look_ms(time.monotonic()) / 1000)
            await telling
        finally:
            await cancel_and_wait(telling)

    async def hand_over(self, seconds: float) -> None:
        """End every part that is held here, giving what is being sent so long, and let others have each at once."""
        await asyncio.gather(*(self._let_go(name, seconds) for name in tuple(self._had)))

    async def leave(self) -> None:
        """Be there no more, once nothing goes on here."""
        await cancel_and_wait(self._finishing)
        try:
            await self._deps.machines.forget(self.name)
            await self._holdings.release_all()
        except (StoreError, Fenced) as error:
            logger.warning("what this machine held is free when its time is over: %s", error)

    async def _look(self) -> None:
        state = await self._deps.machines.state()
        self._deps.changed(state)
        self._seen_free.look(self.name, state, time.monotonic())
        shares = shares_of(self.name, state, self._seen_free.free_ms(time.monotonic()))
        for name in shares.let_go:
            await self._let_go(name, _DELIVERY_S)
        await asyncio.gather(*(self._take(name) for name in shares.take & self._deps.parts.keys()))
        await self._drain(next((one.drain for one in state.machines if one.name == self.name), NO_DRAIN))

    async def _take(self, name: str) -> None:
        try:
            await self._holdings.take(name, self.name)
        except HeldElsewhere:
            return  # another one was quicker
        crash_point("cluster.taken")
        self._had.append(name)
        await self._deps.parts[name].begin()

    async def _let_go(self, name: str, seconds: float) -> None:
        """It is free for the next one only once nothing of it goes on here."""
        if name in self._had:
            self._had.remove(name)
            await self._deps.parts[name].end(seconds)
        crash_point("cluster.before_release")
        try:
            await self._holdings.release(name)
        except StoreError as error:
            logger.warning("%s is free when its time is over: %s", name, error)

    async def _drain(self, seconds: int) -> None:
        if seconds == NO_DRAIN:
            self._finishing = None
        elif self._finishing is None:
            logger.info("what is under way is finished within %d s, and goes on elsewhere", seconds)
            self._finishing = asyncio.create_task(self._deps.finish(float(seconds)))

    async def _go_on_telling(self) -> None:
        """Beside the looks: who has much to do waits for each of its writes, and sees late then who is gone."""
        while True:
            await asyncio.sleep(_TELL_S)
            try:
                await self._tell()
            except StoreError as error:
                end_if_cancelled()
                logger.warning("how this machine is cannot be told: %s", error)

    async def _tell(self) -> None:
        load = int(os.getloadavg()[0] * 1000 / (os.cpu_count() or 1))
        wants = frozenset(self._deps.parts) - self._deps.refused()
        await self._deps.machines.tell(self.name, PACKAGE_VERSION, wants, load)
