"""The room of one bot: what goes out, and what is fetched."""

from collections.abc import AsyncIterator
from functools import partial
from urllib.parse import quote

from msgspec.structs import replace

from angelia.channels.abilities import FILES, Abilities, Native
from angelia.channels.dialects import Dialect
from angelia.channels.discord import messages
from angelia.channels.discord.api import Api, Call
from angelia.channels.discord.connection import Connection
from angelia.channels.discord.places import Places
from angelia.channels.discord.refusals import no_file
from angelia.channels.discord.settings import DiscordSettings, Waits
from angelia.channels.discord.shapes import Message, Sent
from angelia.channels.discord.table import UPLOAD, abilities
from angelia.channels.failures import CannotFetch, Later, NotSent, Rejected, Unsure
from angelia.channels.incoming import Hear, Offer
from angelia.channels.outgoing import Outgoing, OutText
from angelia.channels.port import Outfit, Room
from angelia.core.entry import Address


class DiscordChannel:
    """One bot. See `Channel` and `HasLimitsByChat`."""

    def __init__(self, settings: DiscordSettings, outfit: Outfit, waits: Waits) -> None:
        self.door = outfit.door
        self.abilities: Abilities = abilities()
        self.dialect: Dialect = messages.DIALECT
        self._api = Api(settings.api, lambda: outfit.secret(settings.token), outfit.http, waits.answer)
        self._places = Places(outfit.door, self._api)
        self._connection = Connection(settings, outfit, self._api, self._places, waits)
        self._files = (f"{settings.cdn.rstrip('/')}/", "https://cdn.discordapp.com/", "https://media.discordapp.net/")

    def abilities_in(self, to: Address) -> Abilities:
        """See `HasLimitsByChat.abilities_in`: a boosted server takes larger files."""
        upload = self._places.upload(to)
        if upload == UPLOAD:
            return self.abilities
        ways = dict(self.abilities.ways)
        for kind in FILES:
            way = ways[kind]
            if isinstance(way, Native):
                ways[kind] = replace(way, limit=upload)
        return replace(self.abilities, ways=ways)

    async def run(self, hear: Hear) -> None:
        """See `Channel.run`."""
        await self._connection.run(hear)

    async def fetch(self, offer: Offer) -> AsyncIterator[bytes]:
        """See `Channel.fetch`. An address is good for a day, and then asked for anew."""
        where, _, url = offer.handle.partition(" ")
        try:
            try:
                async for piece in self._download(url):
                    yield piece
            except CannotFetch:
                async for piece in self._download(await self._address(where)):
                    yield piece
        except (Unsure, Later) as error:
            raise NotSent(error.what) from error

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`."""
        call = await messages.call_for(to, outgoing, key, self.abilities_in(to))
        return (await self._api.call(call, Sent)).id

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`."""
        said = messages.words(text) | {"components": messages.rows(text.buttons)}
        await self._api.call(Call("PATCH", _message(to, message), said), Sent)

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`."""
        await self._api.call(Call("DELETE", _message(to, message)), type(None))

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`."""
        await self._api.call(Call("POST", f"/channels/{messages.channel_of(to)}/typing"), type(None))

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`."""
        await self._api.call(Call("PUT", f"{_message(to, message)}/reactions/{quote(emoji, safe='')}/@me"), type(None))

    async def close(self) -> None:
        """See `Channel.close`."""
        await self._api.close()

    async def _download(self, url: str) -> AsyncIterator[bytes]:
        if not url.startswith(self._files):
            raise no_file()
        async for piece in self._api.download(url):
            yield piece

    async def _address(self, where: str) -> str:
        """A fresh address of an attachment, by its message."""
        channel, _, rest = where.partition("/")
        message, _, attachment = rest.partition("/")
        if not attachment:
            raise no_file()
        try:
            found = await self._api.call(Call("GET", f"/channels/{channel}/messages/{message}"), Message)
        except Rejected as rejected:
            raise no_file() from rejected
        parts = (found, *(one.message for one in found.message_snapshots))
        urls = [one.url for part in parts for one in part.attachments if one.id == attachment]
        return urls[0] if urls else ""


def _message(to: Address, message: str) -> str:
    return f"/channels/{messages.channel_of(to)}/messages/{message}"


ROOM = Room(DiscordSettings, partial(DiscordChannel, waits=Waits()))
