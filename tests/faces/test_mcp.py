"""MCP servers of the settings: their tools in the terminal, and what is said of those that are not well."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from angelia.testing.model.steps import Step, call, say
from tests.faces.angelia import CTRL_D, Place, requests, serving
from tests.mcp.reached import BARE
from tests.promise.lives import ROOT

LINES = Path(BARE).with_name("line_server.sh")
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


@pytest.mark.soak
def test_what_one_serves_besides_tools_is_listed(place: Place) -> None:
    put_shelf(place)
    tried = place.run("mcp", "test", "shelf")
    assert tried.code == 0
    assert "brings 2 tools, and serves 3 resources, a prompt." in tried.out
    assert "shelf://beds/north (The north bed; text/plain): What grows there." in tried.out
    assert "/shelf:plan bed=… [season=…]\n    Plan a bed." in tried.out


def test_a_resize_right_before_the_end_draws_nothing_after_it(tmp_path: Path) -> None:
    """A server that ends slowly keeps the program beyond the time for which a new size has to stand."""
    lines = json.dumps(["sh", "-c", f"sh {LINES}; sleep 0.7"])
    with serving(tmp_path, [call("slow__where", {}), say("There.")]) as place:
        place.home.mkdir(parents=True, exist_ok=True)
        (place.home / "config.toml").write_text(f"[mcp.servers.slow]\nallow = true\ncommand = {lines}\n")
        with place.chat() as terminal:
            terminal.types("where?")
            terminal.sees("There.")
            terminal.resize(70)
            terminal.press(CTRL_D)
            terminal.sees("To go on:")
            before = len(terminal.seen)
            assert terminal.ends() == 0
        assert "\x1b[?2026h" not in terminal.seen[before:]


def test_what_a_server_asks_in_the_middle_of_a_call_is_answered_at_the_terminal(tmp_path: Path) -> None:
    with serving(tmp_path, [call("shelf__sow", {}), say("Sown.")]) as place:
        put_shelf(place)
        with place.chat() as terminal:
            terminal.types("sow something")
            terminal.sees("The MCP server shelf asks: What shall I sow?")
            terminal.sees("Bed (1 of 2)")
            terminal.sees("2  south")
            terminal.types("2")
            terminal.sees("Depth (2 of 2): A whole number.")
            terminal.types("deep")
            terminal.sees("'deep' is no whole number. Please answer once more.")
            terminal.types("3")
            terminal.sees("Bed: south")
            terminal.sees("1  Send it")
            terminal.types("1")
            terminal.sees("Sown.")
        [result] = [fact for fact in place.log() if fact["kind"] == "ToolFinished"]
    assert result["parts"][0]["text"] == "accept: bed='south' depth=3"


@pytest.mark.soak
def test_prompts_are_offered_as_commands_with_their_words(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Planned.")]) as place:
        put_shelf(place)
        with place.chat() as terminal:
            terminal.types("/prompts")
            terminal.sees("/shelf:plan bed=…")
            terminal.press("/she")
            terminal.sees("Plan a bed.")
            terminal.press("\t b")
            terminal.sees("bed=")
            terminal.press("\t")
            terminal.types("north")
            terminal.sees("Planned.")
        [message] = [fact for fact in place.log() if fact["kind"] == "UserSaid"]
    assert "(plan bed='north')" in message["parts"][0]["text"]


@pytest.mark.soak
def test_what_a_server_serves_is_offered_behind_an_at_and_sent_with_the_message(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Carrots."), say("So it is.")]) as place:
        put_shelf(place)
        with place.chat() as terminal:
            terminal.types("/prompts")
            terminal.sees("/shelf:plan bed=…")
            terminal.press("What grows in @north")
            terminal.sees("shelf:shelf://beds/north")
            terminal.press("\t?\r")
            terminal.sees("Carrots.")
            terminal.types("And @shelf:shelf://attic, @nobody:x?")
            terminal.sees("Not attached: The MCP server shelf lists nothing at shelf://attic.")
            terminal.sees("So it is.")
        first, second = [fact for fact in place.log() if fact["kind"] == "UserSaid"]
        assert "Carrots, since April." in json.dumps(requests(place)[0])
    assert (first["parts"][0]["text"], first["forwarded"]) == ("What grows in @shelf:shelf://beds/north?", True)
    assert first["parts"][2]["name"] == "north"
    assert (len(second["parts"]), second.get("forwarded", False)) == (1, False)


def put_shelf(place: Place) -> None:
    """Write a server that serves more than tools into the settings."""
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "config.toml").write_text(
        "[mcp]\npatience = 60.0\n"
        f"[mcp.servers.shelf]\nallow = true\ncommand = {json.dumps([sys.executable, '-m', 'tests.mcp.shelf'])}\n"
        f"[mcp.servers.shelf.env]\nPYTHONPATH = {json.dumps(str(ROOT / 'src') + ':' + str(ROOT))}\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["test", "gone"], 1, "The MCP server gone cannot be used: /no/such/server could not be started"),
        (["test", "bare"], 1, "The MCP server bare cannot be used: The variable NOTES_TOKEN is not set"),
        (["test", "none"], 2, "There is no server 'none' in the settings. There are: bare, gone."),
        (["sing"], 2, "sing"),
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


def settle_inside(place: Place, **more: object) -> None:
    """Write the server for places that have a shell alone into the settings, to run in the sandbox."""
    shutil.copy(Path(__file__).parents[1] / "mcp/line_server.sh", place.work / "server.sh")
    lines = ["[mcp]", "patience = 60.0", "[mcp.servers.lines]", 'command = ["sh", "server.sh"]', 'where = "sandbox"']
    lines += [f"{key} = {json.dumps(value)}" for key, value in more.items()]
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "config.toml").write_text("\n".join(lines))


@pytest.mark.real("bwrap")
def test_one_in_the_sandbox_is_listed_tried_asked_about_as_what_it_is_and_used(tmp_path: Path) -> None:
    with serving(tmp_path, [call("lines__where", {}), say("There.")]) as place:
        settle_inside(place)
        assert "the sandbox" in place.run("mcp").out
        tried = place.run("mcp", "test", "lines")
        assert "and brings 4 tools" in tried.out, tried.err
        with place.chat() as terminal:
            terminal.types("where is it")
            terminal.sees("Use the tool `where` of the MCP server lines?")
            terminal.sees("It runs in this conversation's sandbox")
            terminal.types("2")
            terminal.sees("There.")
        assert place.kinds().count("ApprovalAsked") == 1


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            'url = "https://notes.example/mcp"\nwhere = "sandbox"',
            "Only a command is a program that the sandbox can start",
        ),
        ('command = ["x"]\nreach = "network"', "A program of the machine is not confined"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_with_the_reason(place: Place, written: str, said: str) -> None:
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "config.toml").write_text(f"[mcp.servers.odd]\n{written}\n")
    assert said in place.run("mcp", "list").out
    tried = place.run("mcp", "test", "odd")
    assert (tried.code, said in tried.err) == (1, True)


def test_a_server_is_added_shown_and_removed(place: Place) -> None:
    added = place.run("mcp", "add", "files", "--env", "LEVEL=${NOTES_LEVEL}", "--", "files-server", "--root", "/srv")
    assert "files is added: files-server --root /srv." in added.out
    assert "It reads NOTES_LEVEL from your environment" in added.err
    assert "files-server --root /srv" in place.run("mcp").out
    again = place.run("mcp", "add", "files", "--url", "https://a.example/mcp")
    assert (again.code, "There is a server files already." in again.err) == (2, True)
    assert "files is removed. It was: files-server --root /srv" in place.run("mcp", "remove", "files").out
    assert "[mcp" not in (place.home / "config.toml").read_text()


def test_what_a_registrys_file_makes_of_it_is_added_only_after_a_yes(place: Place) -> None:
    described = {"name": "io.example/a", "packages": [{"registryType": "npm", "identifier": "a", "version": "1.0.0"}]}
    (place.work / "server.json").write_text(json.dumps(described))
    refused = place.run("mcp", "add", "a", "--from", "server.json")
    assert (refused.code, "npx -y a@1.0.0" in refused.err, "Nothing was added" in refused.err) == (2, True, True)
    assert "a is added: npx -y a@1.0.0." in place.run("mcp", "add", "a", "--from", "server.json", "--yes").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "a b", "--url", "https://a.example"], "is no name for a server"),
        (["add", "a", "--url", "https://a.example", "--header", "x"], "takes NAME=VALUE"),
        (["login", "a"], "There is no server 'a'"),
    ],
)
def test_what_cannot_be_added_removed_or_logged_in_at_is_told(place: Place, words: list[str], said: str) -> None:
    ended = place.run("mcp", *words)
    assert ended.code in (1, 2)
    assert said in ended.err
