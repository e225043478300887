"""A conversation is whole in the formats of others, valid as they say, and holds no known secret."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import ConfigDict, TypeAdapter

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.service.trajectories.formats import as_atif, as_openai, as_sharegpt
from angelia.service.trajectories.trajectory import Trajectory, trajectory_steps
from angelia.testing.logs.strategies import logs
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests import nursery
from tests.batches.runs import MODEL, task_file, two_steps
from tests.promise.lives import Place, environment
from tests.service.attached import png, written
from tests.trajectories.atif_schema import ATIF

MESSAGES = TypeAdapter(list[ChatCompletionMessageParam], config=ConfigDict(extra="forbid"))
TOOLS = TypeAdapter(list[ChatCompletionToolParam])


def valid_atif(document: dict[str, Any]) -> None:
    jsonschema.validate(document, ATIF)
    steps = document["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        calls = [one["tool_call_id"] for one in step.get("tool_calls", [])]
        assert [one["source_call_id"] for one in step.get("observation", {"results": []})["results"]] == calls


def valid_openai(document: dict[str, Any]) -> None:
    MESSAGES.validate_python(document["messages"])
    TOOLS.validate_python(document.get("tools", []))
    waiting: list[str] = []
    for message in document["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting  # what answers a call stands right behind it
        waiting = [one["id"] for one in message.get("tool_calls", [])]
    assert not waiting


def valid_sharegpt(document: dict[str, Any]) -> None:
    for before, turn in zip([{"from": ""}, *document["conversations"]], document["conversations"], strict=False):
        assert set(turn) == {"from", "value"}
        assert turn["from"] in ("system", "human", "gpt", "tool")
        assert turn["from"] != "tool" or before["from"] == "gpt"
        for tag in ("tool_call", "tool_response"):
            for tagged in re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", turn["value"], re.DOTALL):
                assert "name" in json.loads(tagged)


def at(media: Media) -> str:
    return f"file:///{media.blob.sha256}"


@pytest.mark.soak
@given(logs())
def test_every_log_is_valid_in_every_format(log: list[e.Entry]) -> None:
    trajectory = Trajectory("c", tuple(trajectory_steps(log)), "Be brief.")
    valid_atif(json.loads(json.dumps(as_atif(trajectory, at))))
    valid_openai(json.loads(json.dumps(as_openai(trajectory, at))))
    valid_sharegpt(json.loads(json.dumps(as_sharegpt(trajectory, at))))
    said = sum(isinstance(entry.fact, e.ModelSaid) for entry in log)
    assert sum(step["source"] == "agent" for step in as_atif(trajectory, at)["steps"]) == said


def looks(request: ReceivedRequest) -> Step:
    if request.heard.replies:
        return say("It is a picture. My key is sk-secret-of-mine.")
    return call("shell", {"command": "echo looked"})


@pytest.mark.anyio
@pytest.mark.real("bwrap")
async def test_an_exported_conversation_has_its_tools_settings_and_pictures_and_no_secret(tmp_path: Path) -> None:
    async with ModelServer(looks) as server:
        place = Place(tmp_path, server)
        env = {**place.env, "OPENAI_API_KEY": "sk-secret-of-mine"}
        picture = written(tmp_path / "seen.png", png())
        asked = await nursery.run(place.argv("What is this?", "--image", str(picture)), env)
        assert asked.status == 0, asked.stderr
        source = await place.conversation()
        told = {
            form: await nursery.run(["export", source, "--format", form, *more], env)
            for form, more in (("atif", ()), ("openai", ("--media", "inline")), ("sharegpt", ()))
        }
    assert all(run.status == 0 for run in told.values()), told
    assert not any("sk-secret-of-mine" in run.stdout for run in told.values())
    atif = json.loads(told["atif"].stdout)
    valid_atif(atif)
    assert {one["function"]["name"] for one in atif["agent"]["tool_definitions"]} >= {"shell", "read"}
    assert atif["extra"]["model_settings"]["name"] == MODEL
    path = next(part["source"]["path"] for step in atif["steps"] for part in parts(step) if part["type"] == "image")
    assert Path(path.removeprefix("file://")).read_bytes() == picture.read_bytes()
    openai = json.loads(told["openai"].stdout)
    valid_openai(openai)
    assert "data:image/png;base64," in told["openai"].stdout
    valid_sharegpt(json.loads(told["sharegpt"].stdout))


def parts(step: dict[str, Any]) -> list[dict[str, Any]]:
    return step["message"] if isinstance(step["message"], list) else []


@pytest.mark.anyio
@pytest.mark.real("bwrap")
async def test_a_batch_is_exported_whole_with_what_its_checks_said(tmp_path: Path) -> None:
    file = task_file(tmp_path, {"id": "a"}, {"id": "b"})
    async with ModelServer(two_steps) as server:
        env = environment(tmp_path, server)
        words = ["batch", str(file), "--model", MODEL, "-o", str(tmp_path / "done"), "--check", "grep a answer.txt"]
        assert (await nursery.run(words, env)).status == 0
        again = ["export", "--batch", str(tmp_path / "done"), "--format", "openai", "-o", str(tmp_path / "train.jsonl")]
        run = await nursery.run(again, env)
    assert run.status == 0, run.stderr
    rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    for row in rows:
        valid_openai(row)
    assert [row["metadata"]["check"]["outcome"] for row in rows] == ["passed", "failed"]
