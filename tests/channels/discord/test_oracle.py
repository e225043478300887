"""The fake is Discord's likeness: discord.py, which nobody here wrote, works with it and finds nothing missing."""

import asyncio
import io
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from yarl import URL

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.testing.channels.network import Thing
from tests.channels.discord import world as w
from tests.channels.discord.network import Discord, discord

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of a codec that it loads for calls
    import discord as library
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

pytestmark = pytest.mark.anyio


class Client(library.Client):
    """Gathers what it is told."""

    def __init__(self) -> None:
        intents = library.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        intents.dm_reactions = True
        super().__init__(intents=intents)
        self.told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    async def on_ready(self) -> None:
        self.told.put_nowait(("ready", self.user))

    async def on_message(self, message: library.Message) -> None:
        if message.author != self.user:
            self.told.put_nowait(("message", message))

    async def on_raw_reaction_add(self, payload: library.RawReactionActionEvent) -> None:
        self.told.put_nowait(("reaction", payload))

    async def on_interaction(self, interaction: library.Interaction) -> None:
        self.told.put_nowait(("interaction", interaction))

    async def on_message_edit(self, before: library.Message, after: library.Message) -> None:
        self.told.put_nowait(("edit", after))

    async def next(self, name: str) -> Any:
        """What is told next, which must be of that name."""
        async with asyncio.timeout(60):
            told, what = await self.told.get()
        assert told == name
        return what


@asynccontextmanager
async def connected(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Discord, Client]]:
    """The library's client on the fake."""
    async with discord() as fake:
        monkeypatch.setattr(Route, "BASE", f"{fake.rest.base}/api/v10")
        monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", URL(fake.gateway.url))
        client = Client()
        running = asyncio.create_task(client.start(w.TOKEN))
        try:
            assert (await client.next("ready")).id == int(w.US)
            yield fake, client
        finally:
            await client.close()
            running.cancel()
            await asyncio.wait([running])


async def test_it_hears_what_people_do(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(monkeypatch) as (fake, client):
        guild = client.get_guild(int(w.GUILD))
        assert guild
        assert guild.filesize_limit == w.LIMITS[0]
        assert isinstance(guild.get_thread(int(w.TOPIC)), library.Thread)
        (number,) = await fake.bring(Thing(IncomingKind.TEXT, fake.group, "hello", to_us=True))
        heard = await client.next("message")
        assert (heard.id, heard.content) == (int(number), f"<@{w.US}> hello")
        assert client.user in heard.mentions
        await fake.bring(Thing(IncomingKind.EDIT, fake.group, "hello again", about=number))
        assert (await client.next("edit")).content == "hello again"
        (direct,) = await fake.bring(Thing(IncomingKind.TEXT, fake.here, "psst"))
        assert isinstance((await client.next("message")).channel, library.DMChannel)
        await fake.bring(Thing(IncomingKind.TEXT, fake.here, "not mine", forwarded=True))
        forward = await client.next("message")
        assert (forward.content, [one.content for one in forward.message_snapshots]) == ("", ["not mine"])
        await fake.bring(Thing(IncomingKind.REACTION, fake.here, "👍", about=direct))
        assert str((await client.next("reaction")).emoji) == "👍"
        await fake.bring(Thing(IncomingKind.COMMAND, fake.here, "/status now"))
        assert (await client.next("interaction")).data["options"][0]["value"] == "now"


async def test_it_sends_edits_and_deletes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(monkeypatch) as (fake, client):
        channel = client.get_channel(int(w.GROUP))
        assert isinstance(channel, library.TextChannel)
        pressed = library.ui.View()
        pressed.add_item(library.ui.Button(label="Yes", custom_id="y"))
        message = await channel.send("**bold** words", view=pressed, nonce="n1")
        picture = library.File(io.BytesIO(b"\x89PNG"), "größe.png")
        again = await channel.send("look", file=picture, reference=message)
        await message.edit(content="other words")
        await message.add_reaction("👍")
        await again.delete()
        kinds = [one.kind for one in fake.arrived]
        assert kinds == [Kind.TEXT, Kind.PHOTO, Kind.EDIT, Kind.REACTION, Kind.DELETE]
        first, second = fake.arrived[:2]
        assert (first.text, first.buttons[0].label) == ("bold words", "Yes")
        assert (second.text, second.data, second.reply_to) == ("look", b"\x89PNG", str(message.id))


async def test_what_breaks_the_published_schema_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(monkeypatch) as (fake, client):
        channel = await client.fetch_channel(int(w.GROUP))
        assert isinstance(channel, library.TextChannel)
        with pytest.raises(library.HTTPException):
            await channel.send("words", nonce="x" * 26)
        assert fake.arrived == []
