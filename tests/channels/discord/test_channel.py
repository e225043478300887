"""Commands and buttons are acknowledged in time, limits surface, files are found again."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import IncomingKind, Kind, NativeMethod
from angelia.channels.discord.answers import SEEN
from angelia.channels.discord.channel import DiscordChannel
from angelia.channels.discord.settings import DiscordSettings, DiscordWaits
from angelia.channels.failures import Later
from angelia.channels.outgoing import Button, OutFile, OutText
from angelia.channels.port import ChannelContext
from angelia.testing.channels.network import ChannelTimeouts, Thing
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.stage import Stage, staged
from tests.channels.discord import world as w
from tests.channels.discord.network import Discord, discord
from tests.channels.discord.test_connection import network, said

pytestmark = pytest.mark.anyio

EPHEMERAL = 1 << 6


class Impatient(Discord):
    """Its channel says at once that something takes longer."""

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> DiscordChannel:
        settings = DiscordSettings(api=f"{self.rest.base}/api/v10", cdn=f"{self.rest.base}/cdn", **self.settings)
        return DiscordChannel(
            settings, context, DiscordWaits(patience.answer, patience.silence, patience.pause, longer=0.0)
        )


async def pressed(stage: Stage) -> None:
    """Somebody presses a button of ours."""
    about = (await stage.send(OutText("Shall I?", buttons=(Button("Yes", "y"),)))).message
    await stage.network.bring(Thing(IncomingKind.BUTTON, stage.network.here, about=about, value="y"))


async def test_a_command_is_acknowledged_to_who_gave_it() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(Thing(IncomingKind.COMMAND, fake.here, "/status"))
        await fake.when(lambda: bool(fake.rest.answers))
        answer = fake.rest.answers[0]
        assert (answer["type"], answer["data"]["content"], answer["data"]["flags"] & EPHEMERAL) == (4, SEEN, EPHEMERAL)


async def test_a_button_is_acknowledged_by_the_word_or_in_silence() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await pressed(stage)
        await fake.when(lambda: len(fake.rest.answers) == 1)
        stage.word = "Not yours *to press*."
        await pressed(stage)
        await fake.when(lambda: len(fake.rest.answers) == 2)
        assert [one["type"] for one in fake.rest.answers] == [6, 4]
        assert fake.rest.answers[1]["data"]["content"] == r"Not yours \*to press\*."


async def test_what_takes_longer_is_acknowledged_first() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        fake.open = Impatient.open.__get__(fake)  # type: ignore[method-assign]
        await stage.stop()
        await stage.start()
        await stage.connected()
        stage.refuse = lambda envelope: stage.tries[envelope.key] <= 3
        stage.word = "done"
        await fake.bring(Thing(IncomingKind.COMMAND, fake.here, "/status"))
        await fake.when(lambda: len(fake.rest.answers) == 2)
        assert fake.rest.answers[0]["type"] == 5
        assert fake.rest.answers[1]["content"] == "done"


async def test_a_limit_that_is_used_up_is_told_and_nothing_is_asked() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        fake.rest.headers = {"x_ratelimit_remaining": "0", "x_ratelimit_reset_after": "90"}
        await stage.send(OutText("one"))
        asked = len(fake.rest.requests)
        with pytest.raises(Later) as later:
            await stage.channel.send(fake.here, OutText("two"), "key")
        assert 80 < later.value.seconds <= 90
        assert len(fake.rest.requests) == asked
        await stage.channel.send(fake.group, OutText("another chat"), "other key")
        assert [one.text for one in fake.arrived] == ["one", "another chat"]


async def test_a_boosted_server_takes_larger_files(tmp_path: Path) -> None:
    async with staged(discord) as stage:
        fake, channel = network(stage), stage.channel
        assert isinstance(channel, DiscordChannel)
        fake.world.tier = 2
        fake.gateway.tell("GUILD_UPDATE", {"id": w.GUILD, "premium_tier": 2})
        await fake.bring(said("a later event", fake.group))
        await stage.until(lambda: bool(stage.heard))
        way = channel.abilities_in(fake.group).ways[Kind.DOCUMENT]
        assert isinstance(way, NativeMethod)
        assert way.limit == w.LIMITS[2]
        assert channel.abilities_in(fake.here) == channel.capabilities
        path = tmp_path / "large"
        path.write_bytes(bytes(w.LIMITS[0] + 1))
        file = OutFile(Kind.DOCUMENT, path, w.LIMITS[0] + 1, "large", "application/octet-stream")
        await channel.send(fake.group, file, "key")
        assert len(fake.arrived[0].data) == w.LIMITS[0] + 1


async def test_an_address_that_has_expired_is_asked_for_anew() -> None:
    async with staged(discord) as stage:
        fake, sample = network(stage), sample_of(Kind.DOCUMENT)
        await fake.bring(Thing(IncomingKind.DOCUMENT, fake.here, "", (sample,)))
        await stage.until(lambda: bool(stage.heard))
        (offer,) = stage.heard[0].what.offers  # type: ignore[union-attr]
        old = replace(offer, handle=offer.handle.replace("ex=1", "ex=0"))
        assert b"".join([piece async for piece in stage.channel.fetch(old)]) == sample.data


async def test_no_token_goes_where_none_belongs() -> None:
    async with staged(discord) as stage:
        fake = network(stage)
        await fake.bring(Thing(IncomingKind.DOCUMENT, fake.here, "", (sample_of(Kind.DOCUMENT),)))
        await stage.until(lambda: bool(stage.heard))
        (offer,) = stage.heard[0].what.offers  # type: ignore[union-attr]
        assert [piece async for piece in stage.channel.fetch(offer)], "the fake refuses a token on its files"
        assert not any(w.TOKEN in request for request in fake.rest.requests)
