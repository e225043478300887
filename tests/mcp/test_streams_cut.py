"""A stream by which a site tells of changes is opened again where it was cut, and what was missed is asked for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged

from angelia.tools.mcp import answer_size, reopening
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.connection_state import Ready
from angelia.tools.mcp.server import Site, given
from tests.mcp.asking_server import Era, at_a_site, listed
from tests.mcp.reached import only, reached
from tests.mcp.relay import Relay, relayed
from tests.mcp.test_elicitation import Person

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def in_time(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Nothing here waits for ever, and for no pause of ours long."""
    monkeypatch.setattr(reopening, "PAUSES", (0.02,))
    async with asyncio.timeout(120):
        yield


class Bed:
    """A server whose tools are what grows in it; `streams` counts those by which it tells of changes."""

    def __init__(self) -> None:
        self.grows = ["rose"]
        self.streams = 0
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._session: Any = None
        self.server: Server[Any] = Server(
            "bed", on_list_tools=self._list, on_call_tool=self._call, on_subscriptions_listen=self._listening
        )

    async def tell(self) -> None:
        """Say that something else grows."""
        await self._bus.publish(ToolsListChanged())
        if self._session:
            await self._session.send_tool_list_changed()

    async def _listening(
        self, context: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> Any:
        self.streams += 1
        return await self._listen(context, params)

    async def _list(self, context: ServerRequestContext[Any, Any], _: Any) -> types.ListToolsResult:
        self._session = context.session
        return types.ListToolsResult(tools=[listed(name) for name in ("ask", *self.grows)])

    async def _call(self, context: ServerRequestContext[Any, Any], _: Any) -> types.CallToolResult:
        """Ask something by the stream of its own, as servers do that know of no call."""
        form = {"type": "object", "properties": {"bed": {"type": "string"}}}
        answer = await context.session.elicit_form("Which?", form)
        return types.CallToolResult(content=[types.TextContent(text=answer.action)])

    def counting(self, app: Any) -> Any:
        """The site, whose own streams are counted."""

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            self.streams += scope.get("method") == "GET"
            await app(scope, receive, send)

        return counted


async def until(holds: Callable[[], object]) -> None:
    """Wait until something is so at the other side of a network."""
    while not holds():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.01)


def names(connection: McpConnection) -> list[str]:
    """What it lists."""
    return [tool.name for tool in connection.tools][1:]


async def cut(relay: Relay, bed: Bed) -> None:
    """The network breaks, and the site has its stream again."""
    stood = bed.streams
    relay.cut()
    await until(lambda: bed.streams > stood)


@pytest.mark.parametrize("era", ["old", "new"])
async def test_what_changed_while_a_stream_was_cut_is_listed_and_later_changes_are_heard(
    tmp_path: Path, era: Era
) -> None:
    bed = Bed()
    async with (
        at_a_site(bed.server, era, bed.counting) as url,
        relayed(url) as relay,
        reached(tmp_path, Site(relay.url, given({}))) as (servers, _),
    ):
        server = only(servers)
        await until(lambda: bed.streams)
        ready = server.state
        for flower in ("lily", "iris", "aster", "daisy"):
            bed.grows = [flower]
            await cut(relay, bed)
            await until(lambda: names(server) == bed.grows)
        bed.grows = ["poppy"]
        await bed.tell()
        await until(lambda: names(server) == ["poppy"])
        assert server.state is ready
        assert isinstance(ready, Ready)


@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_site_that_is_away_for_a_while_is_sought_until_it_is_back(tmp_path: Path, era: Era) -> None:
    bed = Bed()
    async with (
        at_a_site(bed.server, era, bed.counting) as url,
        relayed(url) as relay,
        reached(tmp_path, Site(relay.url, given({}))) as (servers, _),
    ):
        await until(lambda: bed.streams)
        relay.away, bed.grows = True, ["lily"]
        relay.cut()
        await until(lambda: relay.turned_away > 3)
        relay.away = False
        await until(lambda: names(only(servers)) == ["lily"])
        assert relay.turned_away > 3


async def test_a_question_by_the_own_stream_of_a_site_comes_after_many_cuts(tmp_path: Path) -> None:
    bed, person = Bed(), Person("north")
    async with (
        at_a_site(bed.server, "old", bed.counting) as url,
        relayed(url) as relay,
        reached(tmp_path, Site(relay.url, given({}))) as (servers, _),
    ):
        await until(lambda: bed.streams)
        for _ in range(4):
            await cut(relay, bed)
        result = await only(servers).call("ask", {}, lambda _: None, person.reached)
    assert [block.text for block in result.content if block.type == "text"] == ["accept"]
    assert len(person.asked) == 1


async def test_a_site_that_numbers_its_events_is_asked_for_those_that_were_missed(tmp_path: Path) -> None:
    asked: list[bytes] = []

    def before(app: Any) -> Any:
        async def numbered(scope: Any, receive: Any, send: Any) -> None:
            if scope.get("method") != "GET":
                await app(scope, receive, send)
                return
            asked.append(dict(scope["headers"]).get(b"last-event-id", b""))
            head = [(b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": b"id: e%d\ndata: \n\n" % len(asked)})

        return numbered

    async with at_a_site(Bed().server, "old", before) as url, reached(tmp_path, Site(url, given({}))):
        await until(lambda: len(asked) > 2)
    assert asked[:3] == [b"", b"e1", b"e2"]


async def test_what_is_too_large_on_a_numbered_stream_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_size, "MOST_ANSWER", 10_000)
    asked: list[bytes] = []

    def before(app: Any) -> Any:
        async def overlong(scope: Any, receive: Any, send: Any) -> None:
            if scope.get("method") != "GET":
                await app(scope, receive, send)
                return
            asked.append(dict(scope["headers"]).get(b"last-event-id", b""))
            head = [(b"content-type", b"text/event-stream")]
            body = b"id: e1\ndata: \n\nid: e2\ndata: " + b"x" * 20_000 + b"\n\n"
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": body})

        return overlong

    async with at_a_site(Bed().server, "old", before) as url, reached(tmp_path, Site(url, given({}))):
        await until(lambda: len(asked) > 1)
    assert asked[:2] == [b"", b""]


async def test_pauses_grow_until_something_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reopening, "PAUSES", (1, 2, 300))
    again = reopening.Reopening()
    assert [again.pause() for _ in range(4)] == [1, 2, 300, 300]
    again.opened()
    assert again.pause() == 300
    again.heard()
    assert [again.pause() for _ in range(2)] == [1, 2]
