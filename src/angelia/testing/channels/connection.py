"""Claims about the connection itself: lost ones are noticed, told and mended, and credentials are refused in words."""

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.failures import LoginFailed, NotSent
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import IncomingMessage
from angelia.channels.outgoing import OutText
from angelia.core.ids import sortable_id
from angelia.testing.channels.network import ChannelTimeouts, Thing
from angelia.testing.channels.stage import ChannelCheck, Make, Stage, staged
from angelia.testing.claims import expect


def connection_checks() -> list[ChannelCheck]:
    """What every network must survive."""
    return [ChannelCheck(claim.__name__.replace("_", " "), claim) for claim in _CLAIMS]


async def a_network_that_is_not_there_is_told_as_nothing_sent(make: Make) -> None:
    async with staged(make) as stage:
        await stage.spoken_to()
        await stage.network.down()
        await stage.fails(stage.channel.send(stage.network.here, OutText("x"), sortable_id()), NotSent)
        if stage.channel.capabilities.can(Kind.TYPING):
            await stage.fails(stage.channel.typing(stage.network.here), NotSent)
        await stage.network.up()


async def a_lost_connection_is_told_and_mended(make: Make) -> None:
    async with staged(make) as stage:
        mark = len(stage.health)
        await stage.network.down()
        await _lost(stage, mark)
        expect(
            all(one.why for one in stage.health[mark:] if one.state is ConnectionHealth.WAITING), "it is not told why"
        )
        if stage.network.keeps:
            await stage.network.bring(Thing(IncomingKind.TEXT, stage.network.here, "while you were away"))
        await stage.network.up()
        await _mended(stage, mark)
        if stage.network.keeps:
            await stage.until(lambda: _heard(stage, "while you were away"))
        await stage.send(OutText("I am back"))


async def swallowed_bytes_are_noticed(make: Make) -> None:
    async with staged(make, ChannelTimeouts(silence=0.3)) as stage:
        mark = len(stage.health)
        await stage.network.swallow()
        await _lost(stage, mark)
        await stage.network.up()
        await _mended(stage, mark)


async def a_second_loss_is_mended_like_the_first(make: Make) -> None:
    async with staged(make) as stage:
        for _ in range(2):
            mark = len(stage.health)
            await stage.network.down()
            await _lost(stage, mark)
            await stage.network.up()
            await _mended(stage, mark)


async def refused_credentials_are_told(make: Make) -> None:
    async with staged(make) as stage:
        stage.network.revoke()
        error = await stage.fails(stage.channel.send(stage.network.here, OutText("x"), sortable_id()), LoginFailed)
        expect(bool(error.then), "it is not said where new ones come from")
        await stage.network.down()
        await stage.network.up()
        await stage.over()
        expect(isinstance(stage.ended, LoginFailed), f"`run` ended with {stage.ended!r}")


async def closing_may_be_repeated(make: Make) -> None:
    async with staged(make) as stage:
        await stage.stop()
        await stage.channel.close()
        await stage.start()
        await stage.connected()
        await stage.network.bring(Thing(IncomingKind.TEXT, stage.network.here, "hello"))
        await stage.until(lambda: _heard(stage, "hello"))


async def _lost(stage: Stage, mark: int) -> None:
    """The loss is told."""
    await stage.until(lambda: any(one.state is ConnectionHealth.WAITING for one in stage.health[mark:]))


async def _mended(stage: Stage, mark: int) -> None:
    """Connected again, the gap told, and everything is heard as before."""
    await stage.until(
        lambda: any(one.state is ConnectionHealth.CONNECTED and one.gap_ms > 0 for one in stage.health[mark:])
    )
    await stage.network.bring(Thing(IncomingKind.TEXT, stage.network.here, f"after {mark}"))
    await stage.until(lambda: _heard(stage, f"after {mark}"))


def _heard(stage: Stage, text: str) -> bool:
    return any(envelope.what == IncomingMessage(text) for envelope in stage.heard)


_CLAIMS = (
    a_network_that_is_not_there_is_told_as_nothing_sent,
    a_lost_connection_is_told_and_mended,
    swallowed_bytes_are_noticed,
    a_second_loss_is_mended_like_the_first,
    refused_credentials_are_told,
    closing_may_be_repeated,
)
