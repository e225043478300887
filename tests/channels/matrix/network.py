"""A fake homeserver on loopback, with people on it, for the conformance checks."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from angelia.channels.capabilities import Kind
from angelia.channels.port import ChannelContext
from angelia.channels.settings import Secret
from angelia.core.entry import Address
from angelia.testing.changes import Changes
from angelia.testing.channels.network import ChannelTimeouts, Thing, Trouble
from tests.channels.matrix import world as w
from tests.channels.matrix.people import happen
from tests.channels.matrix.web import Web

if TYPE_CHECKING:
    from angelia.channels.matrix.channel import MatrixChannel

VARIABLE = "MATRIX_TEST_TOKEN"


class Matrix:
    """See `FakeNetwork`."""

    secrets: Mapping[str, str] = {VARIABLE: w.TOKEN}
    here, group, nowhere = Address("", w.DIRECT), Address("", w.GROUP), Address("", w.NOWHERE)
    broken = ""
    # Synapse, upload_resource.py: a length has to be told, and may be 0
    keeps, takes_empty, forwards = True, True, False

    def __init__(self) -> None:
        self.world, self.changes = w.World(), Changes()
        self.web = Web(self.world, self.changes)
        self.topic = Address("", w.GROUP, self.world.topic)
        self.arrived = self.world.arrived
        self.brought: list[w.Event] = []
        self._up = False

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> "MatrixChannel":
        """See `FakeNetwork.open`."""
        from angelia.channels.matrix.channel import MatrixChannel
        from angelia.channels.matrix.settings import MatrixSettings, MatrixTimeouts

        settings = MatrixSettings(server=self.web.base, token=Secret(env=VARIABLE))
        return MatrixChannel(settings, context, MatrixTimeouts(patience.answer, patience.silence, patience.pause))

    def called(self, name: str) -> str:
        """See `FakeNetwork.called`."""
        return name

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `FakeNetwork.lower`: a homeserver has one limit."""
        self.world.largest = min(limits.values())

    def misbehave(self, *troubles: Trouble) -> None:
        """See `FakeNetwork.misbehave`."""
        self.web.troubles = list(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `FakeNetwork.bring`."""
        before = len(self.world.stream)
        messages = tuple([happen(self.world, thing) for thing in things])
        self.brought += self.world.stream[before:]
        self.changes.tell()
        return messages

    async def repeat(self) -> None:
        """See `FakeNetwork.repeat`."""
        self.world.stream += reversed(self.brought)
        self.changes.tell()

    async def down(self) -> None:
        """See `FakeNetwork.down`."""
        self._up = False
        await self.web.listening.down()

    async def up(self) -> None:
        """See `FakeNetwork.up`."""
        if self.web.mute:
            self.web.mute = False
            await self.web.listening.hang_up()
        if not self._up:
            self.web.listening.up()
        self._up = True

    async def swallow(self) -> None:
        """See `FakeNetwork.swallow`."""
        self.web.mute = True

    def revoke(self) -> None:
        """See `FakeNetwork.revoke`."""
        self.web.valid = False

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `FakeNetwork.when`."""
        await self.changes.when(holds)


@asynccontextmanager
async def matrix(prepare: Callable[[w.World], object] = lambda world: None) -> AsyncIterator[Matrix]:
    """A fresh one, on which something was before; and in the end, nothing was done that nobody may do."""
    network = Matrix()
    prepare(network.world)
    await network.up()
    try:
        yield network
    finally:
        await network.web.listening.close()
    assert network.world.faults == []
