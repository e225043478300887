"""How news leave the fake Telegram: to whoever asks (getUpdates), or by visits to a webhook, each chat's in order."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from angelia.cancellation import cancel_and_wait
from angelia.testing.changes import Changes
from angelia.testing.networks.telegram_schema import BotApiError
from angelia.testing.networks.telegram_world import TelegramWorld

if TYPE_CHECKING:
    import httpx2

_LOCAL = ("127.0.0.1", "localhost")
_AGAIN = 0.05
"""Seconds until a visit that was not welcome is repeated."""


class UpdateFeed:
    """The updates' way out. `visiting` may be set to False, and then nobody is visited; `refused` are the answers of
    those who did not want what was brought, 0 for none; `failed` is what `getWebhookInfo` tells of the last of them.
    """

    def __init__(self, world: TelegramWorld) -> None:
        self._world = world
        self._changes = Changes()
        self._polls = 0
        self._allowed: list[str] = []
        self._webhook: dict[str, Any] = {}
        self.failed: dict[str, Any] = {}
        self._busy: set[int] = set()
        self.refused: list[int] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.visiting = True

    @property
    def secret(self) -> str:
        """What is shown at the webhook."""
        return str(self._webhook.get("secret_token", ""))

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; looked at whenever somebody asked or was visited."""
        await self._changes.when(holds)

    def tell(self) -> None:
        """There may be something new."""
        self._changes.tell()

    async def close(self) -> None:
        """End all visits."""
        await cancel_and_wait(*self._tasks)

    async def call(self, method: str, args: dict[str, Any]) -> Any:
        """One of the methods that are about the way of news."""
        match method:
            case "getUpdates":
                return await self._get(args)
            case "setWebhook":
                return self._set(args)
            case "deleteWebhook":
                self._webhook = {}
                return True
            case _:
                about = {"url": self._webhook.get("url", ""), "has_custom_certificate": False}
                return {**about, "pending_update_count": len(self._world.updates), **self.failed}

    async def _get(self, args: dict[str, Any]) -> list[dict[str, Any]]:
        if self._webhook:
            active = "Conflict: can't use getUpdates method while webhook is active"
            raise BotApiError(409, f"{active}; use deleteWebhook to delete the webhook first")
        self._polls += 1
        mine, offset = self._polls, args.get("offset", 0)
        self._allowed = args.get("allowed_updates", self._allowed)
        self._world.updates = [one for one in self._world.updates if one["update_id"] >= offset]
        self._changes.tell()
        with suppress(TimeoutError):
            async with asyncio.timeout(args.get("timeout", 0)):
                await self._changes.when(lambda: bool(self._wanted()) or self._polls != mine)
        if self._polls != mine:
            other = "Conflict: terminated by other getUpdates request"
            raise BotApiError(409, f"{other}; make sure that only one bot instance is running")
        return self._wanted()[: args.get("limit", 100)]

    def _wanted(self) -> list[dict[str, Any]]:
        """Reactions are told only to those who ask for them ("Update", `message_reaction`)."""
        allowed = self._allowed or ["message", "edited_message", "callback_query"]
        return [update for update in self._world.updates if set(update) & set(allowed)]

    def _set(self, args: dict[str, Any]) -> bool:
        url = urlsplit(args["url"])
        # a Bot API server of one's own visits plain addresses too ("Using a Local Bot API Server")
        if url.scheme != "https" and url.hostname not in _LOCAL:
            raise BotApiError(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        self._webhook, self._allowed = args, args.get("allowed_updates", self._allowed)
        if not self._tasks:
            self._begin()
        self.tell()
        return True

    def _begin(self) -> None:
        task = asyncio.create_task(self._visit())
        self._tasks.add(task)

    async def _visit(self) -> None:
        import httpx2

        async with httpx2.AsyncClient(trust_env=False) as http, asyncio.TaskGroup() as group:
            while True:
                await self._changes.when(lambda: bool(self._due()))
                for update in self._due():
                    self._busy.add(_chat(update))
                    group.create_task(self._bring(http, update))

    def _due(self) -> list[dict[str, Any]]:
        """The first update of each chat that is not being brought."""
        if not (self._webhook and self.visiting):
            return []
        first: dict[int, dict[str, Any]] = {}
        for update in self._wanted():
            first.setdefault(_chat(update), update)
        return [update for chat, update in first.items() if chat not in self._busy]

    async def _bring(self, http: "httpx2.AsyncClient", update: dict[str, Any]) -> None:
        import httpx2

        shown = {"x-telegram-bot-api-secret-token": self.secret}
        try:
            status = (await http.post(self._webhook["url"], json=update, headers=shown, timeout=120)).status_code
        except httpx2.RequestError:
            status = 0
        if 200 <= status < 300:
            self._world.updates = [one for one in self._world.updates if one is not update]
        else:
            self.refused.append(status)
            self._changes.tell()
            self.failed = {"last_error_date": 2_000_000_000, "last_error_message": f"Wrong response: {status}"}
            await asyncio.sleep(_AGAIN)
        self._busy.discard(_chat(update))
        self._changes.tell()


def _chat(update: dict[str, Any]) -> int:
    what: Any = next(value for name, value in update.items() if name != "update_id")
    chat: int = (what.get("message") or what)["chat"]["id"]
    return chat
