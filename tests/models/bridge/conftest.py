"""The bridge at the loopback server."""

from collections.abc import AsyncIterator

import pytest

from angelia.models.pydantic_ai import BridgeRoom, open_room
from angelia.models.wire import Timeouts
from tests.models.bridge.asked import GPT, KEY
from tests.models.loopback import Server
from tests.models.shapes import open_media


@pytest.fixture
async def room(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BridgeRoom]:
    """OpenAI's model of theirs, with a key of ours, at the loopback server."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    made = open_room(GPT, None, open_media, Timeouts(silence=0.5))
    async with made.model(KEY):  # closes its client
        yield made
