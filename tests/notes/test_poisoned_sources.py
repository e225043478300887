"""A rule that is planted by a real page, a real browser or a real server, and a model that obeys: nothing is kept."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.browsers.site import Site
from tests.mcp import document_server
from tests.notes.test_poisoned_documents import PAGE, RULE
from tests.promise.inside import conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

HERE = ('policy.allow_ranges=["127.0.0.0/8"]', "policy.mode=autonomous", "sandbox.network=on", "mcp.patience=60")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A recipe with a rule in it, where a browser and a fetch find it."""
    made = Site({"/recipe": f"<h1>Recipe</h1><p>{PAGE}</p>"})
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as listening:
        made.port = listening.sockets[0].getsockname()[1]
        yield made


@pytest.mark.parametrize(
    "tool", ["fetch", pytest.param("browser_open", marks=pytest.mark.real("chromium")), "documents__document"]
)
async def test_what_a_page_or_a_server_wants_remembered_waits_and_is_carried_nowhere(
    tmp_path: Path, site: Site, tool: str
) -> None:
    def obeys(request: ReceivedRequest) -> Step:
        if request.heard.last_words == "hello":
            return say("Hello.")
        where = {} if tool == "documents__document" else {"url": site.url("/recipe", "127.0.0.1")}
        steps = [call(tool, where), call("remember", {"text": RULE, "kind": "rule"}), say("Done.")]
        return steps[request.heard.replies]

    file = tmp_path / "recipe.txt"
    file.write_text(PAGE)
    command = json.dumps([sys.executable, document_server.__file__, str(file)])
    server = ("mcp.servers.documents.allow=true", f"mcp.servers.documents.command={command}")
    async with ModelServer(obeys) as model:
        place = Place(tmp_path, model, sets=(*HERE, *(server if tool == "documents__document" else ())))
        async with conversation(place) as talk:
            await talk.say("What is in the recipe?")
            await talk.ending()
            brought = str(model.requests[1].heard.messages[-1].results)
            assert "shop.example" in brought, "the document was not read"
            [planted] = await talk.app.notes.list(talk.session.owner)
            assert (planted.text, planted.state) == (RULE, "waits")
        async with conversation(place) as talk:
            await talk.say("hello")
            await talk.ending()
            assert "shop.example" not in model.requests[-1].heard.system
