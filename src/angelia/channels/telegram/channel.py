"""One bot as a channel: what goes out, and what is fetched."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from angelia.channels.capabilities import Capabilities
from angelia.channels.failures import CannotFetch, Later, NotSent, Rejected, Unsure
from angelia.channels.incoming import Hear, OfferedFile
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.html import TelegramHtml
from angelia.channels.multipart import pieces
from angelia.channels.outgoing import OutAlbum, Outgoing, OutText
from angelia.channels.port import AccountIdentity, ChannelContext, ChannelProvider
from angelia.channels.telegram.api import TelegramApi
from angelia.channels.telegram.capabilities import LOCAL_UPLOAD, UPLOAD, capabilities, is_private, without_drafts
from angelia.channels.telegram.connection import TelegramConnection
from angelia.channels.telegram.payloads import TelegramFile, TelegramSent, TelegramUser
from angelia.channels.telegram.refusals import FETCH_LIMIT, ChatMoved, NoText, NotModified
from angelia.channels.telegram.send import TelegramCall, album_for, call_for, draft_for, keyboard, words
from angelia.channels.telegram.settings import TelegramSettings, TelegramWaits
from angelia.channels.webhooks import WebHead, WebRequest, WebResponse
from angelia.core.entry import Address


class TelegramChannel:
    """One bot. See `Channel`, `HasWebhook`, `HasLimitsByChat`, `HasAlbums`, `HasDrafts`, `HasProbe` and `HasIdentity`.

    Drafts exist in private chats: since Bot API 9.3 for bots with topics, since 9.5 for all. Apps show one like a
    message at the chat's end, fade in what it has grown by, and remove it when a message of ours comes or its time is
    over (core.telegram.org/api/bots/ai, "Live response streaming"). Where one was refused, by Telegram or by a server
    of one's own that is too old, none is tried any more.
    """

    def __init__(self, settings: TelegramSettings, context: ChannelContext, timeouts: TelegramWaits) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities(LOCAL_UPLOAD if settings.local else UPLOAD)
        self.dialect: Dialect = TelegramHtml()
        self._local = settings.local
        self._api = TelegramApi(settings.api, lambda: context.secret(settings.token), timeouts.answer)
        self._connection = TelegramConnection(settings, context, self._api, timeouts)
        self._moved: dict[str, str] = {}
        self._undrafted: set[str] = set()

    async def run(self, hear: Hear) -> None:
        """See `Channel.run`."""
        await self._connection.run(hear)

    async def admits(self, head: WebHead) -> int | WebResponse:
        """See `HasWebhook.admits`."""
        return await self._connection.admits(head)

    async def web(self, request: WebRequest) -> WebResponse:
        """See `HasWebhook.web`."""
        return await self._connection.web(request)

    async def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """See `Channel.fetch`."""
        if not self._local and offer.size > FETCH_LIMIT:
            raise CannotFetch(
                f"{offer.name or 'The file'} is {offer.size / 1e6:.1f} MB, and Telegram hands at most "
                f"{FETCH_LIMIT >> 20} MB to bots.",
                then="Send it in smaller parts, or use a Bot API server of your own (`angelia docs telegram`).",
            )
        try:
            file = await self._api.call("getFile", {"file_id": offer.handle}, TelegramFile)
            local = self._local and Path(file.file_path).is_absolute()
            async for piece in pieces(Path(file.file_path)) if local else self._api.download(file.file_path):
                yield piece
        except (Unsure, Later) as error:
            raise NotSent(error.what) from error
        except OSError as error:
            raise CannotFetch(
                "The Bot API server's file cannot be read.",
                f"{error.strerror}: {error.filename}.",
                "Let this machine's user read the server's folder, under the same path.",
            ) from error

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`."""
        result = await self._call(call_for(to, outgoing, self.capabilities))
        return str(msgspec.convert(result, TelegramSent).message_id)

    async def send_album(self, to: Address, album: OutAlbum, key: str) -> Sequence[str]:
        """See `HasAlbums.send_album`."""
        result = await self._call(album_for(to, album, self.capabilities))
        return [str(sent.message_id) for sent in msgspec.convert(result, list[TelegramSent])]

    def abilities_in(self, to: Address) -> Capabilities:
        """See `HasLimitsByChat.abilities_in`."""
        drafts = is_private(to) and to.chat not in self._undrafted
        return self.capabilities if drafts else without_drafts(self.capabilities)

    async def draft(self, to: Address, text: OutText, key: str) -> None:
        """See `HasDrafts.draft`."""
        try:
            await self._call(draft_for(to, text, key))
        except Rejected:
            self._undrafted.add(to.chat)
            raise

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`."""
        place = {"chat_id": to.chat, "message_id": int(message), **keyboard(text.buttons)}
        with suppress(NotModified):
            try:
                await self._call(TelegramCall("editMessageText", {**place, **words(text, "text")}))
            except NoText:
                await self._call(TelegramCall("editMessageCaption", {**place, **words(text, "caption")}))

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`."""
        await self._call(TelegramCall("deleteMessage", {"chat_id": to.chat, "message_id": int(message)}))

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`."""
        place = {"chat_id": to.chat, "message_thread_id": to.thread}
        await self._call(TelegramCall("sendChatAction", {**place, "action": "typing"}))

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`; no emoji takes the mark back."""
        marks = [{"type": "emoji", "emoji": emoji}] if emoji else []
        await self._call(
            TelegramCall("setMessageReaction", {"chat_id": to.chat, "message_id": int(message), "reaction": marks})
        )

    async def probe(self) -> None:
        """See `HasProbe.probe`."""
        await self._api.call("getMe", {}, TelegramUser)

    async def identify(self) -> AccountIdentity:
        """See `HasIdentity.identify`."""
        me = await self._api.call("getMe", {}, TelegramUser)
        return AccountIdentity(f"@{me.username}", f"https://t.me/{me.username}")

    async def close(self) -> None:
        """See `Channel.close`."""
        await self._api.close()

    async def _call(self, call: TelegramCall) -> Any:
        """Make a call; a group that has become a supergroup is followed, since nothing was done yet."""
        chat = str(call.fields["chat_id"])
        try:
            return await self._made(call, self._moved.get(chat, chat))
        except ChatMoved as moved:
            self._moved[chat] = str(moved.chat)
            return await self._made(call, self._moved[chat])

    async def _made(self, call: TelegramCall, chat: str) -> Any:
        return await self._api.call(call.method, {**call.fields, "chat_id": chat}, Any, call.uploads)


CHANNEL = ChannelProvider(TelegramSettings, partial(TelegramChannel, timeouts=TelegramWaits()))
