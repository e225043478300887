"""People who write to the bots of a cluster again and again, while its machines are killed or lose their network."""

import asyncio
import logging
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from angelia.core import entry as e
from angelia.store.port import StoreConnection
from angelia.testing.changes import Changes
from angelia.testing.networks.telegram_world import CHATS
from tests.chats.gateway_lives import PATIENCE_S
from tests.examples import TIMES
from tests.nursery import LivingChild
from tests.store.cluster_kit import Cluster, holders

logger = logging.getLogger("tests.storm")

_FIRST_CHAT = 90_000
_PATIENCE_S = PATIENCE_S * (5 if TIMES else 1)


@contextmanager
def private_chats(count: int) -> Iterator[None]:
    """There are so many at every bot meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        for number in range(_FIRST_CHAT, _FIRST_CHAT + count):
            patch.setitem(CHATS, str(number), {"id": number, "type": "private", "first_name": "Ann"})
        yield


class Storm:
    """People who write through all doors, one in each chat, each once they have their answer. The first one of each
    door asks for what is never answered.
    """

    def __init__(self, cluster: Cluster, chats_each: int) -> None:
        self.cluster, self._chats_each = cluster, chats_each
        self._over = False
        self._writing: list[asyncio.Task[None]] = []
        self.took: dict[str, list[float]] = {"killed": [], "cut off": []}
        """Seconds from a machine's end until others had all that it had."""
        self.waited: list[float] = []
        """Seconds for which each answer was waited for."""
        self._changes = Changes()

    def begin(self) -> None:
        """Everybody writes from now on."""
        everybody = [(door, number) for door in self.cluster.networks for number in range(self._chats_each)]
        self._writing = [asyncio.create_task(self._write(door, number)) for door, number in everybody]

    async def end(self) -> None:
        """Return once everybody has their last answer, no turn is open and nothing is on its way. Those whose question
        is never answered have enough of it.
        """
        self._over = True
        await asyncio.gather(*self._writing)
        for door in self.cluster.networks:
            await self.cluster.say(door, "/stop", e.Address("", str(_FIRST_CHAT)))
        async with asyncio.timeout(_PATIENCE_S):
            while await self.cluster.store.read(_unsettled):  # noqa: ASYNC110 - processes tell
                await asyncio.sleep(0.05)

    async def _write(self, door: str, number: int) -> None:
        """One of them, until it is over."""
        where, turn = e.Address("", str(_FIRST_CHAT + number)), 0
        if number == 0:
            await self.cluster.say(door, "This is never answered", where)
            return
        while not self._over:
            word, begun = f"{door}.{number}.{turn}.", time.monotonic()  # its end shows that an answer is whole
            await self.cluster.say(door, f"Hello {word}", where)
            async with asyncio.timeout(_PATIENCE_S):
                await self.cluster.networks[door].when(partial(self.cluster.was_answered, door, word))
            self.waited.append(time.monotonic() - begun)
            self._changes.tell()
            turn += 1

    async def everybody_was_answered(self) -> None:
        """Return once there are as many answers more as there are people who get any."""
        wanted = len(self.waited) + len(self.cluster.networks) * (self._chats_each - 1)
        async with asyncio.timeout(_PATIENCE_S):
            await self._changes.when(lambda: len(self.waited) >= wanted)

    async def kill(self, number: int, life: LivingChild, how: str) -> None:
        """End a machine's life, and return once others have all that it had."""
        process = f"process {life.pid} on "
        state = await self.cluster.until(lambda state: any(one.process.startswith(process) for one in state.machines))
        [name] = [one.name for one in state.machines if one.process.startswith(process)]
        begun = time.time()
        if how == "cut off":
            self.cluster.apart[number].pull()
        life.kill(signal.SIGKILL)
        await life.ended()
        state = await self.cluster.until(
            lambda state: len(holders(state)) == len(self.cluster.networks) + 1 and name not in holders(state).values()
        )
        # By what the machines wrote, which are on this computer: who looks here waits for 2,000 people as well.
        self.took[how].append(max(max(part.since for part in state.parts) / 1000 - begun, 0))
        logger.info("%s was %s, and replaced after %.2f s", name, how, self.took[how][-1])
        if how == "cut off":
            self.cluster.apart[number].plug_in()


def _unsettled(connection: StoreConnection) -> int:
    (turns,) = connection.execute(
        "SELECT (SELECT count(*) FROM entries WHERE kind = 'UserSaid')"
        " - (SELECT count(*) FROM entries WHERE kind = 'TurnClosed')"
    ).fetchone()
    (sends,) = connection.execute("SELECT count(*) FROM outbox WHERE status IN ('queued', 'sending')").fetchone()
    return int(turns) + int(sends)
