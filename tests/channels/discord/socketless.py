"""Ways in which a connection to the gateway ends while its session lives on."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from tests.channels.discord.network import Discord


class Lose(Struct, frozen=True):
    """One of them."""

    name: str
    how: Callable[[Discord], Awaitable[None]]


async def _asked(fake: Discord) -> None:
    await fake.gateway.say({"op": 7, "d": None})


async def _closed(fake: Discord) -> None:
    await fake.gateway.close_all(4000)


async def _gone(fake: Discord) -> None:
    await fake.gateway.close_all(1001)


async def _reset(fake: Discord) -> None:
    await fake.gateway.down()
    await fake.gateway.up()


RESUMABLE = (
    Lose("asked to reconnect", _asked),
    Lose("closed with 4000", _closed),
    Lose("closed with 1001", _gone),
    Lose("reset", _reset),
)
