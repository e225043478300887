"""How a bot hears: it asks for news and is held (long polling), or Telegram visits it (a webhook)."""

import asyncio
import hashlib
import hmac
import logging
import re
from typing import NoReturn

import msgspec
from msgspec import Raw

from angelia.cancellation import end_if_cancelled
from angelia.channels.backoff import growing_pause
from angelia.channels.connection_state import ConnectionState
from angelia.channels.failures import ChannelError, LoginFailed, NotSent
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import Hear
from angelia.channels.port import ChannelContext
from angelia.channels.telegram.api import TelegramApi
from angelia.channels.telegram.intake import TelegramIntake
from angelia.channels.telegram.payloads import WANTED, Numbered, Press, TelegramUser, WebhookInfo
from angelia.channels.telegram.receive import TelegramReader
from angelia.channels.telegram.settings import TelegramSettings, TelegramWaits
from angelia.channels.webhooks import MOST_BODY, WebHead, WebRequest, WebResponse

log = logging.getLogger(__name__)

SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - a header's name
"""What Telegram shows at our webhook ("setWebhook")."""

LINGER = 15.0
"""Seconds that an answer may take longer than Telegram was asked to hold it back."""

_KEPT = "kept updates"
_COMMAND = re.compile(r"[a-z0-9_]{1,32}", re.ASCII)


class TelegramConnection:
    """The receiving half of the channel.

    By polling, an update is acknowledged by asking for what comes after it, and that is done only when it is safe
    ("getUpdates"); over a webhook, by answering 200. Telegram keeps what is not acknowledged for a day.
    """

    def __init__(
        self, settings: TelegramSettings, context: ChannelContext, api: TelegramApi, timeouts: TelegramWaits
    ) -> None:
        self._settings = settings
        self._context = context
        self._api = api
        self._timeouts = timeouts
        self._intake: TelegramIntake | None = None
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence)
        self._visited = 0

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        try:
            await self._connection_state.hold(lambda: self._stay(hear))
        finally:
            if self._intake:
                await self._intake.close()
            self._intake = None

    async def admits(self, head: WebHead) -> int | WebResponse:
        """See `HasWebhook.admits`; the header is the whole proof."""
        shown = head.headers.get(SECRET_HEADER, "")
        if not self._settings.webhook or not hmac.compare_digest(shown.encode(), (await self._secret()).encode()):
            return WebResponse(403)
        return MOST_BODY

    async def web(self, request: WebRequest) -> WebResponse:
        """See `HasWebhook.web`."""
        if isinstance(refused := await self.admits(request), WebResponse):
            return refused
        if self._intake is None:
            return WebResponse(503)
        try:
            safe = self._intake.take(request.body)
        except msgspec.MsgspecError:
            return WebResponse(400)
        await asyncio.wait([safe], timeout=self._timeouts.answer)
        return WebResponse(200 if safe.done() and not safe.cancelled() else 503)

    async def keep(self, updates: str) -> None:
        """See `TelegramSurroundings`."""
        await self._context.remember(_KEPT, updates)

    async def answer(self, press: Press, word: str) -> None:
        """See `TelegramSurroundings`; a button whose answer does not arrive stops waiting by itself."""
        try:
            await self._api.call("answerCallbackQuery", {"callback_query_id": press.id, "text": word[:200]}, bool)
        except ChannelError as error:
            log.info("the answer to a pressed button did not arrive: %s", error)

    def trouble(self, why: str) -> None:
        """See `TelegramSurroundings`."""
        self._connection_state.trouble(why)

    async def _stay(self, hear: Hear) -> NoReturn:
        me = await self._api.call("getMe", {}, TelegramUser)
        if self._intake is None:
            reader = TelegramReader(self._context.door, me, self._context.commands)
            self._intake = TelegramIntake(hear, reader, self, self._timeouts.pause)
            self._intake.restore(await self._context.recall(_KEPT))
        await self._show_menu()
        if self._settings.webhook:
            await self._be_visited()
        await self._api.call("deleteWebhook", {}, bool)
        await self._poll(self._intake)

    async def _poll(self, intake: TelegramIntake) -> NoReturn:
        hold = max(int(self._timeouts.silence - LINGER), 0)
        last, idle = 0, 0
        while True:
            end_if_cancelled()
            unsafe = intake.unsafe
            known = set(unsafe)
            # without an offset we are told all that is not acknowledged, whatever its numbers
            offset = min(unsafe, default=last + 1 if last else 0)
            at_once = self._connection_state.state is not ConnectionHealth.CONNECTED or bool(unsafe)
            asked = asyncio.get_running_loop().time()
            updates = await self._updates(offset, 0 if at_once else hold)
            self._connection_state.well()
            numbers = [msgspec.json.decode(raw, type=Numbered).update_id for raw in updates]
            safe = [intake.take(bytes(raw)) for raw in updates]
            last = max(numbers, default=0)
            idle = 0 if set(numbers) - known else idle + 1
            if pending := [one for one in safe if not one.done()]:
                await asyncio.wait(pending, timeout=growing_pause(self._timeouts.pause / 4, idle, 2.0))
            elif idle > bool(
                hold
            ):  # what holds nothing back (a server of one's own, a proxy) is not asked without a pause
                await asyncio.sleep(max(0.0, asked + self._timeouts.pause - asyncio.get_running_loop().time()))

    async def _updates(self, offset: int, hold: int) -> list[Raw]:
        asked = {"offset": offset, "timeout": hold, "allowed_updates": WANTED}
        return await self._api.call("getUpdates", asked, list[Raw], answer=self._timeouts.silence)

    async def _be_visited(self) -> NoReturn:
        url = f"{self._settings.webhook.rstrip('/')}/hooks/{self._context.door}"
        asked = {"url": url, "secret_token": await self._secret(), "allowed_updates": WANTED}
        await self._api.call("setWebhook", asked, bool)
        self._visited = self._visited or self._context.clock()  # an error of before is told for days
        while True:
            info = await self._api.call("getWebhookInfo", {}, WebhookInfo)
            if info.url != url:
                raise NotSent("Another program has told Telegram to visit it instead.")
            failed = info.pending_update_count and info.last_error_date * 1000 > self._visited
            if failed and self._connection_state.state is ConnectionHealth.CONNECTED:
                self._connection_state.tell(
                    ConnectionHealth.WAITING, f"Telegram cannot visit {url}: {info.last_error_message}."
                )
            elif not failed:
                self._visited = self._context.clock()
                self._connection_state.well()
            end_if_cancelled()
            await asyncio.sleep(self._timeouts.silence)

    async def _show_menu(self) -> None:
        shown = {name: told for name, told in self._context.commands.items() if _COMMAND.fullmatch(name)}
        menu = [{"command": name, "description": told[:256]} for name, told in shown.items()]
        try:
            await self._api.call("setMyCommands", {"commands": menu}, bool)
        except LoginFailed:
            raise
        except ChannelError as error:  # the menu is a courtesy: messages come in and go out without it
            log.warning("Telegram does not take the menu of commands: %s", error)

    async def _secret(self) -> str:
        """What only Telegram and we know, so that nobody else can visit: derived, for it must outlive a restart."""
        return hashlib.sha256(f"webhook of {await self._api.token()}".encode()).hexdigest()
