"""The commands beside ask and chat: what they print, and that they change nothing but what they say."""

import asyncio
import gc
import json
import re
import sys
from collections.abc import Coroutine
from pathlib import Path

import pexpect
import pytest

from angelia.core import entry as e
from angelia.core.codec import from_json_lines
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ending import Answered
from angelia.core.entry import Usage
from angelia.core.ids import CallId
from angelia.faces.cli.main import COMMANDS, run
from angelia.faces.cli.options import open_app, open_to_read
from angelia.faces.cli.show import usage_rows
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.steps import call, say, with_usage
from tests.faces.angelia import Place, serving
from tests.house.sources import ROOT


def test_every_command_has_help_with_an_example(place: Place) -> None:
    for words in [*([name] for name in COMMANDS), ["store", "verify"], ["store", "rebuild"]]:
        ended = place.run(*words, "--help")
        assert ended.code == 0
        examples = re.search(r"\n  Examples?:\n((?:    \S.*\n)+)", ended.out)
        assert examples, words
        assert all("angelia" in line for line in examples[1].splitlines()), "each is a line that can be copied"
        assert not re.search(r"[a-z]\.\.\.\n", ended.out), "no text of a list is cut off"
    assert not place.home.exists(), "help leaves nothing behind"


@pytest.mark.parametrize(
    ("given", "said"),
    [("many", "'many' is not a valid whole number."), ("1.5", "'1.5' is not a valid whole number."), ("0", "x>=1")],
)
def test_what_is_no_number_is_refused_in_plain_words(place: Place, given: str, said: str) -> None:
    ended = place.run("sessions", "--limit", given)
    assert (ended.code, said in ended.err) == (2, True), ended.err
    assert "  --limit NUMBER " in place.run("sessions", "--help").out


def test_what_networks_can_do_is_shown_without_a_home(place: Place) -> None:
    shown = place.run("channels", "matrix", "telegram")
    assert shown.code == 0
    assert "photo      10 MB" in shown.out
    assert not place.home.exists()


def test_the_shell_completes_commands(place: Place) -> None:
    ended = place.run(_ANGELIA_COMPLETE="bash_complete", COMP_WORDS="angelia s", COMP_CWORD="1")
    assert "plain,sessions" in ended.out
    place.home.mkdir()
    (place.home / "config.toml").write_text('[sandbox.presets.desk]\nspec = "docker:alpine"\n')
    ended = place.run(_ANGELIA_COMPLETE="bash_complete", COMP_WORDS="angelia chat --sandbox d", COMP_CWORD="3")
    assert ended.out.split() == ["plain,desk", "plain,docker"]
    assert "complete" in place.run(_ANGELIA_COMPLETE="bash_source").out


def test_chat_without_a_terminal_names_ask(place: Place) -> None:
    for words in ([], ["chat"]):
        ended = place.run(*words)
        assert (ended.code, ended.out) == (2, "")
        assert "angelia ask" in ended.err


def test_an_empty_home_says_so_everywhere(place: Place) -> None:
    assert "There is no conversation yet." in place.run("sessions").err
    assert place.run("show").code == 2
    assert "Nothing holds all of" in place.run("search", "plum").err
    assert "There is no conversation “x”" in place.run("export", "x").err
    assert place.run("store", "verify").code == 0


def test_a_conversation_is_listed_shown_found_and_exported(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "```\nx\n"}), say("The plum is *ripe*. 東京は晴れ。")]
    with serving(tmp_path, steps) as place:
        place.ask("how is the plum?")
        listed = place.run("sessions").out.splitlines()
        assert listed[0].split() == ["ID", "LAST", "USED", "DOOR", "FOLDER", "BEGAN", "WITH"]
        short = listed[1].split()[0]
        shown = place.run("show", short).out
        for text in ("› how is the plum?", "✔ write a.txt", "+x", "The plum is *ripe*."):
            assert text in shown
        for words in ("plum ripe", "東京", "rip*"):
            hit = place.run("search", *words.split()).out
            assert short in hit
        found = json.loads(place.run("search", "--json", "ripe").out)
        assert found["conversation"].endswith(short)
        markdown = place.run("export", short).out
        assert "## You\n\nhow is the plum?" in markdown
        assert "````diff" in markdown, "the fence is longer than any within"
        ended = place.run("export", short, "--format", "jsonl", "-o", "kept.jsonl")
        assert (ended.code, ended.out) == (0, "")
        kept = (place.work / "kept.jsonl").read_bytes()
        assert len(from_json_lines(kept.splitlines())) == len(place.log())
        assert place.run("export", short, "-o", "kept.jsonl").code == 2, "nothing is overwritten"
        assert (place.work / "kept.jsonl").read_bytes() == kept


