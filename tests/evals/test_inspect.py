"""`inspect eval` runs its tasks through us, and what came of them stands in its own log.

Inspect is imported by the one test that needs it here: each process that collects the tests would take a second for it.
"""

import asyncio
import json
import os
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, empty, hang, say

if TYPE_CHECKING:
    from inspect_ai.util import ExecResult

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
INSPECT = Path(sys.executable).with_name("inspect")

UNPACKS = pytest.mark.skipif(not hasattr(tarfile, "data_filter"), reason="this Python unpacks nothing others packed")

READ = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
print(json.dumps([json.loads(read_eval_log(log).model_dump_json()) for log in list_eval_logs(sys.argv[1])]))
"""


async def ran(*argv: str, env: dict[str, str]) -> bytes:
    """What a program of that environment printed; it has to end well."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, cwd=ROOT, env={**os.environ, **env}, stdout=pipe, stderr=pipe)
    said, complained = await process.communicate()
    assert process.returncode == 0, (said + complained).decode()
    return said


async def evaluated(folder: Path, server: ModelServer) -> dict[str, dict[str, Any]]:
    """The logs of all tasks that ran through us, by the tasks' names, as their own reader reads them."""
    env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k", "INSPECT_LOG_DIR": str(folder / "logs")}
    env |= {"INSPECT_DISPLAY": "none", "HOME": str(folder)}
    ours = ["--solver", "angelia/agent", "-S", "model=openai-chat:scripted", "-S", f"home={folder / 'home'}"]
    await ran(str(INSPECT), "eval", "tests/evals/garden_tasks.py", "--model", "none", *ours, env=env)
    logs: list[dict[str, Any]] = json.loads(await ran(sys.executable, "-c", READ, env["INSPECT_LOG_DIR"], env=env))
    return {log["eval"]["task"]: log for log in logs}


def gardener(request: ReceivedRequest) -> Step:
    """Reads the harvest, adds up, tidies, and tells the sum; names a picture; is silent where there is none."""
    messages = request.heard.messages
    if "beds" not in messages[0].text:
        assert bool(request.images) == ("Answer in one word." in messages[0].text)
        return say("A pixel.") if request.images else empty()
    past = sum(message.role == "assistant" for message in messages)
    count = "33" if "south" in messages[0].text else "12"
    steps = [call("read", {"path": "harvest.csv"}), call("shell", {"command": f"echo {count} > sum.txt; rm old.txt"})]
    return steps[past] if past < len(steps) else say(f"It is {count}.")


@UNPACKS
@pytest.mark.soak
async def test_tasks_of_inspect_run_through_us_and_their_logs_say_all_of_it(tmp_path: Path) -> None:
    async with ModelServer(gardener) as server:
        logs = await evaluated(tmp_path, server)
    assert {name: log["status"] for name, log in logs.items()} == {"files": "success", "words": "success"}
    worked_on_in_their_sandbox(logs["files"])
    told_as_it_ended(logs["words"])


class Box:
    """As much of a sandbox of theirs as is asked for, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def exec(self, words: list[str]) -> "ExecResult[str]":
        from inspect_ai.util import ExecResult

        run = partial(subprocess.run, words, cwd=self._folder, capture_output=True, text=True, check=False)
        ended = await asyncio.to_thread(run)
        return ExecResult(ended.returncode == 0, ended.returncode, ended.stdout, ended.stderr)

    async def write_file(self, file: str, contents: bytes) -> None:
        (self._folder / file).write_bytes(contents)

    async def read_file(self, file: str, *, text: bool) -> bytes:
        assert not text
        return (self._folder / file).read_bytes()


@UNPACKS
async def test_what_was_done_by_the_end_of_a_limit_is_there_to_be_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai.agent import AgentState
    from inspect_ai.model import ChatMessageUser

    from angelia.evals import inspect_agent

    (folder := tmp_path / "box").mkdir()
    (folder / "harvest.csv").write_text("north,12\n")
    state = AgentState(messages=[ChatMessageUser(content="Add up the beds, and write sum.txt.")])
    steps: list[Step] = [call("shell", {"command": "echo 12 > sum.txt"}), hang()]
    async with ModelServer(lambda request: steps[request.heard.replies]) as server:
        monkeypatch.setattr(inspect_agent, "_own_sandbox", lambda: Box(folder))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        with anyio.CancelScope() as limit:
            asked = asyncio.create_task(server.when(lambda one: len(one.requests) == 2))
            asked.add_done_callback(lambda _: limit.cancel())
            await inspect_agent.angelia(model="openai-chat:scripted", home=str(tmp_path / "home"))(state)
    assert limit.cancelled_caught
    assert (folder / "sum.txt").read_text() == "12\n"
    assert [message.role for message in state.messages][:3] == ["user", "assistant", "tool"]


def worked_on_in_their_sandbox(log: dict[str, Any]) -> None:
    """What was written and removed is there for the scorer, and each step stands in the log."""
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == 1.0
    north = next(sample for sample in log["samples"] if sample["id"] == "north")
    assert north["output"]["choices"][0]["message"]["content"] == "It is 12."
    said = [(one["role"], [one["function"] for one in one.get("tool_calls") or []]) for one in north["messages"]]
    steps = [("assistant", ["read"]), ("tool", []), ("assistant", ["shell"]), ("tool", []), ("assistant", [])]
    assert said == [("user", []), *steps]
    assert "north,12" in north["messages"][2]["content"]


def told_as_it_ended(log: dict[str, Any]) -> None:
    """A picture was shown; an ending without an answer is an error of its sample, and of no other."""
    picture, silence = log["samples"]
    assert (picture["scores"]["includes"]["value"], picture["output"]["error"]) == ("C", None)
    assert silence["scores"]["includes"]["value"] == "I"
    assert "empty" in silence["output"]["error"]
