"""A loopback server and its client, for every test that speaks HTTP."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from angelia.http.client import http_client
from tests.models.loopback import Server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server on a port of its own."""
    made = Server()
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    yield made
    made.over.set()
    listening.close()


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx2.AsyncClient]:
    """The client of that server."""
    async with await http_client(server.url, {}) as client:
        yield client
