"""The scripted server runs as a command, and ends with who started it."""

import json
from pathlib import Path

import httpx2
import pytest

from angelia.testing.model.pictures import one_colour
from angelia.testing.model.server_process import model_server_process
from angelia.testing.model.steps import dump_steps, load_steps, say, slowly, truncated_call
from tests.testing.requests_by_hand import asked


def chat(url: str, text: str = "hi", image: tuple[str, bytes] | None = None) -> str:
    """What the server answers on the chat wire."""
    response = httpx2.post(f"{url}/v1/chat/completions", json=asked("chat", text, image=image))
    return str(response.json()["choices"][0]["message"]["content"])


def test_it_names_colours_and_records_what_it_was_sent(tmp_path: Path) -> None:
    record = tmp_path / "requests.jsonl"
    with model_server_process("--colour", "--record", str(record)) as url:
        seen = chat(url, image=("image/png", one_colour("purple")))
    (line,) = record.read_text().splitlines()
    assert seen == "purple"
    assert json.loads(line)["images"][0]["colour"] == "purple"


def test_it_echoes_with_delays() -> None:
    with model_server_process("--echo", "--first-delay", "0.001", "--delay", "0.001") as url:
        assert chat(url, "say this") == "say this"


def test_it_takes_its_script_from_a_file(tmp_path: Path) -> None:
    steps = [say("one"), slowly(say("two"), first=0.001)]
    script = tmp_path / "script.json"
    script.write_bytes(dump_steps([*steps]))
    with model_server_process("--script", str(script)) as url:
        assert [chat(url), chat(url)] == ["one", "two"]


def test_a_complaint_fails_who_started_it(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_bytes(dump_steps([]))
    with (
        pytest.raises(AssertionError, match="one more request came"),
        model_server_process("--script", str(script)) as url,
    ):
        httpx2.post(f"{url}/v1/chat/completions", json=asked("chat"))


def test_steps_round_trip_through_json() -> None:
    steps = [say("é"), truncated_call("shell", {"command": "ls"}, at=3, finish=False)]
    assert load_steps(dump_steps([*steps])) == steps
