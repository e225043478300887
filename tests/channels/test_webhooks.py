"""What a network has not signed is refused by every channel with a webhook, and what is played again is heard once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest
from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.health import ConnectionHealth
from angelia.channels.settings import ChannelSettings
from angelia.channels.webhooks import WebHead, WebRequest, WebResponse
from angelia.core import entry as e
from angelia.core.principal import OWNER
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.settings.config import load
from angelia.testing.channels.network import ChannelTimeouts, FakeNetwork, Thing
from angelia.testing.channels.samples import sample_of
from angelia.testing.channels.webhook_door import WebhookDoor
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.telegram_world import ANN
from angelia.testing.networks.whatsapp_server import WhatsAppServer
from tests.channels.slack import world as slack_world
from tests.channels.slack.network import slack_by_http
from tests.promise.lives import environment

pytestmark = pytest.mark.anyio


class Visiting(FakeNetwork, Protocol):
    """A network that visits."""

    door: WebhookDoor | None


class Hook(Struct, frozen=True):
    """A network, what it shows at a webhook, whether that depends on the body, and the id of somebody on it."""

    network: Callable[[], AbstractAsyncContextManager[FakeNetwork]]
    shows: str
    signs: bool
    friend: str


HOOKS = {
    "telegram": Hook(partial(TelegramServer, visits=True), "x-telegram-bot-api-secret-token", False, str(ANN["id"])),
    "whatsapp": Hook(WhatsAppServer, "x-hub-signature-256", True, WhatsAppServer.here.chat),
    "slack": Hook(slack_by_http, "x-slack-signature", True, slack_world.FRIEND),
}


class Guard:
    """Stands before the gateway: keeps what the network brings, and lets nothing in until `open`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self.open = gateway, False
        self.brought: asyncio.Future[WebRequest] = asyncio.get_running_loop().create_future()

    async def admits(self, head: WebHead) -> int | WebResponse:
        """As the gateway."""
        return await self._gateway.admits("door", head)

    async def web(self, request: WebRequest) -> WebResponse:
        """One visit."""
        if not self.brought.done():
            self.brought.set_result(request)
        return await self.enter(request) if self.open else WebResponse(503)

    async def enter(self, request: WebRequest) -> WebResponse:
        """Let it in."""
        return await self._gateway.web("door", request)


def forgeries(hook: Hook, request: WebRequest) -> list[WebRequest]:
    """What somebody may try who has seen the address, or one request."""
    shown = request.headers[hook.shows]
    other = {hook.shows: shown[:-1] + ("1" if shown[-1] == "0" else "0")}
    none = {name: value for name, value in request.headers.items() if name != hook.shows}
    tried = [none, none | {hook.shows: ""}, {**request.headers, **other}, {**request.headers, hook.shows: shown[:-1]}]
    forged = [replace(request, headers=headers) for headers in tried]
    return [*forged, replace(request, body=request.body + b" ")] if hook.signs else forged


@asynccontextmanager
async def guarded(hook: Hook, folder: Path, server: ModelServer) -> AsyncIterator[tuple[App, FakeNetwork, Guard]]:
    """A gateway that the network visits, and the guard before it."""
    (folder / "person").mkdir()
    async with hook.network() as network:
        env = {**environment(folder, server), **network.secrets}
        app = await App.open(load(folder / "home", env, ("sandbox.confine=off",), {"model": "openai-chat:m"}), env)
        ready = asyncio.Event()
        gateway = Gateway(app.chat_services, lambda: ready.set() if _connected(gateway) else None)
        channel = network.open(gateway._context_of("door"), ChannelTimeouts())
        guard = Guard(gateway)
        door: WebhookDoor = network.door  # type: ignore[attr-defined]  # a network that visits has one
        door.channel = guard
        gateway.begin([OpenChannel(channel, ChannelSettings(owners=(hook.friend,), stale_minutes=0))])
        try:
            async with asyncio.timeout(60):
                await ready.wait()
            yield app, network, guard
        finally:
            await gateway.close()
            await app.close()


def _connected(gateway: Gateway) -> bool:
    return any(one.health.state is ConnectionHealth.CONNECTED for one in gateway.standings.values())


def blobs(app: App) -> list[Path]:
    """Everything that was fetched."""
    return [path for path in (app.loaded.home / "blobs").rglob("*") if path.is_file()]


async def said(app: App) -> list[e.UserSaid]:
    """Everything that was heard."""
    conversations = await app.transcript.conversations(OWNER)
    entries = [entry for one in conversations for entry in await app.transcript.entries(one.id)]
    return [entry.fact for entry in entries if isinstance(entry.fact, e.UserSaid)]


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
async def test_a_forged_visit_does_nothing_and_a_repeated_one_nothing_more(tmp_path: Path, hook: Hook) -> None:
    async with (
        ModelServer(lambda _: say("I see it.")) as server,
        guarded(hook, tmp_path, server) as (app, network, guard),
    ):
        before = blobs(app)
        await network.bring(Thing(IncomingKind.PHOTO, network.here, "look", (sample_of(Kind.PHOTO),)))
        async with asyncio.timeout(60):
            request = await guard.brought
        forged = [(await guard.enter(one)).status for one in forgeries(hook, request)]
        assert set(forged) == {403}
        assert (await said(app), blobs(app), server.requests) == ([], before, [])
        guard.open = True
        at_once = await asyncio.gather(*(guard.enter(request) for _ in range(3)))
        assert {one.status for one in at_once} <= {200, 503}, "503 says that it is not stored yet"
        async with asyncio.timeout(60):
            await network.when(lambda: any("I see it." in one.text for one in network.arrived))
        assert [(await guard.enter(request)).status for _ in range(3)] == [200] * 3
        (heard,) = await said(app)
        assert len(heard.parts) == 2
        assert len(server.requests) == 1
