"""The bridge at the loopback server."""

from collections.abc import AsyncIterator

import pytest

from angelia.models.context import ProviderContext, WireTimeouts
from angelia.models.pydantic_ai.provider import BridgeProvider, open_provider
from tests.models.bridge.asked import GPT, KEY
from tests.models.loopback import Server
from tests.models.shapes import open_media


@pytest.fixture
def timeouts() -> WireTimeouts:
    """Those of a busy machine, too; a test in which a server falls silent gives its own."""
    return WireTimeouts(60.0, 60.0, 60.0)


@pytest.fixture
async def provider(
    server: Server, timeouts: WireTimeouts, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[BridgeProvider]:
    """OpenAI's model of theirs, with a key of ours, at the loopback server."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    made = open_provider(GPT, ProviderContext(open_media, timeouts=timeouts))
    async with made.model(KEY):  # closes its client
        yield made
