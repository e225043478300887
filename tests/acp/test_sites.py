"""MCP servers at an address, over HTTP and SSE: asked about once, and reached with what the editor hands over."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from angelia.core.content import CallStatus
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.tools.mcp.server import Site
from tests.acp.editor import Editor, first
from tests.acp.test_servers import PATIENT, PERMISSION, TOKEN, choose, opened, results
from tests.mcp.test_real_servers import Transport, garden

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_one_yes_connects_to_a_site_and_lets_its_tools_be_used(tmp_path: Path, transport: Transport) -> None:
    steps = [call("bare__bed", {"name": "north"}), call("bare__bed", {"name": "south"}), say("Done.")]
    async with garden(tmp_path, transport) as way, ModelServer(by_replies(steps)) as server:
        assert isinstance(way, Site)
        site: dict[str, Any] = {"type": transport, "name": "bare", "url": way.url, "headers": []}
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            session = await opened(editor, site)
            assert await editor.prompt(session, "Which beds?") == "end_turn"
            [asked] = [one["params"] for one in editor.asked]
        told = await results(place)
    assert "Connect to the MCP server bare?" in asked["toolCall"]["content"][0]["content"]["text"]
    assert [(status, "plants" in words) for status, words in told] == [(CallStatus.OK, True)] * 2


async def test_a_site_gets_its_headers_once_it_was_allowed_and_one_that_is_closed_never(tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    site = await asyncio.start_server(listen, "127.0.0.1", 0)
    port = site.sockets[0].getsockname()[1]
    headers = [{"name": "Authorization", "value": f"Bearer {TOKEN}"}]
    open_one = {"type": "http", "name": "here", "url": f"http://127.0.0.1:{port}/mcp?key={TOKEN}", "headers": headers}
    closed = {"type": "sse", "name": "cloud", "url": "http://169.254.169.254/sse", "headers": headers}
    async with site, ModelServer(by_replies([say("Done.")])) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            hello = await editor.hello()
            assert hello["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": True}
            session = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[open_one, closed])
            assert await editor.prompt(session["sessionId"], "Go.") == "end_turn"
            [asked] = editor.asked
    assert f"authorization: bearer {TOKEN}".encode() in heard[0].lower()
    assert "Connect to the MCP server here?" in str(asked)
    assert TOKEN not in str(asked)
    told = server.requests[0].raw.decode()
    assert "here cannot be used: it wants a login (HTTP 401)" in told
    assert "cloud cannot be used: 169.254.169.254 is a cloud's metadata service" in told