def test_usage_is_counted_by_turn(tmp_path: Path) -> None:
    usage = Usage(input=1000, output=50, cache_read=750)
    with serving(tmp_path, [with_usage(say("one"), usage), with_usage(say("two"), usage)]) as place:
        place.ask("a")
        place.ask("--continue", "b")
        rows = [line.split() for line in place.run("show", "--usage").out.splitlines()]
        assert rows[1][:6] == ["1", "openai-chat:test", "1", "1,000", "75%", "50"]
        assert rows[3][:5] == ["all", "2", "2,000", "75%", "100"]


def test_what_tools_and_speech_were_paid_is_in_the_sums_of_usage() -> None:
    paint, fox = CallId("c3_0"), ToolCall(CallId("c3_0"), "paint", "{}")
    facts: list[e.AnyFact] = [
        e.UserSaid((Text("Paint a fox."),)),
        e.ModelSaid("m", (fox,), e.StopReason.TOOL_CALLS, e.Usage(10, 1), 1_000),
        e.ToolFinished(paint, CallStatus.OK, (), paid=e.Payment("p", 20_000)),
        e.ModelSaid("m", (Text("There."),), e.StopReason.END, e.Usage(10, 1)),
        e.TurnClosed(Answered()),
        e.SpeechMade((4,), paid=e.Payment("v", 3_000)),
    ]
    rows = usage_rows([e.Entry(seq, 0, fact) for seq, fact in enumerate(facts, 1)])
    costs = [(row[0], row[-1]) for row in rows[1:]]
    assert costs == [("1", "at least $0.021"), ("after", "$0.003"), ("all", "at least $0.024")]


def test_deleting_asks_twice_and_leaves_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--colour") as place:
        (place.work / "p.png").write_bytes(one_colour("red"))
        place.ask("which colour is this persimmon?", "--image", "p.png")
        whole = json.loads(place.run("sessions", "--json").out)["id"]
        refused = place.run("delete", whole)
        assert refused.code == 2
        assert "--yes-really" in refused.err
        assert answered(place, whole, "y", "nope") == 1
        assert whole[-8:] in place.run("sessions").out
        assert answered(place, whole, "y", whole[-4:]) == 0
        assert "no conversation" in place.run("sessions").err
        kept = b"".join(path.read_bytes() for path in place.home.rglob("*") if path.is_file())
        assert b"persimmon" not in kept
        assert one_colour("red") not in kept


def test_what_was_learnt_in_a_conversation_is_told_before_it_goes(tmp_path: Path) -> None:
    note = call("remember", {"text": "Ann never eats fish.", "scope": "person", "kind": "preference"})
    with serving(tmp_path, [note, say("Noted.")]) as place:
        place.ask("I never eat fish.")
        whole = json.loads(place.run("sessions", "--json").out)["id"]
        assert "Ann never eats fish." in place.run("notes").out
        with place.terminal("delete", whole) as terminal:
            terminal.sees("1 note that was made in it goes with it.")
            terminal.types("y")
            terminal.sees("type the last 4 characters")
            terminal.types(whole[-4:])
            assert terminal.ends() == 0
        assert "Ann never eats fish." not in place.run("notes").out


def answered(place: Place, conversation: str, *answers: str) -> int:
    """Run `delete` in a terminal, with these answers; its exit code."""
    argv = ["-m", "angelia", "delete", conversation]
    env = place.environment({})
    child = pexpect.spawn(sys.executable, argv, env=env, cwd=str(place.work), encoding="utf-8", timeout=30)
    for question, answer in zip(("cannot be undone", "type the last 4 characters"), answers, strict=False):
        child.expect_exact(question)
        child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    return int(child.exitstatus or 0)


def test_a_script_deletes_without_being_asked(tmp_path: Path) -> None:
    with serving(tmp_path, [say("ok")]) as place:
        place.ask("hello")
        whole = json.loads(place.run("sessions", "--json").out)["id"]
        assert place.run("delete", whole[-8:], "--yes-really").code == 0
        assert place.run("sessions").out == ""


