"""Programs that speak to Angelia by the official SDKs, over a real socket.

`anthropic` is imported where it is used: it takes longer than any other package, and most processes never need it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
from tests.web.visitor import Visitor, opened, visiting

from angelia.core.principal import KEY, Principal
from angelia.faces.web.api_keys import KeyScope, KeyTerms
from angelia.service.app import App
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step

if TYPE_CHECKING:
    import anthropic

PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""


class Programs:
    """A home that serves the API, and programs with keys to it."""

    def __init__(self, app: App, page: Visitor) -> None:
        self.app, self.page = app, page
        self.owner = Principal(KEY, "ide")

    async def key(self, name: str = "ide", scope: KeyScope = KeyScope.CHAT, **terms: Any) -> str:
        """A new key."""
        return await self.page.door.keys.add(name, scope, KeyTerms(**terms))

    @asynccontextmanager
    async def openai(self, key: str = "", **settings: Any) -> AsyncIterator[openai.AsyncOpenAI]:
        """OpenAI's own client."""
        base = f"{self.page.address}/v1"
        async with openai.AsyncOpenAI(api_key=key or await self.key(), base_url=base, **settings) as client:
            yield client

    @asynccontextmanager
    async def anthropic(self, key: str = "") -> "AsyncIterator[anthropic.AsyncAnthropic]":
        """Anthropic's own client, which sends its key in `x-api-key`."""
        import anthropic

        own = key or await self.key()
        async with anthropic.AsyncAnthropic(api_key=own, auth_token=None, base_url=self.page.address) as client:
            yield client


@asynccontextmanager
async def served(folder: Path, steps: Sequence[Step], **settings: Any) -> AsyncIterator[tuple[Programs, ModelServer]]:
    """A home whose model follows a script."""
    async with (
        ModelServer(list(steps)) as model,
        opened(folder, model.base_url, **settings) as app,
        visiting(app) as page,
    ):
        yield Programs(app, page), model
