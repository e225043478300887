"""What Slack brings to our webhook: looked at only if signed just now, and acknowledged only when it is stored."""

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

import msgspec

from angelia.channels.failures import NotSent
from angelia.channels.lenient import read
from angelia.channels.slack.intake import SlackIntake, action, command, event
from angelia.channels.slack.payloads import Callback, SlackNews
from angelia.channels.webhooks import MOST_BODY, WebHead, WebRequest, WebResponse

log = logging.getLogger(__name__)

_FORM, _STAMP = re.compile("v0=[0-9a-f]{64}"), re.compile("[0-9]{1,15}")

WINDOW = 300
"""Seconds for which a signature is good ("Verifying requests from Slack")."""


class SlackWebhook:
    """The web port's half. A request that is played again within the window brings keys that are known. What Slack has
    signed at another time is not taken in; `differ` is set then, since it may be our clock that is wrong.
    """

    def __init__(self, secret: Callable[[], Awaitable[str]], clock: Callable[[], int], visit: float) -> None:
        self._secret = secret
        self._clock = clock
        self._visit = visit
        self._intake: SlackIntake | None = None
        self.differ, self._by = asyncio.Event(), 0

    def clocks_differ(self) -> NotSent:
        """Why nothing is taken in since `differ` was set."""
        self.differ.clear()
        return NotSent(
            f"What Slack brings was signed {self._by} seconds away from this machine's time, and is not taken in.",
            "This machine's clock may be wrong.",
            "What is said meanwhile is read from the chats; buttons and commands work again once the clock is right.",
        )

    def begin(self, intake: SlackIntake) -> None:
        """Take in what comes from now on."""
        self._intake = intake

    def end(self) -> None:
        """Take in nothing more; it has to be brought again."""
        self._intake = None

    async def admits(self, head: WebHead) -> int | WebResponse:
        """See `HasWebhook.admits`: something that looks like a signature, and a secret to check it by."""
        if head.method != "POST":
            return WebResponse(405)
        stamp = head.headers.get("x-slack-request-timestamp", "")
        looks_signed = _STAMP.fullmatch(stamp) and _FORM.fullmatch(head.headers.get("x-slack-signature", ""))
        return MOST_BODY if looks_signed and (await self._secret()).strip() else WebResponse(403)

    async def web(self, request: WebRequest) -> WebResponse:
        """See `HasWebhook.web`."""
        if isinstance(refused := await self.admits(request), WebResponse):
            return refused
        if not await self._signed(request) or not self._lately(request):
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

    def _lately(self, request: WebRequest) -> bool:
        by = abs(self._clock() // 1000 - int(request.headers["x-slack-request-timestamp"]))
        if by > WINDOW:
            self._by = by
            self.differ.set()
        return by <= WINDOW

    async def _signed(self, request: WebRequest) -> bool:
        """Whether Slack has signed this body; `admits` has looked at the rest."""
        secret = (await self._secret()).strip().encode()
        stamp = request.headers["x-slack-request-timestamp"]
        wanted = hmac.new(secret, f"v0:{stamp}:".encode() + request.body, hashlib.sha256).hexdigest()
        shown = request.headers.get("x-slack-signature", "").encode()
        return hmac.compare_digest(f"v0={wanted}".encode(), shown)
