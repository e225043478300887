"""What servers serve besides tools: resources that the model reads, prompts that a person chooses."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, Text
from angelia.core.errors import BadInput
from angelia.policy.verdict import NoEffect, UseServer
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.mcp.resource_tools import (
    FindResources,
    FindResourcesArguments,
    ReadResource,
    ReadResourceArguments,
)
from angelia.tools.mcp.served import PromptArgument, ServedPrompt
from angelia.tools.mcp.server import ServerProgram, Site, given
from angelia.tools.port import ToolOutcome
from tests.chats.town import town
from tests.mcp.reached import only, reached
from tests.mcp.test_real_servers import PYTHONPATH, listening
from tests.ports import free_port

pytestmark = pytest.mark.anyio

Transport = Literal["stdio", "http"]
MODULE = ("-m", "tests.mcp.shelf")


@asynccontextmanager
async def shelf(transport: Transport) -> AsyncIterator[ServerProgram | Site]:
    """The server, by the older protocol over its pipes, by the newer one over HTTP."""
    if transport == "stdio":
        yield ServerProgram((sys.executable, *MODULE), given({"PYTHONPATH": PYTHONPATH}))
        return
    port = free_port()
    async with listening(port, sys.executable, *MODULE, "http", str(port), PYTHONPATH=PYTHONPATH):
        yield Site(f"http://127.0.0.1:{port}/mcp", given({}))


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_resources_are_listed_and_read_as_what_they_are(tmp_path: Path, transport: Transport) -> None:
    bench = ToolHarness(tmp_path, LocalSandbox(tmp_path, home=tmp_path / "own", state=tmp_path / "run"))
    async with shelf(transport) as way, reached(tmp_path, way) as (servers, _):
        finds, reads = FindResources(lambda: servers.all), ReadResource(lambda: servers.all)

        async def read(uri: str) -> ToolOutcome:
            return await reads.run(ReadResourceArguments("s1", uri), bench.context())

        listed = text_of(await finds.run(FindResourcesArguments(), bench.context()))
        found = text_of(await finds.run(FindResourcesArguments("north BED"), bench.context()))
        words, made = await read("shelf://beds/north"), await read("shelf://beds/south/notes")
        picture, nothing = await read("shelf://picture"), await read("shelf://none")
        effects = await reads.effects(ReadResourceArguments("s1", "shelf://picture"), bench.context())
        assert await finds.effects(FindResourcesArguments(), bench.context()) == (NoEffect(),)
        with pytest.raises(BadInput, match="There are: s1"):
            await reads.effects(ReadResourceArguments("s2", "shelf://picture"), bench.context())
    assert len(listed.splitlines()) == 3
    assert "s1: shelf://beds/{name}/notes (notes; text/plain)" in listed
    assert found == "s1: shelf://beds/north (The north bed; text/plain): What grows there."
    assert [text_of(one) for one in (words, made)] == [
        "shelf://beds/north:\nCarrots, since April.",
        "shelf://beds/south/notes:\nThe south bed was watered.",
    ]
    assert [type(part) for part in picture.parts] == [Media]
    assert nothing.status is CallStatus.ERROR
    [effect] = effects
    assert isinstance(effect, UseServer)
    assert (effect.server, effect.looks) == ("s1", True)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_what_a_server_serves_later_is_there_later(tmp_path: Path, transport: Transport) -> None:
    async with shelf(transport) as way, reached(tmp_path, way) as (servers, _):
        connection = only(servers)
        assert [one.name for one in connection.offers.prompts] == ["plan"]
        await connection.call("build", {"name": "tools"}, lambda _: None)
        async with asyncio.timeout(60):
            while not (  # noqa: ASYNC110 - another process tells in its time
                any(one.name == "tools" for one in connection.offers.prompts)
                and any(one.uri == "shelf://tools" for one in connection.offers.resources)
            ):
                await asyncio.sleep(0.01)


def test_the_words_of_a_prompt_are_its_arguments() -> None:
    plan = ServedPrompt("shelf", "plan", "", (PromptArgument("bed", "", True), PromptArgument("season", "", False)))
    assert plan.usage == "/shelf:plan bed=… [season=…]"
    assert plan.given("bed='the north' season=May") == {"bed": "the north", "season": "May"}
    for words, why in [
        ("", "It wants bed"),
        ("north", "It takes no north"),
        ("bed=x soil=y", "takes no soil"),
        ("bed='x", "quotation mark"),
    ]:
        with pytest.raises(BadInput, match=why):
            plan.given(words)


def told(words: str, far: FarEnd) -> bool:
    """Whether the chat has read these words."""
    return any(words in text for text in far.texts("7"))


async def test_a_prompt_is_a_command_whose_words_are_the_servers(tmp_path: Path) -> None:
    far = FarEnd()
    command = json.dumps([sys.executable, *MODULE])
    sets = (
        f"mcp.servers.shelf.command={command}",
        f"mcp.servers.shelf.env.PYTHONPATH={PYTHONPATH}",
        "mcp.servers.shelf.allow=true",
    )
    async with (
        ModelServer([say("Hello."), call("find_resources", {}), say("Planned.")]) as model,
        town(tmp_path, model, far, sets=sets) as life,
    ):
        await life.says("Hello.")
        await far.when(partial(told, "Hello."))
        for words, answer in (
            ("/prompts", "/shelf:plan bed=… [season=…]"),
            ("/shelf:plan", "It wants bed"),
            ("/shelf:sow north", "There is no prompt /shelf:sow here"),
        ):
            await life.says(words)
            await far.when(partial(told, answer))
        await life.says("/shelf:plan bed=north season=May")
        await far.when(partial(told, "Planned."))
        [said] = [fact for fact in await life.facts() if isinstance(fact, e.UserSaid) and fact.forwarded]
    assert said.parts == (
        Text(
            "Do what this prompt of the MCP server shelf says, which I chose (plan bed='north' season='May'):\n\n"
            "> Plan the north bed for May.\n> See https://shelf.example/plan."
        ),
    )
    [listed] = model.requests[-1].heard.messages[-1].results
    assert "shelf: shelf://picture" in listed.text
