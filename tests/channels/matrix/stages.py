"""What the room's own claims have in common."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from angelia.channels.capabilities import IncomingKind
from angelia.channels.incoming import Envelope, IncomingMessage
from angelia.core.entry import Address
from angelia.testing.channels.network import Thing
from angelia.testing.channels.stage import Stage, staged
from tests.channels.matrix import world as w
from tests.channels.matrix.network import Matrix, matrix


@asynccontextmanager
async def on(prepare: Callable[[w.World], object] = lambda world: None) -> AsyncIterator[tuple[Stage, Matrix]]:
    """A room that is connected, and a homeserver, on which something was before; every wait there has an end."""
    async with asyncio.timeout(120), staged(partial(matrix, prepare)) as stage:
        yield stage, cast("Matrix", stage.network)


def said(text: str, where: Address = Matrix.here, *, to_us: bool = False) -> Thing:
    """Words of the friend's."""
    return Thing(IncomingKind.TEXT, where, text, to_us=to_us)


def once(heard: Sequence[Envelope]) -> list[Envelope]:
    """What was heard, without what was brought again."""
    return list({one.key: one for one in reversed(heard)}.values())[::-1]


def texts(heard: Sequence[Envelope]) -> list[str]:
    """What was said, in order."""
    return [envelope.what.text for envelope in heard if isinstance(envelope.what, IncomingMessage)]


async def heard_of(stage: Stage, network: Matrix, *contents: dict[str, Any], room: str = w.DIRECT) -> list[Envelope]:
    """What is heard of messages of the friend's with these contents, up to a word that follows."""
    before = len(stage.heard)
    for content in contents:
        network.world.happen(room, w.FRIEND, "m.room.message", content)
    await network.bring(said("end"))
    await stage.until(lambda: texts(stage.heard)[-1:] == ["end"])
    return stage.heard[before:-1]
