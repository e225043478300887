"""What Meta brings to our webhook: looked at only if Meta has signed it, and acknowledged only when it is stored."""

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable

import msgspec

from angelia.channels.incoming import Envelope, Hear
from angelia.channels.per_chat_queue import PerChatQueue
from angelia.channels.webhooks import MOST_BODY, WebHead, WebRequest, WebResponse
from angelia.channels.whatsapp.payloads import Notification, Value
from angelia.channels.whatsapp.receive import WhatsAppReader
from angelia.channels.whatsapp.settings import WhatsAppWaits

log = logging.getLogger(__name__)

SIGNATURE = "x-hub-signature-256"
"""HMAC-SHA256 of the body under the app's secret ("Webhooks", Validate payloads)."""

_FORM = re.compile("sha256=[0-9a-f]{64}")


class Keys:
    """What proves that it is Meta: `secret` signs, `verify` is shown once."""

    def __init__(self, secret: Callable[[], Awaitable[str]], verify: Callable[[], Awaitable[str]]) -> None:
        self._secret, self._verify = secret, verify

    async def may_be_signed(self, head: WebHead) -> bool:
        """Whether there is something that looks like a signature, and a secret to check it by."""
        return bool(_FORM.fullmatch(head.headers.get(SIGNATURE, ""))) and bool((await self._secret()).strip())

    async def signed(self, request: WebRequest) -> bool:
        """Whether the app's secret has signed this body; without a secret nothing is."""
        secret = (await self._secret()).strip()
        wanted = hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()
        return bool(secret) and hmac.compare_digest(
            f"sha256={wanted}".encode(), request.headers.get(SIGNATURE, "").encode()
        )

    async def verified(self, request: WebHead) -> bool:
        """Whether it is Meta that looks at the webhook for the first time."""
        word = (await self._verify()).strip()
        shown = request.query.get("hub.verify_token", "")
        right = request.query.get("hub.mode") == "subscribe" and hmac.compare_digest(word.encode(), shown.encode())
        return bool(word) and right


class WhatsAppWebhook:
    """The receiving half of the channel. A request that is played again brings the same keys, and changes nothing."""

    def __init__(self, keys: Keys, phone: str, reader: WhatsAppReader) -> None:
        self._keys = keys
        self._phone = phone
        self._reader = reader
        self._queue: PerChatQueue | None = None
        self._visit = 0.0
        self._waiting: dict[str, asyncio.Future[str]] = {}

    def begin(self, hear: Hear, trouble: Callable[[str], None], timeouts: WhatsAppWaits) -> None:
        """Take in what comes from now on."""
        self._queue, self._visit = PerChatQueue(hear, trouble, timeouts.pause), timeouts.visit

    async def end(self) -> None:
        """Take in nothing more; what is being taken in has to be brought again."""
        queue, self._queue = self._queue, None
        if queue:
            await queue.close()
        for waiting in tuple(self._waiting.values()):
            waiting.cancel()

    async def admits(self, head: WebHead) -> int | WebResponse:
        """See `HasWebhook.admits`. The first look brings no body."""
        match head.method:
            case "GET":
                return 0 if await self._keys.verified(head) else WebResponse(403)
            case "POST":
                return MOST_BODY if await self._keys.may_be_signed(head) else WebResponse(403)
            case _:
                return WebResponse(405)

    async def web(self, request: WebRequest) -> WebResponse:
        """See `HasWebhook.web`."""
        if isinstance(refused := await self.admits(request), WebResponse):
            return refused
        if request.method == "GET":
            return WebResponse(200, request.query.get("hub.challenge", "").encode())
        if not await self._keys.signed(request):
            return WebResponse(403)
        if self._queue is None:
            return WebResponse(503)
        try:
            waiting = [self._take(envelope, self._queue) for envelope in self._envelopes(request.body)]
        except msgspec.MsgspecError as error:
            log.warning("what WhatsApp brought cannot be read: %s", error)
            return WebResponse(400)
        if waiting:
            await asyncio.wait(waiting, timeout=self._visit)
        taken = all(one.done() and not one.cancelled() for one in waiting)
        return WebResponse(200 if taken else 503)

    def _envelopes(self, body: bytes) -> list[Envelope]:
        found: list[Envelope] = []
        for entry in msgspec.json.decode(body, type=Notification).entry:
            for change in entry.changes:
                if change.field != "messages":
                    continue
                value = msgspec.json.decode(change.value, type=Value)
                if value.metadata.phone_number_id == self._phone:
                    found.extend(self._reader.envelopes(value))
        return found

    def _take(self, envelope: Envelope, queue: PerChatQueue) -> asyncio.Future[str]:
        """Begin to hand in one thing, unless that is going on already."""
        known = self._waiting.get(envelope.key)
        if known and not known.done():
            return known

        async def read() -> Envelope:
            return envelope

        taken = queue.put(envelope.address.chat, envelope.key, read)
        self._waiting[envelope.key] = taken
        taken.add_done_callback(lambda _: self._waiting.pop(envelope.key, None))
        return taken
