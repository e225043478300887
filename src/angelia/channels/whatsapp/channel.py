"""One business number as a channel: what goes out, what is fetched, and whether the Graph API is there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from msgspec import Struct

from angelia.channels.capabilities import Capabilities
from angelia.channels.connection_state import ConnectionState
from angelia.channels.failures import ChannelError, MessageGone, Rejected, Unsure, WindowClosed
from angelia.channels.incoming import Confirmed, Envelope, Hear, OfferedFile, ReachedUpdate
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.marks import WhatsAppMarks
from angelia.channels.multipart import UploadField
from angelia.channels.outgoing import OutFile, Outgoing, OutText
from angelia.channels.port import AccountIdentity, ChannelContext, ChannelProvider
from angelia.channels.webhooks import WebHead, WebRequest, WebResponse
from angelia.channels.whatsapp import refusals, send
from angelia.channels.whatsapp.api import Graph
from angelia.channels.whatsapp.capabilities import capabilities, group_abilities
from angelia.channels.whatsapp.memory import WhatsAppMemory
from angelia.channels.whatsapp.receive import WhatsAppReader
from angelia.channels.whatsapp.settings import WhatsAppSettings, WhatsAppWaits
from angelia.channels.whatsapp.webhook import Keys, WhatsAppWebhook
from angelia.core.days import DAY_MS
from angelia.core.entry import Address

DAY = DAY_MS
"""Milliseconds after which somebody may be asked to write once more."""

KEPT = 20 * DAY
"""Milliseconds for which an upload is used again ("Media": it expires after 30 days)."""


class _Named(Struct, frozen=True):
    id: str


class _Sent(Struct, frozen=True):
    messages: tuple[_Named, ...]


class WhatsAppChannel:
    """One business number. See `Channel`, `HasWebhook` and `HasLimitsByChat`.

    Meta brings what is said to our webhook, and brings it again for days while we are away. The connection that is kept
    and told is the other one: every `look` seconds the Graph API is asked whether it still knows us.
    """

    def __init__(self, settings: WhatsAppSettings, context: ChannelContext, timeouts: WhatsAppWaits) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities()
        self.dialect: Dialect = WhatsAppMarks()
        self._settings = settings
        self._context = context
        self._timeouts = timeouts
        self._memory = WhatsAppMemory()
        self._graph = Graph(settings, lambda: context.secret(settings.token), timeouts.answer)
        keys = Keys(lambda: context.secret(settings.app_secret), lambda: context.secret(settings.verify))
        self._webhook = WhatsAppWebhook(keys, settings.phone, WhatsAppReader(self.door, self._memory))
        self._uploads: dict[tuple[str, str], tuple[str, int]] = {}
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence)

    # -- in -----------------------------------------------------------------------------------------------------

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""

        async def hearing(envelope: Envelope) -> str:
            word = await hear(envelope)
            if isinstance(envelope.what, Confirmed) and envelope.what.reached is ReachedUpdate.TOO_LATE:
                await self._ask_to_write(envelope.address)
            return word

        self._webhook.begin(hearing, self._connection_state.trouble, self._timeouts)
        try:
            await self._connection_state.hold(self._look)
        finally:
            await self._webhook.end()

    async def _look(self) -> None:
        await self._graph.look(self._timeouts.silence)
        self._connection_state.well()
        await asyncio.sleep(self._timeouts.look)

    async def admits(self, head: WebHead) -> int | WebResponse:
        """See `HasWebhook.admits`."""
        return await self._webhook.admits(head)

    async def web(self, request: WebRequest) -> WebResponse:
        """See `HasWebhook.web`."""
        return await self._webhook.web(request)

    def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """See `Channel.fetch`."""
        return self._graph.download(offer.handle)

    # -- out ----------------------------------------------------------------------------------------------------

    def abilities_in(self, to: Address) -> Capabilities:
        """See `HasLimitsByChat`."""
        return group_abilities(self.capabilities) if send.is_group(to.chat) else self.capabilities

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`."""
        one = send.checked(outgoing, self.abilities_in(to))
        head = send.envelope(to, one.reply_to)
        if isinstance(one, OutText):
            body = send.text_body(one, self.dialect, self.capabilities.text_limit)
            said = one.plain
        else:
            body = send.file_body(one, await self._uploaded(one), self.dialect)
            said = one.caption.plain if one.caption else one.name
        try:
            message = await self._post({**head, **body}, to)
        except WindowClosed as closed:
            raise refusals.window_closed(await self._ask_to_write(to)) from closed
        except Rejected:
            if isinstance(one, OutFile):
                self._uploads.pop((str(one.path), one.mime), None)
            raise
        self._memory.said(message, said)
        return message

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`: never."""
        raise MessageGone("WhatsApp lets a business change nothing that it has sent.")

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`: never."""
        raise MessageGone("WhatsApp lets a business take nothing back that it has sent.")

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`. It marks the last message of the chat as read; without one there is nothing to mark."""
        if last := self._memory.last(to.chat):
            mark = {"messaging_product": "whatsapp", "status": "read", "message_id": last}
            await self._graph.post("messages", {**mark, "typing_indicator": {"type": "text"}}, dict[str, Any], to.chat)

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`."""
        mark = {"message_id": message, "emoji": emoji}
        await self._post({**send.envelope(to), "type": "reaction", "reaction": mark}, to)

    async def probe(self) -> None:
        """See `HasProbe.probe`."""
        await self._graph.look(self._timeouts.silence)

    async def identify(self) -> AccountIdentity:
        """See `HasIdentity.identify`."""
        await self._graph.look(self._timeouts.silence)
        return AccountIdentity(f"phone number {self._settings.phone}")

    async def close(self) -> None:
        """See `Channel.close`."""
        await self._graph.close()

    async def _post(self, body: dict[str, Any], to: Address) -> str:
        sent = await self._graph.post("messages", body, _Sent, to.chat)
        if not sent.messages:
            raise Unsure("WhatsApp took the message and did not say under which id.")
        return sent.messages[0].id

    async def _uploaded(self, file: OutFile) -> str:
        """The upload's id; a file that is sent again goes up once, since its path names its bytes."""
        key, now = (str(file.path), file.mime), self._context.steady()
        known, at = self._uploads.get(key, ("", 0))
        if known and now - at < KEPT:
            return known
        upload = UploadField("file", file.path, file.size, "file", send.mime_of(file))
        media = await self._graph.upload(upload)
        self._uploads[key] = (media, now)
        if len(self._uploads) > 100:
            del self._uploads[next(iter(self._uploads))]
        return media

    async def _ask_to_write(self, to: Address) -> str:
        """Send the template that asks somebody to write, once a day; its name, or nothing if none went out."""
        template, remembered = self._settings.template, f"asked {to.chat}"
        now = self._context.clock()
        if not template or abs(now - int(await self._context.recall(remembered) or 0)) < DAY:
            return ""
        body = send.template_body(template, self._settings.template_language)
        with suppress(ChannelError):
            await self._context.remember(remembered, str(now))
            await self._post({**send.envelope(to), **body}, to)
            return template
        return ""


CHANNEL = ChannelProvider(WhatsAppSettings, partial(WhatsAppChannel, timeouts=WhatsAppWaits()))
