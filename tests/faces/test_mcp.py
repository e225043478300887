"""MCP servers of the settings: their tools in the terminal, and what is said of those that are not well."""

import json
import sys
from pathlib import Path

import pytest

from angelia.testing.model.steps import Step, call, say
from tests.faces.angelia import Place, serving
from tests.mcp.reached import BARE
from tests.promise.lives import ROOT

TOKEN = "s3cr3t-t0k3n-0f-b4r3"


def settle(place: Place, **more: object) -> None:
    """Write a good server `bare` and a bad one `gone` into the settings."""
    env = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "BARE_TOKEN": "${NOTES_TOKEN}", "PASSWORD": "literal-word"}
    lines = [
        "[mcp]",
        "patience = 60.0",
        "[mcp.servers.bare]",
        f"command = {json.dumps([sys.executable, BARE, 'old', str(place.work), '--api-key=abc'])}",
        *(f"{key} = {json.dumps(value)}" for key, value in more.items()),
        "[mcp.servers.bare.env]",
        *(f"{key} = {json.dumps(value)}" for key, value in env.items()),
        "[mcp.servers.gone]",
        'command = ["/no/such/server"]',
    ]
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "config.toml").write_text("\n".join(lines))


@pytest.fixture
def told(place: Place) -> Place:
    """The place with both servers, which ask."""
    settle(place)
    return place


def test_they_are_listed_without_their_secrets(told: Place) -> None:
    listed = told.run("mcp")
    assert listed.code == 0
    assert f"{BARE} old" in listed.out
    assert "--api-key=…" in listed.out
    shown = told.run("config")
    assert "${NOTES_TOKEN}" in shown.out
    assert "literal-word" not in shown.out
    assert "=abc" not in shown.out + listed.out


def test_one_is_tried_and_brings_its_tools(told: Place) -> None:
    tried = told.run("mcp", "test", "bare", NOTES_TOKEN=TOKEN)
    assert tried.code == 0
    assert "and brings 11 tools" in tried.out
    assert "bare__say\n    [MCP server bare] Says it." in tried.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["test", "gone"], 1, "The MCP server gone cannot be used: /no/such/server could not be started"),
        (["test", "bare"], 1, "The MCP server bare cannot be used: The variable NOTES_TOKEN is not set"),
        (["test", "none"], 2, "There is no server 'none' in the settings. There are: bare, gone."),
        (["remove"], 2, "mcp does not take 'remove'."),
    ],
)
def test_what_is_wrong_is_said(told: Place, words: list[str], code: int, said: str) -> None:
    ended = told.run("mcp", *words)
    assert ended.code == code
    assert said in ended.err


def test_doctor_tells_those_that_are_well_from_those_that_are_not(told: Place) -> None:
    ended = told.run("doctor", "--model", "openai-chat:test", NOTES_TOKEN=TOKEN)
    assert "✔ MCP bare" in ended.out
    assert "✘ MCP gone" in ended.out
    assert ended.code == 1


STEPS: list[Step] = [call("bare__token", {}), say("Done.")]


@pytest.mark.parametrize("allow", [True, False])
def test_without_anybody_to_ask_only_what_the_settings_allow_is_used(tmp_path: Path, allow: bool) -> None:
    with serving(tmp_path, STEPS) as place:
        settle(place, allow=allow)
        ended = place.ask("--json", "Tell.", NOTES_TOKEN=TOKEN)
    assert ended.code == 0
    assert ("it is [secret: key" in ended.out) is allow
    assert ("nobody is here who could give it" in ended.out) is not allow
    assert TOKEN not in ended.out + ended.err
    assert "told the model: The MCP server gone cannot be used" in ended.err
    assert not list((place.home / "running").glob("*.lock"))


def test_in_a_conversation_a_server_of_the_settings_is_asked_about_once(tmp_path: Path) -> None:
    steps = [call("bare__note", {"words": "one"}), call("bare__note", {"words": "two"}), say("Both are noted.")]
    with serving(tmp_path, steps) as place:
        settle(place)
        with place.chat(NOTES_TOKEN=TOKEN) as terminal:
            terminal.types("note both")
            terminal.sees("Use the tool `note` of the MCP server bare?")
            terminal.types("2")
            terminal.sees("Both are noted.")
        assert (place.work / "seen").read_text().splitlines()[-2:] == ["one", "two"]
        assert place.kinds().count("ApprovalAsked") == 1
