"""`harbor run` does its tasks through us, in its own sandboxes, and its results say what came of them."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, empty, say
from tests.sandboxes.conftest import docker
from tests.sandboxes.daemon import IMAGE, Daemon

__all__ = ("docker",)

pytestmark = [pytest.mark.anyio, pytest.mark.real("harbor")]

ROOT = Path(__file__).parents[2]
HARBOR = ROOT / ".tools" / "harbor" / "bin" / "harbor"

TASK = f"""
schema_version = "1.1"
artifacts = ["/tmp/sum.txt"]
[task]
name = "garden/NAME"
[environment]
docker_image = "{IMAGE}"
workdir = "/tmp"
"""
APART = """
[verifier]
environment_mode = "separate"
"""
"""The tests judge in a container of their own, once the model's is gone: what new tasks of Harbor are made with."""
JUDGE = '#!/bin/sh\n[ "$(cat /tmp/sum.txt)" = 45 ]; echo $((1 - $?)) >/logs/verifier/reward.txt\n'


def task(folder: Path, name: str, instruction: str, more: str = "") -> None:
    """A task of Harbor, judged by what is in its container."""
    for path, text in {
        "task.toml": TASK.replace("NAME", name) + more,
        "instruction.md": instruction,
        "environment/.keep": "",
        "tests/test.sh": JUDGE,
    }.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)
    (folder / name / "tests/test.sh").chmod(0o755)


def gardener(request: ReceivedRequest) -> Step:
    """Writes the harvest, adds up, and tells; is silent where it is asked to be."""
    messages = request.heard.messages
    if "nothing" in messages[0].text:
        return empty()
    steps = [
        call("write", {"path": "harvest.csv", "content": "north,12\nsouth,33\n"}),
        call("shell", {"command": "cat harvest.csv; echo $((12 + 33)) > sum.txt"}),
    ]
    past = sum(message.role == "assistant" for message in messages)
    return steps[past] if past < len(steps) else say("It is 45.")


async def results(folder: Path, docker: Daemon, server: ModelServer) -> dict[str, dict[str, Any]]:
    """What Harbor keeps of each task, by its name."""
    env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k", "DOCKER_HOST": f"unix://{docker.socket}"}
    env |= {"HOME": str(folder), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "HARBOR_TELEMETRY": "0"}
    words = ["run", "-p", str(folder / "tasks"), "-o", str(folder / "jobs"), "--job-name", "ours", "-q", "--yes"]
    words += ["--agent", "angelia.evals.harbor_agent:HarborAgent", "-m", "openai-chat/scripted"]
    words += ["--env", "tests.evals.plain_docker:PlainDocker", "--ak", f"home={folder / 'home'}"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        HARBOR, *words, cwd=folder, env={**os.environ, **env}, stdout=pipe, stderr=pipe
    )
    said, complained = await process.communicate()
    assert process.returncode == 0, (said + complained).decode()
    found = [json.loads(path.read_bytes()) for path in (folder / "jobs" / "ours").glob("*/result.json")]
    return {one["task_name"]: one for one in found}


@pytest.mark.soak
async def test_tasks_of_harbor_are_done_in_their_own_containers(tmp_path: Path, docker: Daemon) -> None:
    task(tmp_path / "tasks", "sum", "Add up the beds, and write sum.txt.")
    task(tmp_path / "tasks", "apart", "Add up the beds, and write sum.txt.", APART)
    task(tmp_path / "tasks", "silence", "Say nothing.")
    async with ModelServer(gardener) as server:
        came = await results(tmp_path, docker, server)
    done, apart, silent = (came[f"garden/{name}"] for name in ("sum", "apart", "silence"))
    assert done["verifier_result"]["rewards"] == apart["verifier_result"]["rewards"] == {"reward": 1.0}
    assert (apart["verifier_environment_mode"], apart["agent_result"]["metadata"]["ending"]) == ("separate", "Answered")
    assert done["agent_result"]["metadata"]["ending"] == "Answered"
    assert done["agent_result"]["n_output_tokens"] > 0
    kept = json.loads(next((tmp_path / "jobs/ours").glob("sum__*/agent/trajectory.json")).read_bytes())
    assert kept["schema_version"] == "ATIF-v1.7"
    called = [call["function_name"] for step in kept["steps"] for call in step.get("tool_calls", ())]
    assert called == ["write", "shell"]
    assert silent["verifier_result"]["rewards"] == {"reward": 0.0}
    assert silent["exception_info"] is None
    assert silent["agent_result"]["metadata"]["ending"] != "Answered"
    assert docker.containers() == []
