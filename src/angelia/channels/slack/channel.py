"""One app as a channel: what goes out, and what is fetched."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from angelia.channels.backoff import growing_pause
from angelia.channels.capabilities import Capabilities
from angelia.channels.failures import Later, NotSent, Rejected, Unsure
from angelia.channels.incoming import Hear, OfferedFile
from angelia.channels.markup.dialect import Dialect
from angelia.channels.outgoing import OutAlbum, OutFile, Outgoing, OutText
from angelia.channels.port import AccountIdentity, ChannelContext, ChannelProvider
from angelia.channels.slack import payloads as s
from angelia.channels.slack.api import SlackApi, SlackAsked
from angelia.channels.slack.capabilities import capabilities
from angelia.channels.slack.connection import SlackConnection
from angelia.channels.slack.emoji import name_of
from angelia.channels.slack.refusals import no_file
from angelia.channels.slack.send import DIALECT, checked, sharing, words
from angelia.channels.slack.send import name_of as file_name
from angelia.channels.slack.settings import SlackSettings, SlackWaits
from angelia.channels.webhooks import WebHead, WebRequest, WebResponse
from angelia.core.entry import Address

QUIET = {"unfurl_links": False, "unfurl_media": False}
"""Slack would fetch addresses, and so an answer could carry something away by being shown."""


class SlackChannel:
    """One app in one workspace. See `Channel`, `HasWebhook`, `HasProbe` and `HasIdentity`."""

    def __init__(self, settings: SlackSettings, context: ChannelContext, timeouts: SlackWaits) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities()
        self.dialect: Dialect = DIALECT
        self._timeouts = timeouts
        self._api = SlackApi(settings, context, timeouts)
        self._seen = SlackAsked(wait=timeouts.answer)
        self._connection = SlackConnection(settings, context, self._api, timeouts)
        self._direct: dict[str, str] = {}

    async def run(self, hear: Hear) -> None:
        """See `Channel.run`."""
        await self._connection.run(hear)

    async def admits(self, head: WebHead) -> int | WebResponse:
        """See `HasWebhook.admits`."""
        return await self._connection.webhook.admits(head)

    async def web(self, request: WebRequest) -> WebResponse:
        """See `HasWebhook.web`."""
        return await self._connection.webhook.web(request)

    async def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """See `Channel.fetch`."""
        file, _, url = offer.handle.partition(" ")
        if not url:
            url = await self._where(file)
        async for piece in self._api.download(url):
            yield piece

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`."""
        if isinstance(outgoing, OutText):
            said = words(outgoing) | QUIET | _thread(to)
            sent = await self._api.call(
                "chat.postMessage", said | {"channel": await self._channel(to)}, s.SlackSent, self._seen
            )
            return sent.ts
        return await self._share(to, (outgoing,))

    async def send_album(self, to: Address, album: OutAlbum, key: str) -> Sequence[str]:
        """See `HasAlbums.send_album`."""
        return [await self._share(to, album.files)] * len(album.files)

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`."""
        said = words(text) | {"channel": await self._channel(to), "ts": message}
        await self._api.call("chat.update", said, s.SlackSent, self._seen)

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`."""
        said = {"channel": await self._channel(to), "ts": message}
        await self._api.call("chat.delete", said, dict[str, Any], self._seen)

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`: never."""
        raise Rejected("Slack shows that an app is at work only in its assistant threads.")

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`."""
        name = name_of(emoji)
        if not name:
            raise Rejected(f"Slack knows emoji by their names, and the one of {emoji} is not known here.")
        said = {"channel": await self._channel(to), "timestamp": message, "name": name}
        await self._api.call("reactions.add", said, dict[str, Any], self._seen)

    async def probe(self) -> None:
        """See `HasProbe.probe`."""
        await self._api.call("auth.test", {}, dict[str, Any])

    async def identify(self) -> AccountIdentity:
        """See `HasIdentity.identify`."""
        us = await self._api.call("auth.test", {}, dict[str, Any])
        team, user = us.get("team", ""), us.get("user", "")
        return AccountIdentity(f"{user} in {team}" if team else str(user))

    async def close(self) -> None:
        """See `Channel.close`."""
        await self._api.close()

    async def _channel(self, to: Address) -> str:
        """The id of a chat; a person's stands for the direct messages with them."""
        if not to.chat.startswith(("U", "W")):
            return to.chat
        if to.chat not in self._direct:
            try:
                found = await self._api.call("conversations.open", {"users": to.chat}, s.DirectOpened)
            except Unsure as error:
                raise NotSent(error.what) from error
            self._direct[to.chat] = found.channel.id
        return self._direct[to.chat]

    async def _share(self, to: Address, files: Sequence[OutFile]) -> str:
        """Bring files to Slack, and show them in the chat as one message."""
        taken = [checked(file, self.capabilities) for file in files]
        channel = await self._channel(to)
        ids = [await self._brought(file) for file in taken]
        said = sharing(taken, ids) | _thread(to) | {"channel_id": channel}
        await self._api.call("files.completeUploadExternal", said, dict[str, Any], self._seen)
        return await self._shown(ids[0], channel)

    async def _brought(self, file: OutFile) -> str:
        """Bring one file; nobody sees it yet. Its id."""
        asked = {"filename": file_name(file), "length": file.size}
        try:
            place = await self._api.call("files.getUploadURLExternal", asked, s.SlackPlace)
        except Unsure as error:
            raise NotSent(error.what) from error
        await self._api.upload(place.upload_url, file)
        return place.file_id

    async def _shown(self, file: str, channel: str) -> str:
        """The message that a file stands in: Slack says it only later, when it has looked at the file."""
        loop = asyncio.get_running_loop()
        end, tries = loop.time() + self._timeouts.shown, 0
        while (left := end - loop.time()) > 0:
            pause = growing_pause(self._timeouts.pause, tries, 5.0)
            try:
                found = await self._api.call("files.info", {"file": file}, s.SharedInfo)
                if ts := found.file.shares.in_chat(channel):
                    return ts
            except Rejected:
                return file  # we may send files and not look at them: the file's id has to do
            except Later as later:
                pause = later.seconds
            except (NotSent, Unsure):
                pass
            tries += 1
            await asyncio.sleep(min(pause, left))
        raise Unsure("Slack took the file, and it does not stand in the chat.")

    async def _where(self, file: str) -> str:
        try:
            found = await self._api.call("files.info", {"file": file}, s.FileInfo)
        except Rejected as rejected:
            raise no_file(rejected.what) from rejected
        except (Later, Unsure) as error:
            raise NotSent(error.what) from error
        return found.file.url


def _thread(to: Address) -> dict[str, object]:
    return {"thread_ts": to.thread} if to.thread else {}


CHANNEL = ChannelProvider(SlackSettings, partial(SlackChannel, timeouts=SlackWaits()))
