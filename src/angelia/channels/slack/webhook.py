"""What Slack brings to our webhook: looked at only if signed just now, and acknowledged only when it is stored."""

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

import msgspec

from angelia.channels.lenient import read
from angelia.channels.slack.intake import SlackIntake, action, command, event
from angelia.channels.slack.payloads import Callback, SlackNews
from angelia.channels.webhooks import MOST_BODY, WebHead, WebRequest, WebResponse

log = logging.getLogger(__name__)

_FORM = re.compile("v0=[0-9a-f]{64}")

WINDOW = 300
"""Seconds for which a signature is good ("Verifying requests from Slack")."""


class SlackWebhook:
    """The web port's half. A request that is played again within the window brings keys that are known."""

    def __init__(self, secret: Callable[[], Awaitable[str]], clock: Callable[[], int], visit: float) -> None:
        self._secret = secret
        self._clock = clock
        self._visit = visit
        self._intake: SlackIntake | None = None

    def begin(self, intake: SlackIntake) -> None:
        """Take in what comes from now on."""
        self._intake = intake

    def end(self) -> None:
        """Take in nothing more; it has to be brought again."""
        self._intake = None

    async def admits(self, head: WebHead) -> int | WebResponse:
        """See `HasWebhook.admits`: something that looks like a signature, of just now, and a secret to check it by."""
        if head.method != "POST":
            return WebResponse(405)
        stamp = head.headers.get("x-slack-request-timestamp", "")
        lately = bool(re.fullmatch("[0-9]{1,15}", stamp)) and abs(self._clock() / 1000 - int(stamp)) <= WINDOW
        looks_signed = _FORM.fullmatch(head.headers.get("x-slack-signature", ""))
        return MOST_BODY if lately and looks_signed and (await self._secret()).strip() else WebResponse(403)

    async def web(self, request: WebRequest) -> WebResponse:
        """See `HasWebhook.web`."""
        if isinstance(refused := await self.admits(request), WebResponse):
            return refused
        if not await self._signed(request):
            return WebResponse(403)
        try:
            return await self._answer(request)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("what Slack brought cannot be read: %s", error)
            return WebResponse(400)

    async def _answer(self, request: WebRequest) -> WebResponse:
        if request.headers.get("content-type", "").startswith("application/json"):
            callback = read(request.body, Callback)
            if callback.type == "url_verification":
                return WebResponse(200, callback.challenge.encode())
            return await self._take(event(callback))
        form = dict(parse_qsl(request.body.decode()))
        if "payload" in form:
            return await self._take(action(form["payload"].encode()))
        return await self._take(command(msgspec.json.encode(form)))

    async def _take(self, news: SlackNews) -> WebResponse:
        if self._intake is None:
            return WebResponse(503)
        taken = self._intake.take(news)
        if taken is None:
            return WebResponse(200)
        await asyncio.wait([taken], timeout=self._visit)
        return WebResponse(200 if taken.done() else 503)

    async def _signed(self, request: WebRequest) -> bool:
        """Whether Slack has signed this body; `admits` has looked at the rest."""
        secret = (await self._secret()).strip().encode()
        stamp = request.headers["x-slack-request-timestamp"]
        wanted = hmac.new(secret, f"v0:{stamp}:".encode() + request.body, hashlib.sha256).hexdigest()
        shown = request.headers.get("x-slack-signature", "").encode()
        return hmac.compare_digest(f"v0={wanted}".encode(), shown)
