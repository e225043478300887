"""One account as a channel: what goes out, and what is fetched."""

import re
from collections.abc import AsyncIterator
from functools import partial
from typing import NoReturn
from urllib.parse import quote

from angelia.channels.capabilities import Capabilities
from angelia.channels.failures import CannotFetch, Later, MessageGone, NotSent, Rejected, Unsure
from angelia.channels.incoming import Hear, OfferedFile
from angelia.channels.kinds import refuse_too_large
from angelia.channels.lenient import within
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.html import MatrixHtml
from angelia.channels.matrix.api import MatrixApi, path_of
from angelia.channels.matrix.capabilities import TYPING, capabilities
from angelia.channels.matrix.connection import MatrixConnection
from angelia.channels.matrix.payloads import Body, needed
from angelia.channels.matrix.refusals import MatrixNotFound
from angelia.channels.matrix.send import file_content, placed, replacement, words
from angelia.channels.matrix.settings import MatrixSettings, MatrixTimeouts
from angelia.channels.outgoing import Outgoing, OutText
from angelia.channels.port import AccountIdentity, ChannelContext, ChannelProvider
from angelia.core.entry import Address
from angelia.core.ids import sortable_id

_MXC = re.compile(r"mxc://([^/?#]+)/([\w-]+)")


class MatrixChannel:
    """One account. See `Channel` and `HasIdentity`. Nothing readable is sent into an encrypted room."""

    def __init__(self, settings: MatrixSettings, context: ChannelContext, timeouts: MatrixTimeouts) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities(settings)
        self.dialect: Dialect = MatrixHtml()
        self._api = MatrixApi(settings, context, timeouts)
        self._connection = MatrixConnection(context, self._api, timeouts)

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        await self._connection.run(hear)

    async def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """See `Channel.fetch`."""
        place = _MXC.fullmatch(offer.handle)
        if place is None:
            raise CannotFetch("The file has no address on a homeserver; it may be encrypted.")
        try:
            async for piece in self._api.download(place[1], place[2]):
                yield piece
        except Rejected as error:
            raise CannotFetch("The homeserver does not have this file, or not for us.", error.what) from error
        except (Unsure, Later) as error:
            raise NotSent(error.what) from error

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`."""
        await self._must_be_plain(to)
        if isinstance(outgoing, OutText):
            content = words(outgoing)
        else:
            refuse_too_large(outgoing, self.capabilities, "the homeserver")
            content = file_content(outgoing, await self._api.upload(outgoing))
            await self._must_be_plain(to)  # an upload may take minutes
        return await self._put(to, "m.room.message", content | placed(to.thread, outgoing.reply_to), key)

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`."""
        await self._must_be_plain(to)
        await self._must_stand(to, message)
        await self._put(to, "m.room.message", replacement(message, text), sortable_id())

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`."""
        await self._must_stand(to, message)
        await self._api.call("PUT", f"{path_of(to.chat)}/redact/{quote(message, safe='')}/{sortable_id()}", {})

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`."""
        place = f"{path_of(to.chat)}/typing/{quote(self._api.user)}"
        await self._api.call("PUT", place, {"typing": True, "timeout": int(TYPING * 1000)})

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`."""
        await self._must_be_plain(to)
        mark = {"rel_type": "m.annotation", "event_id": message, "key": emoji}
        await self._put(to, "m.reaction", {"m.relates_to": mark}, sortable_id())

    async def identify(self) -> AccountIdentity:
        """See `HasIdentity.identify`."""
        user = await self._api.log_in()
        return AccountIdentity(user, f"https://matrix.to/#/{user}")

    async def close(self) -> None:
        """See `Channel.close`."""
        await self._api.close()

    async def _put(self, to: Address, kind: str, content: Body, key: str) -> str:
        place = f"{path_of(to.chat)}/send/{kind}/{quote(key, safe='')}"
        return needed(await self._api.call("PUT", place, content), "event_id")

    async def _must_be_plain(self, to: Address) -> None:
        if await self._api.is_encrypted(to.chat):
            raise Rejected("The room is encrypted, and nothing readable is sent into it.", then="Use a room without.")

    async def _must_stand(self, to: Address, message: str) -> None:
        try:
            event = await self._api.event(to.chat, message)
        except MatrixNotFound as error:
            raise MessageGone(error.what) from error
        if within(event, "unsigned", "redacted_because", default=Body()):
            raise MessageGone("The message was deleted.")


CHANNEL = ChannelProvider(MatrixSettings, partial(MatrixChannel, timeouts=MatrixTimeouts()))
