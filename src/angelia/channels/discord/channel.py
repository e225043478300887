"""One bot as a channel: what goes out, and what is fetched."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from urllib.parse import quote

from msgspec.structs import replace

from angelia.channels.capabilities import FILES, Capabilities, NativeMethod
from angelia.channels.discord import send
from angelia.channels.discord.api import DiscordApi, DiscordCall
from angelia.channels.discord.capabilities import UPLOAD, capabilities
from angelia.channels.discord.connection import DiscordConnection
from angelia.channels.discord.payloads import DiscordMessage, DiscordSent, DiscordUser
from angelia.channels.discord.places import Places
from angelia.channels.discord.refusals import no_file
from angelia.channels.discord.settings import DiscordSettings, DiscordWaits
from angelia.channels.failures import CannotFetch, Later, NotSent, Rejected, Unsure
from angelia.channels.incoming import Hear, OfferedFile
from angelia.channels.markup.dialect import Dialect
from angelia.channels.outgoing import OutAlbum, Outgoing, OutText
from angelia.channels.port import AccountIdentity, ChannelContext, ChannelProvider
from angelia.core.entry import Address

_PERMISSIONS = sum(1 << bit for bit in (6, 10, 11, 15, 16, 38, 46))
"""Add reactions, view channels, send messages, attach files, read the history, send in threads, send voice messages
(Discord, "Bitwise Permission Flags").
"""


class DiscordChannel:
    """One bot. See `Channel`, `HasLimitsByChat`, `HasAlbums` and `HasIdentity`."""

    def __init__(self, settings: DiscordSettings, context: ChannelContext, timeouts: DiscordWaits) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities()
        self.dialect: Dialect = send.DIALECT
        self._api = DiscordApi(settings.api, lambda: context.secret(settings.token), timeouts.answer)
        self._places = Places(context.door, self._api)
        self._connection = DiscordConnection(settings, context, self._api, self._places, timeouts)
        self._files = (f"{settings.cdn.rstrip('/')}/", "https://cdn.discordapp.com/", "https://media.discordapp.net/")

    def abilities_in(self, to: Address) -> Capabilities:
        """See `HasLimitsByChat.abilities_in`: a boosted server takes larger files."""
        upload = self._places.upload(to)
        if upload == UPLOAD:
            return self.capabilities
        ways = dict(self.capabilities.ways)
        for kind in FILES:
            way = ways[kind]
            if isinstance(way, NativeMethod):
                ways[kind] = replace(way, limit=upload)
        return replace(self.capabilities, ways=ways)

    async def run(self, hear: Hear) -> None:
        """See `Channel.run`."""
        await self._connection.run(hear)

    async def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
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
        call = await send.call_for(to, outgoing, key, self.abilities_in(to))
        return (await self._api.call(call, DiscordSent)).id

    async def send_album(self, to: Address, album: OutAlbum, key: str) -> Sequence[str]:
        """See `HasAlbums.send_album`."""
        call = send.album_for(to, album, key, self.abilities_in(to))
        return [(await self._api.call(call, DiscordSent)).id] * len(album.files)

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`."""
        said = send.words(text) | {"components": send.rows(text.buttons)}
        await self._api.call(DiscordCall("PATCH", _message(to, message), said), DiscordSent)

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`."""
        await self._api.call(DiscordCall("DELETE", _message(to, message)), type(None))

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`."""
        await self._api.call(DiscordCall("POST", f"/channels/{send.channel_of(to)}/typing"), type(None))

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`."""
        await self._api.call(
            DiscordCall("PUT", f"{_message(to, message)}/reactions/{quote(emoji, safe='')}/@me"), type(None)
        )

    async def identify(self) -> AccountIdentity:
        """See `HasIdentity.identify`. The link lets the bot into a server: nobody can write to it before."""
        me = await self._api.call(DiscordCall("GET", "/users/@me"), DiscordUser)
        application = await self._api.call(DiscordCall("GET", "/oauth2/applications/@me"), DiscordSent)
        return AccountIdentity(
            me.username,
            f"https://discord.com/oauth2/authorize?client_id={application.id}&scope=bot+applications.commands"
            f"&permissions={_PERMISSIONS}",
        )

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
            found = await self._api.call(DiscordCall("GET", f"/channels/{channel}/messages/{message}"), DiscordMessage)
        except Rejected as rejected:
            raise no_file() from rejected
        parts = (found, *(one.message for one in found.message_snapshots))
        urls = [one.url for part in parts for one in part.attachments if one.id == attachment]
        return urls[0] if urls else ""


def _message(to: Address, message: str) -> str:
    return f"/channels/{send.channel_of(to)}/messages/{message}"


CHANNEL = ChannelProvider(DiscordSettings, partial(DiscordChannel, timeouts=DiscordWaits()))
