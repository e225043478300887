"""A call that a server takes on as a task is followed to its end, in the call and behind it, and never made twice."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.ids import CallId
from angelia.policy.verdict import AnswerServer, OfServer
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.asking import PersonReply, Said
from angelia.tools.mcp import remote_tasks
from angelia.tools.mcp.server import ServerProgram, given
from angelia.tools.mcp.servers import Servers
from angelia.tools.mcp.tool import ServerTool
from angelia.tools.port import JsonArguments, ToolContext, ToolOutcome, Work
from angelia.tools.submitted_jobs import SubmittedJob
from tests.mcp.reached import reached
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

SERVER = str(Path(__file__).with_name("task_server.py"))
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASKS = {"method": "elicitation/create", "params": {"message": "For whom?", "requestedSchema": FORM, "mode": "form"}}
BAKED = {"status": "completed", "result": {"content": [{"type": "text", "text": "a loaf"}]}}


class Oven:
    """The tool of a server whose task stands as a test wants it."""

    def __init__(self, folder: Path, servers: Servers) -> None:
        self._folder = folder
        self.servers = servers
        [tool], _ = servers.tools(())
        assert isinstance(tool, ServerTool)
        self.tool = tool
        self.bench = ToolHarness(folder, LocalSandbox(folder, home=folder / "own", state=folder / "run"))

    def becomes(self, state: dict[str, Any]) -> None:
        """What the task says of itself from now on."""
        new = self._folder / "new"
        new.write_text(json.dumps(state))
        new.replace(self._folder / "state")

    async def bake(self, context: ToolContext | None = None) -> ToolOutcome:
        """Call it."""
        return await self.tool.run(JsonArguments({}), context or self.bench.context())

    def asked(self, method: str) -> int:
        """How often the server was asked for something."""
        file = self._folder / "asked"
        return file.read_text().splitlines().count(method) if file.exists() else 0


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
def version(request: pytest.FixtureRequest) -> str:
    """The protocol in whose words tasks are spoken of."""
    return str(request.param)


@asynccontextmanager
async def oven(folder: Path, version: str, **state: Any) -> AsyncIterator[Oven]:
    """A server that takes calls on, reached."""
    program = ServerProgram((sys.executable, SERVER, str(folder), version), given({}))
    async with reached(folder, program) as (servers, _):
        found = Oven(folder, servers)
        if state:
            found.becomes(state)
        yield found


async def test_a_task_that_is_soon_done_is_the_result_of_its_call(tmp_path: Path, version: str) -> None:
    async with oven(tmp_path, version, status="working", statusMessage="It rises.") as bread:
        baking = asyncio.create_task(bread.bake())
        async with asyncio.timeout(60):
            while "It rises.\n" not in bread.bench.seen:  # noqa: ASYNC110 - another process tells in its time
                await asyncio.sleep(0.01)
        bread.becomes(BAKED)
        outcome = await baking
    assert (text_of(outcome), outcome.goes_on) == ("a loaf", None)
    assert bread.bench.submitted == SubmittedJob("the MCP server s1", "t1"), "written down before it was waited for"
    assert bread.asked("tools/call") == 1


async def test_what_a_task_asks_is_put_to_the_person(tmp_path: Path, version: str) -> None:
    asked: list[OfServer] = []

    async def ann(effect: OfServer) -> PersonReply:
        asked.append(effect)
        return Said("Ann")

    async with oven(tmp_path, version, status="input_required", inputRequests={"whom": ASKS}) as bread:
        outcome = await bread.bake(replace(bread.bench.context(), ask=ann))
    [question] = asked
    assert isinstance(question, AnswerServer)
    assert question.question.startswith("The MCP server s1 asks: For whom?")
    assert json.loads((tmp_path / "answered").read_text()) == {"whom": {"action": "accept", "content": {"name": "Ann"}}}
    assert outcome.status is CallStatus.OK


async def test_an_answer_that_is_not_taken_now_is_handed_in_again_and_nobody_is_asked_twice(tmp_path: Path) -> None:
    asked: list[OfServer] = []

    async def ann(effect: OfServer) -> PersonReply:
        asked.append(effect)
        return Said("Ann")

    refused = tmp_path / "refused"
    refused.write_text(json.dumps({"tasks/update": {"code": -32603, "message": "busy"}}))
    async with oven(tmp_path, "2026-07-28", status="input_required", inputRequests={"whom": ASKS}) as bread:
        baking = asyncio.create_task(bread.bake(replace(bread.bench.context(), ask=ann)))
        async with asyncio.timeout(60):
            while bread.asked("tasks/update") < 3:  # noqa: ASYNC110 - another process tells in its time
                await asyncio.sleep(0.01)
        refused.unlink()
        assert (await baking).status is CallStatus.OK
    assert len(asked) == 1
    assert json.loads((tmp_path / "answered").read_text()) == {"whom": {"action": "accept", "content": {"name": "Ann"}}}


async def test_an_answer_that_a_task_does_not_take_is_told_and_handed_in_once(tmp_path: Path) -> None:
    async def ann(_: OfServer) -> PersonReply:
        return Said("Ann")

    (tmp_path / "refused").write_text(json.dumps({"tasks/update": {"code": -32602, "message": "too late"}}))
    async with oven(tmp_path, "2026-07-28", status="input_required", inputRequests={"whom": ASKS}) as bread:
        baking = asyncio.create_task(bread.bake(replace(bread.bench.context(), ask=ann)))
        async with asyncio.timeout(60):
            while bread.asked("tasks/get") < 4:  # noqa: ASYNC110 - another process tells in its time
                await asyncio.sleep(0.01)
        assert bread.asked("tasks/update") == 1
        bread.becomes(BAKED)
        outcome = await baking
    assert text_of(outcome).splitlines()[0] == "a loaf"
    assert "did not take the answer to what it had asked: too late" in text_of(outcome)


@pytest.mark.parametrize(
    ("state", "status", "said"),
    [
        ({"status": "failed", "error": {"code": -32603, "message": "no gas"}}, CallStatus.ERROR, "it failed: no gas"),
        ({"status": "failed", "error": {"code": -32000, "message": "no gas"}}, CallStatus.ERROR, "it failed: no gas"),
        ({"status": "cancelled"}, CallStatus.ERROR, "it was cancelled"),
        ({"status": "forgotten"}, CallStatus.UNKNOWN, "cannot say what became of it: Task not found"),
        ({"status": "completed", "result": {"content": 3}}, CallStatus.UNKNOWN, "none of the protocol's"),
        (BAKED | {"result": {"content": [], "isError": True}}, CallStatus.ERROR, "gave back nothing"),
    ],
)
async def test_a_task_that_comes_to_nothing_says_so(
    tmp_path: Path, version: str, state: dict[str, Any], status: CallStatus, said: str
) -> None:
    async with oven(tmp_path, version, **state) as bread:
        outcome = await bread.bake()
    assert outcome.status is status
    assert said in text_of(outcome)


async def test_a_long_task_goes_on_behind_its_result_and_its_end_is_told(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_tasks, "PATIENCE_S", 0.3)
    async with oven(tmp_path, version) as bread:
        outcome = await bread.bake()
        assert outcome.goes_on == Work(e.WorkKind.REMOTE_TASK, "s1: bake")
        assert "goes on with this as a task" in text_of(outcome)
        bread.becomes(BAKED)
        assert text_of(await bread.bench.end()) == "a loaf"


async def test_what_goes_on_can_be_taken_back(tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_tasks, "PATIENCE_S", 0.3)
    async with oven(tmp_path, version) as bread:
        context = bread.bench.context()
        await bread.bake(context)
        assert not await bread.servers.tasks.end(CallId("c99_0"))
        assert await bread.servers.tasks.end(context.call)
        assert "was cancelled: taken back" in text_of(await bread.bench.end())


async def test_a_stopped_call_takes_its_task_back(tmp_path: Path, version: str) -> None:
    async with oven(tmp_path, version) as bread:
        baking = asyncio.create_task(bread.bake())
        async with asyncio.timeout(60):
            while not bread.bench.submitted.job:  # noqa: ASYNC110 - another process tells in its time
                await asyncio.sleep(0.01)
        baking.cancel()
        await asyncio.gather(baking, return_exceptions=True)
        assert bread.asked("tasks/cancel") == 1


async def test_what_goes_on_when_the_conversation_is_left_is_told_as_unknown(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_tasks, "PATIENCE_S", 0.3)
    async with oven(tmp_path, version) as bread:
        await bread.bake()
    [left] = bread.bench.ends
    assert left.status is CallStatus.UNKNOWN
    assert "nobody looks at it any more" in text_of(left)


@pytest.mark.soak(every=2)
async def test_a_life_after_a_kill_follows_the_task_and_calls_nothing_once_more(tmp_path: Path, version: str) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    sets = (
        f"mcp.servers.oven.command={json.dumps([sys.executable, SERVER, str(folder), version])}",
        "mcp.servers.oven.allow=true",
        "mcp.patience=60",
    )
    async with ModelServer([call("oven__bake", {}), say("Baked.")]) as model:
        place = Place(tmp_path, model, sets=sets)
        killed = await place.ask("Bake.", at="mcp.task_kept:1")
        assert killed.status == -signal.SIGKILL
        (folder / "state").write_text(json.dumps(BAKED))
        again = await place.ask("--continue")
        facts = [entry.fact for entry in await place.entries()]
    assert again.stdout.strip().endswith("Baked.")
    [result] = [fact for fact in facts if isinstance(fact, e.ToolFinished)]
    assert [fact.job for fact in facts if isinstance(fact, e.JobSubmitted)] == ["t1"]
    assert result.status is CallStatus.OK
    assert (folder / "asked").read_text().splitlines().count("tools/call") == 1
