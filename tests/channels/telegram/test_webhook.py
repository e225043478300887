"""What is Telegram's own about a webhook: who may visit, and what is told of visits that fail."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import IncomingMessage
from angelia.channels.telegram.api import TelegramApi
from angelia.channels.telegram.connection import SECRET_HEADER
from angelia.channels.webhooks import HasWebhook, WebRequest
from angelia.testing.channels.network import ChannelTimeouts, Thing
from angelia.testing.channels.stage import Stage, staged
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import HERE

pytestmark = pytest.mark.anyio

HELLO = Thing(IncomingKind.TEXT, HERE, "hello")


async def _token() -> str:
    return TOKEN


async def hook(server: TelegramServer, stage: Stage, secret: str, body: bytes = b'{"update_id": 9}') -> int:
    """What our webhook says to a visitor who shows this secret."""
    request = WebRequest("POST", "/hooks/door", {}, {SECRET_HEADER: secret} if secret else {}, body)
    assert isinstance(stage.channel, HasWebhook)
    return (await stage.channel.web(request)).status


async def test_a_forged_visit_is_refused_and_not_heard() -> None:
    server = TelegramServer(visits=True)
    async with staged(lambda: server) as stage:
        right = server.news.secret
        assert [await hook(server, stage, secret) for secret in ("", "x", right[:-1], right.upper())] == [403] * 4
        assert await hook(server, stage, right, b"not JSON") == 400
        assert await hook(server, stage, right) == 200
        assert not stage.heard


async def test_without_a_webhook_nobody_is_let_in() -> None:
    server = TelegramServer()
    async with staged(lambda: server) as stage:
        assert await hook(server, stage, server.news.secret) == 403


async def test_a_visit_is_acknowledged_only_when_it_is_stored() -> None:
    server = TelegramServer(visits=True)
    async with staged(lambda: server, ChannelTimeouts(answer=0.1)) as stage:
        stage.refuse = lambda envelope: True
        await server.bring(HELLO)
        await server.news.when(lambda: 503 in server.news.refused)
        assert len(server.world.updates) == 1
        stage.refuse = lambda envelope: False
        await server.news.when(lambda: not server.world.updates)
        assert {envelope.key for envelope in stage.heard} == set(stage.tries)
        assert {envelope.what for envelope in stage.heard} == {IncomingMessage("hello")}


async def test_visits_that_fail_are_told_and_so_is_their_end() -> None:
    server = TelegramServer(visits=True)
    async with staged(lambda: server, ChannelTimeouts(silence=0.1)) as stage:
        assert server.door is not None
        ours, server.door.channel = server.door.channel, None
        await server.bring(HELLO)
        await stage.until(lambda: any("Telegram cannot visit" in one.why for one in stage.health))
        server.door.channel = ours
        await stage.until(
            lambda: any(one.state is ConnectionHealth.CONNECTED and one.gap_ms > 0 for one in stage.health)
        )
        assert [one.what for one in stage.heard] == [IncomingMessage("hello")]


async def test_an_error_from_before_we_came_says_nothing_of_now() -> None:
    @asynccontextmanager
    async def failed_once() -> AsyncIterator[TelegramServer]:
        async with TelegramServer(visits=True) as server:
            server.news.visiting = False
            server.news.failed = {"last_error_date": 1_700_000_000, "last_error_message": "Connection refused"}
            await server.bring(HELLO)
            yield server

    async with asyncio.timeout(60), staged(failed_once) as stage:
        assert stage.health[-1].state is ConnectionHealth.CONNECTED


async def test_a_webhook_that_another_program_has_set_is_told_and_set_again() -> None:
    server = TelegramServer(visits=True)
    async with staged(lambda: server, ChannelTimeouts(silence=0.1)) as stage:
        other = TelegramApi(server.url, _token, 60.0)
        await other.call("setWebhook", {"url": "https://example.com/elsewhere"}, bool)
        await other.close()
        await stage.until(lambda: any("Another program" in one.why for one in stage.health))
        await server.bring(HELLO)
        await stage.until(lambda: bool(stage.heard))
        assert stage.heard[0].what == IncomingMessage("hello")
