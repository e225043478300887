"""A fake Telegram on loopback: the Bot API over HTTP, strict, with people behind it."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

import msgspec

from angelia.channels.capabilities import Kind
from angelia.channels.port import ChannelContext
from angelia.channels.settings import Secret
from angelia.channels.telegram.capabilities import LOCAL_UPLOAD, PHOTO, UPLOAD
from angelia.channels.telegram.channel import TelegramChannel
from angelia.channels.telegram.settings import TelegramSettings, TelegramWaits
from angelia.testing.changes import Changes
from angelia.testing.channels.network import (
    ArrivedMessage,
    ChannelTimeouts,
    Flood,
    Reset,
    ServerError,
    Thing,
    TimeOut,
    Trouble,
)
from angelia.testing.channels.webhook_door import WebhookDoor
from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from angelia.testing.networks.loopback_server import LoopbackServer
from angelia.testing.networks.telegram_forms import read_form, shown_name
from angelia.testing.networks.telegram_methods import Bot
from angelia.testing.networks.telegram_schema import METHODS, BotApiError, arguments
from angelia.testing.networks.telegram_updates import UpdateFeed
from angelia.testing.networks.telegram_world import GROUP, HERE, NOWHERE, TOPIC, TelegramWorld

TOKEN = "123456:AAFakeTokenThatNobodyEverIssued_0123"  # noqa: S105 - no bot has it
TOKEN_VARIABLE = "TELEGRAM_TEST_TOKEN"  # noqa: S105 - a variable's name

UNSEEN = frozenset({"getMe", "getFile", "setMyCommands", "answerCallbackQuery"})
"""Calls that make nothing visible in a chat."""

NEWS = frozenset({"getUpdates", "setWebhook", "deleteWebhook", "getWebhookInfo"})
"""Calls about the way of news."""


class TelegramServer:
    """The fake for the length of an `async with`; a `testing.channels.network.FakeNetwork`.

    What the bot asks for against the published rules is refused in the API's own way; `refuses` has methods that are
    refused whatever they are asked for, as by an older server.
    """

    broken = "a <b>bold word that nobody ends"
    keeps, takes_empty, forwards = True, False, True
    here, group, topic, nowhere = HERE, GROUP, TOPIC, NOWHERE

    def __init__(
        self, port: int = 0, *, visits: bool = False, folder: Path | None = None, host: str = "127.0.0.1"
    ) -> None:
        """With `visits`, channels that it opens are visited at a webhook. With a `folder` it is a server of one's own,
        which puts files there and has larger limits. `host` is the address at which it listens.
        """
        self.secrets: Mapping[str, str] = {TOKEN_VARIABLE: TOKEN}
        self.world = TelegramWorld(folder)
        self.news = UpdateFeed(self.world)
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.refuses: dict[str, BotApiError] = {}
        self._bot = Bot(self.world)
        self.door = WebhookDoor() if visits else None
        self._token = TOKEN
        self._changes = Changes()
        self._troubles: deque[Trouble] = deque()
        self._speaking = asyncio.Event()
        self._speaking.set()
        self._host, self._port = host, port
        self._up = False
        self.world.limits = dict.fromkeys(Kind, LOCAL_UPLOAD if folder else UPLOAD) | {Kind.PHOTO: PHOTO}

    @property
    def url(self) -> str:
        """What a channel's setting `api` has to say."""
        return f"http://{self._host}:{self._listening.port}"

    @property
    def arrived(self) -> list[ArrivedMessage]:
        """See `FakeNetwork`."""
        return self.world.arrived

    async def __aenter__(self) -> Self:
        self._listening = LoopbackServer(self._serve, self._port, self._host)
        await self.up()
        if self.door:
            await self.door.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.news.close()
        if self.door:
            await self.door.__aexit__(kind, error, trace)
        await self._listening.close()

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> TelegramChannel:
        """See `FakeNetwork`."""
        webhook = self.door.url if self.door else ""
        token, local = Secret(env=TOKEN_VARIABLE), self.world.folder is not None
        settings = TelegramSettings(token=token, api=self.url, webhook=webhook, local=local)
        channel = TelegramChannel(settings, context, TelegramWaits(patience.answer, patience.silence, patience.pause))
        if self.door:
            self.door.channel = channel
        return channel

    def called(self, name: str) -> str:
        """See `FakeNetwork`: without what a form cannot hold, and cleaned."""
        return shown_name(name.translate(dict.fromkeys(map(ord, '";\n'), "_")))

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `FakeNetwork`."""
        self.world.limits = {**self.world.limits, **limits}

    def misbehave(self, *troubles: Trouble) -> None:
        """See `FakeNetwork`."""
        self._troubles = deque(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `FakeNetwork`."""
        messages = tuple(self.world.happen(thing) for thing in things)
        self.news.tell()
        return messages

    async def repeat(self) -> None:
        """See `FakeNetwork`."""
        self.world.updates = self.world.brought[::-1]
        self.news.tell()

    async def down(self) -> None:
        """See `FakeNetwork`; the port stays ours, so that nobody else listens there."""
        self.news.visiting = False
        self._up = False
        await self._listening.down()

    async def up(self) -> None:
        """See `FakeNetwork`."""
        if not self._speaking.is_set():
            await self._listening.hang_up()
        self._speaking.set()
        self.news.visiting = True
        if not self._up:
            self._listening.up()
        self._up = True

    async def swallow(self) -> None:
        """See `FakeNetwork`."""
        self._speaking.clear()
        self.news.visiting = False

    def revoke(self) -> None:
        """See `FakeNetwork`."""
        self._token = "revoked"  # noqa: S105 - none

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `FakeNetwork`."""
        await self._changes.when(holds)

    async def _serve(self, reader: asyncio.StreamReader, out: Answering) -> None:
        while (request := await read_request(reader)) is not None:
            await self._speaking.wait()
            await self._answer(request, out)

    async def _answer(self, request: HttpRequest, out: Answering) -> None:
        _, *root, bot, what = request.path.split("/", 3 if request.path.startswith("/file/") else 2)
        trouble = self._troubles.popleft() if self._troubles and (root or what not in UNSEEN | NEWS) else None
        try:
            if bot != f"bot{self._token}":
                raise BotApiError(401, "Unauthorized")
            _raise(trouble)
            result = b"" if _lost(trouble) else await self._result(request, what, file=bool(root))
        except BotApiError as refused:
            await _refuse(refused, out)
            return
        match trouble:
            case TimeOut():
                await out.silence()
            case Reset():
                out.reset()
            case _:
                await out.whole(200, result, mime="application/octet-stream" if root else "application/json")

    async def _result(self, request: HttpRequest, what: str, *, file: bool) -> bytes:
        if file:
            return self._download(unquote(what))
        if what in self.refuses:
            raise self.refuses[what]
        if what not in METHODS:
            raise BotApiError(404, "Not Found: method not found")
        said, files = read_form(request)
        args = arguments(what, said, files)
        self.requests.append((what, args))
        result = await self.news.call(what, args) if what in NEWS else self._bot.calls[what](args, files)
        self._changes.tell()
        return msgspec.json.encode({"ok": True, "result": result})

    def _download(self, path: str) -> bytes:
        data = self.world.files.get(path.removeprefix("documents/"))
        if data is None:
            raise BotApiError(404, "Not Found")
        return data


def _raise(trouble: Trouble | None) -> None:
    if isinstance(trouble, Flood):
        raise BotApiError(429, f"Too Many Requests: retry after {trouble.seconds:g}", retry_after=int(trouble.seconds))
    if isinstance(trouble, ServerError):
        raise BotApiError(500, "Internal Server Error")


def _lost(trouble: Trouble | None) -> bool:
    return isinstance(trouble, TimeOut | Reset) and not trouble.accepted


async def _refuse(refused: BotApiError, out: Answering) -> None:
    more = {"parameters": refused.parameters} if refused.parameters else {}
    answer = {"ok": False, "error_code": refused.code, "description": refused.description, **more}
    await out.whole(refused.code, msgspec.json.encode(answer))


if __name__ == "__main__":
    from angelia.testing.channels.command import main

    main(TelegramServer())