def test_receipts_tell_what_arrived(tmp_path: Path) -> None:
    with serving(tmp_path, [call("write", {"path": "a.txt", "content": "x"}), say("There.")]) as place:
        place.ask("hello")
        rows = [line.split() for line in place.run("receipts").out.splitlines()]
        assert rows[1] == ["sent", "terminal", "answer", "There."]
        assert place.run("receipts", "--let-be").out == "No delivery failed, or may have.\n"


def test_which_model_is_told_without_asking(place: Place) -> None:
    assert place.run("models", "--which", ANTHROPIC_API_KEY="k").out.startswith("anthropic:")
    assert place.run("models", "--which", ANGELIA_MODEL="ollama:tiny").out == "ollama:tiny\n"
    nobody = place.run("models", "--which", OPENAI_API_KEY="")
    assert nobody.out == "local:qwen2.5-coder-1.5b\n"


def test_a_local_server_would_be_used_but_is_not_taken_unasked(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--instant") as place:
        which = place.run("models", "--which", OPENAI_API_KEY="", OLLAMA_HOST=place.url)
        assert which.out == "ollama:scripted\n"
        assert "ollama:scripted" in place.run("models", OPENAI_API_KEY="", OLLAMA_HOST=place.url).out


def test_models_are_listed_with_those_that_did_not_answer(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--instant") as place:
        ended = place.run("models", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
        assert "openai:scripted" in ended.out
        assert "anthropic: " in ended.out
        assert "openai-chat:" not in ended.out, "one address and one key are listed once"
        assert "scripted" not in place.run("models", "no such model").out


def test_tools_are_listed_with_their_schemas(place: Place) -> None:
    listed = json.loads(place.run("tools", "--json").out)
    assert {"shell", "read", "write", "edit", "find", "fetch"} <= {tool["name"] for tool in listed}
    assert all(tool["schema"]["type"] == "object" for tool in listed)
    assert {tool["name"] for tool in listed if tool.get("needs")} == {"search", "paint", "speak"}


def test_a_tool_that_needs_a_setting_is_listed_with_what_it_needs(place: Place) -> None:
    without = place.run("tools").out
    assert "\npaint\n    Make pictures" in without
    assert '    needs: set painter.model = "openai:gpt-image-2" (OPENAI_API_KEY) or' in without
    assert "    needs: set BRAVE_API_KEY, TAVILY_API_KEY or EXA_API_KEY" in without
    assert "    needs: set `speaker` to local" in without
    sets = ("--set=painter.model=command:paint {prompt} {out}", "--set=speaker=command:say")
    there = place.run("tools", *sets, BRAVE_API_KEY="key")
    assert (there.code, "needs:" in there.out) == (0, False), there.err
    assert "\npaint\n" in there.out


def test_config_tells_where_each_value_came_from_and_no_key(place: Place) -> None:
    place.home.mkdir()
    (place.home / "config.toml").write_text(
        '[limits]\nmax_steps = 7\n\n[vendors.openai]\nkey_command = "pass show x"\n'
    )
    ended = place.run("config", "--set", "effort=low", ANGELIA_MODE="plan", OPENAI_API_KEY="sk-very-secret")
    rows = {line.split()[0]: line for line in ended.out.splitlines()}
    assert rows["limits.max_steps"].split(maxsplit=1)[1].startswith("config.toml, line 2")
    assert "environment variable ANGELIA_MODE" in rows["policy.mode"]
    assert "--set effort=low" in rows["effort"]
    assert rows["limits.max_cost"].split() == ["limits.max_cost", "default", "0.0"]
    assert "sk-very-secret" not in ended.out + ended.err
    assert place.run("config", "path").out == f"{place.home / 'config.toml'}\n"


def test_a_grant_is_listed_and_taken_back(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("Done.")]
    with serving(tmp_path, steps) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        terminal.types("write")
        terminal.sees("4  no")
        terminal.types("2")
        terminal.sees("Done.")
        listed = place.run("grants").out.splitlines()
        assert "a.txt" in listed[1]
        assert place.run("grants", "revoke", listed[1].split()[0]).code == 0
        assert place.run("grants").out == ""
        assert place.run("grants", "revoke", "99").code == 1


def test_rebuilding_changes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, [say("The plum is ripe.")]) as place:
        place.ask("hello")
        before = place.run("show", "--json").out
        assert place.run("store", "rebuild").code == 0
        assert place.run("show", "--json").out == before
        assert place.run("store", "verify").code == 0


def test_a_damaged_store_is_found(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--colour") as place:
        (place.work / "p.png").write_bytes(one_colour("red"))
        place.ask("which?", "--image", "p.png")
        blob = max(
            (path for path in (place.home / "blobs").rglob("*") if path.is_file()), key=lambda p: p.stat().st_size
        )
        blob.chmod(0o600)
        blob.write_bytes(b"something else")
        ended = place.run("store", "verify")
        assert ended.code == 1
        assert "holds other bytes than were stored" in ended.out
        assert "✘ store" in place.run("doctor", "--offline").out


def test_doctor_sees_a_model_that_answers_calls_and_sees(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--colour") as place:
        ended = place.run("doctor", "--model", "openai-chat:test")
        lines = {line[2:18].strip(): line[0] for line in ended.out.splitlines() if not line.startswith(" ")}
        assert lines["store"] == lines["disk"] == lines["answers"] == lines["pictures"] == "✔"
        assert lines["tools"] == "✘", "this model only names colours"
        assert ended.code == 1
        assert place.run("sessions").out == "", "nothing of it is a conversation"


def test_doctor_says_how_to_mend_a_missing_key(place: Place) -> None:
    ended = place.run("doctor", "--model", "openai-chat:test", OPENAI_API_KEY="")
    assert ended.code == 1
    assert "✘ model" in ended.out
    assert "Set OPENAI_API_KEY" in ended.out


def test_doctor_says_why_a_model_does_not_answer(place: Place) -> None:
    ended = place.run("doctor", "--model", "openai-chat:test")
    assert ended.code == 1
    assert "✘ answers" in ended.out
    assert "cannot be reached" in ended.out


@pytest.mark.real("bwrap")
@pytest.mark.real("local-model")
def test_doctor_runs_a_confined_command_and_sees_that_the_network_is_off(place: Place) -> None:
    ended = place.run("doctor", "--offline")
    assert "✔ sandbox" in ended.out
    assert "✔ network              off for confined commands" in ended.out
    assert "– model" in ended.out
    assert ended.code == 0


@pytest.mark.real("local-model")
def test_doctor_says_that_confinement_is_switched_off(place: Place) -> None:
    ended = place.run("doctor", "--offline", "--set", "sandbox.confine=off")
    assert "– sandbox" in ended.out
    assert ended.code == 0


@pytest.mark.parametrize("words", [["gateway"], ["batch", "tasks.jsonl"]], ids=lambda words: words[0])
def test_what_runs_for_long_collects_what_goes_in_circles(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    collects: list[bool] = []

    def begun(work: Coroutine[object, object, int]) -> int:
        work.close()
        collects.append(gc.isenabled())
        return 0

    monkeypatch.setattr(asyncio, "run", begun)
    gc.disable()  # as `python -m angelia` does, for commands that soon end
    try:
        assert run(words) == 0
    finally:
        gc.unfreeze()
        gc.enable()
    assert collects == [True]


@pytest.mark.anyio
async def test_whoever_works_in_a_home_collects_what_goes_in_circles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ask`, `replay`, `bisect` and the others: a turn can take hours."""
    monkeypatch.setenv("ANGELIA_HOME", str(tmp_path / "home"))
    gc.disable()  # as `python -m angelia` does
    collects = []
    try:
        app = await open_app({})
        collects.append(gc.isenabled())
        await app.close()
        gc.disable()
        (await open_to_read({})).db.close()
        collects.append(gc.isenabled())
    finally:
        gc.unfreeze()
        gc.enable()
    assert collects == [True, True]


def test_every_command_opens_a_home_in_the_same_way() -> None:
    """But those that begin one, and those that switch the collector on by themselves before."""
    opens = {file.name for file in (ROOT / "src/angelia/faces/cli").rglob("*.py") if "App.open" in file.read_text()}
    assert opens == {"options.py", "model_step.py", "command.py"}


def test_one_of_something_is_told_in_the_singular(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Hello.")]) as place:
        assert place.ask("hi").code == 0
        own = json.loads(place.run("sessions", "--json").out)["id"]
        told = place.run("export", own, "--format", "openai", "-o", "one.json").err
        saved = place.run("store", "salvage", "saved").out
    assert "(1 conversation)" in told
    assert ": 1 conversation, " in saved
