"""The loopback server, as the tests of the HTTP floor have it, and the way to it."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from angelia.http.client import open_server
from angelia.http.server import HttpServer
from tests.http.conftest import server
from tests.models.loopback import Server

__all__ = ["http", "server"]


@pytest.fixture
async def http(server: Server) -> AsyncIterator[HttpServer]:
    """That server, as whoever asks it has it."""
    async with aclosing(await open_server(server.url, {})) as opened:
        yield opened
