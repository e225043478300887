"""`angelia setup`: from nothing to an answer by one command in one terminal; Enter is enough, and nothing is lost."""

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from angelia.channels import registry
from angelia.faces.cli.setup.chat_step import chat_option
from angelia.faces.words.steps import Option
from angelia.models.local.weights import SMALLER
from angelia.testing.model.steps import Step, say
from tests.faces.angelia import CTRL_C, CTRL_D, SECONDS, Place, Terminal, serving
from tests.faces.telegram_process import ID, telegram_process
from tests.models.cut_weights import cut
from tests.models.local_requests import smollm2

MODEL = "openai:scripted"
"""What the key in the environment stands for: the model of the server that stands in the vendor's place."""
GENERAL = "openai:gpt-6.1-sol"
"""What a key stands for where no server tells what it has."""
STEPS: list[Step] = [say("The south bed brought more.")]


def config(place: Place) -> dict[str, Any]:
    return tomllib.loads((place.home / "config.toml").read_text())


def takes(terminal: Terminal, *numbers: str) -> None:
    """Answer questions by numbers; an empty one is Enter."""
    for number in numbers:
        terminal.sees("Number [1]:")
        terminal.types(number)


def test_from_nothing_to_an_answer_in_telegram_by_one_command_in_one_terminal(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place, telegram_process() as telegram:
        with place.terminal("setup", "--with", f"api={telegram.url}") as terminal:
            terminal.sees(f"1 {MODEL} · at {place.url}/v1, with your key")
            answers = 0
            for question, answer in (
                ("Number [1]:", ""),
                ("In which chat do you want to reach it?", "2"),
                ("which is not shown", telegram.token),
                ("Is that you?", "y"),
                ("Number, and a folder [1 ~/Angelia]:", ""),
                ("What keeps it reachable?", ""),
            ):
                if question == "Is that you?":
                    terminal.sees("Waiting for your first message")
                    telegram.hears("Which bed brought more?")
                terminal.sees(question)
                (terminal.types_unseen if answer == telegram.token else terminal.types)(answer)
                answers += 1
            assert telegram.shows("The south bed brought more.")
            terminal.press(CTRL_C)
            terminal.sees("Everything is stored")
            assert terminal.ends() == 0
            assert telegram.token not in terminal.seen
        assert answers == 6, "the first hour of a person on Telegram"
        section = config(place)["channels"]["telegram"]
        assert section["owners"] == [ID]
        assert section["workspace"] == str(place.home.parent / "Angelia")
        assert config(place)["model"] == MODEL


def test_the_mode_and_the_folder_of_a_chat_are_one_answer(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place, telegram_process() as telegram:
        with place.terminal("setup", "--with", f"api={telegram.url}", "--token", telegram.token) as terminal:
            takes(terminal, "", "2")
            terminal.sees("Enter: later")
            terminal.types("")
            terminal.sees("Number, and a folder [1 ~/Angelia]:")
            terminal.types("5 ~/garden")
            terminal.sees("There are 1 to 4, and behind it a folder if you like")
            terminal.types("2 ~/my garden")
            takes(terminal, "3")
            assert terminal.ends() == 0
        assert config(place)["policy"] == {"mode": "ask"}
        assert config(place)["channels"]["telegram"]["workspace"] == str(place.home.parent / "my garden")
        assert (place.home.parent / "my garden").is_dir()


def test_a_network_whose_part_is_missing_is_listed_without_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry.OURS, "pigeon", "library_of_pigeons")
    monkeypatch.setitem(registry._LIBRARIES, "pigeon", "library_of_pigeons")
    assert chat_option("pigeon") == Option("Pigeon", "needs a part that is not installed")
    assert chat_option("telegram") == Option("Telegram")


def test_enter_through_all_of_it_is_enough_and_again_changes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, [*STEPS, *STEPS]) as place:
        with place.terminal() as terminal:
            terminal.sees("Set it up now, by a few questions? [Y/n]")
            terminal.types("")
            takes(terminal, "", "", "")
            terminal.sees("Ready")
            terminal.sees("/help lists commands and keys")
            terminal.press(CTRL_D)
            assert terminal.ends() == 0
        first = (place.home / "config.toml").read_text()
        assert tomllib.loads(first) == {"model": MODEL}
        (place.home / "config.toml").write_text(f"# mine\n{first}\n[limits]\nmax_steps = 7  # few\n")
        before = (place.home / "config.toml").read_text()
        with place.terminal("setup") as terminal:
            terminal.sees(f"1 {MODEL} · as it is now")
            takes(terminal, "", "", "")
            terminal.sees("Ready")
            assert terminal.ends() == 0
        assert (place.home / "config.toml").read_text() == before


def test_a_server_in_a_vendors_place_is_named_and_asked_for_a_model_that_it_has(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place:
        asked = place.run("ask", "Which?")
        assert (asked.code, asked.out) == (0, "The south bed brought more.\n")
        assert f"Using {MODEL} at {place.url}/v1, which is set as the address of openai" in asked.err
        nobody = place.run("models", "--which", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
        assert nobody.out == f"{GENERAL}\n"
        assert place.run("models", "--which", OPENAI_BASE_URL="").out == f"{GENERAL}\n"


def test_a_server_on_this_machine_is_found_and_another_is_named_by_its_address(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS, "--wire", "openai-chat") as place:
        nothing = {"OPENAI_API_KEY": "", "LMSTUDIO_BASE_URL": f"{place.url}/v1"}
        with place.terminal("setup", **nothing) as terminal:
            terminal.sees("1 lmstudio:scripted · lmstudio runs on this machine")
            takes(terminal, "4")
            terminal.sees("Its address")
            terminal.types(f"{place.url}/v1/")
            terminal.sees("Enter: none")
            terminal.types_unseen("")
            terminal.sees("Which of its models?")
            takes(terminal, "")
            terminal.sees("answers: ")
            takes(terminal, "", "")
            terminal.sees("Ready")
            assert terminal.ends() == 0
        vendor = f"127-0-0-1-{place.url.rpartition(':')[2]}"
        row = {"wire": "openai-chat", "base_url": f"{place.url}/v1", "local": True}
        assert config(place) == {"model": f"{vendor}:scripted", "vendors": {vendor: row}}
        assert place.run("ask", "Which?").out == "The south bed brought more.\n"


@pytest.mark.real("local-model")
def test_where_nothing_is_found_enter_ends_in_the_embedded_model(place: Place) -> None:
    """Under the name of the weights that are offered, the first layers of the smallest ones: getting a gigabyte is
    another test's, and so is what makes sense (`tests/models/test_local_for_real.py`).
    """
    (place.home / "models").mkdir(parents=True)
    cut(Path(smollm2()), place.home / "models" / f"{SMALLER}.gguf", layers=2)
    with place.terminal("setup", OPENAI_API_KEY="") as terminal:
        terminal.sees(f"1 local:{SMALLER} · within Angelia: free and private")
        takes(terminal, "")
        terminal.sees(f"local:{SMALLER} answers", 4 * SECONDS)  # weights are read in, on a machine that is busy
        takes(terminal, "", "")
        terminal.sees("Ready")
        assert terminal.ends() == 0
    assert config(place) == {"model": f"local:{SMALLER}"}


@pytest.mark.real("local-model")
@pytest.mark.soak
def test_what_a_conversation_begins_with_is_read_when_the_weights_are_got(place: Place) -> None:
    """Then nobody waits for it behind their first question."""
    (place.home / "models").mkdir(parents=True)
    (place.home / "models" / f"{SMALLER}.gguf").symlink_to(smollm2())
    assert place.run("models", "get", SMALLER).code == 0
    read = sorted((place.home / "models/read").iterdir())
    assert len(read) == 2, "how a step begins, and how a talk does"
    assert place.run("ask", "--model", f"local:{SMALLER}", "How are you?").code == 0
    assert sorted((place.home / "models/read").iterdir()) == read


def test_leaving_anywhere_leaves_what_was_done_by_then(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place:
        with place.terminal("setup") as terminal:
            terminal.sees("Number [1]:")
            terminal.press(CTRL_C)
            assert terminal.ends() == 130
            assert terminal.seen.endswith("\n"), "the shell goes on in a row of its own"
        assert not (place.home / "config.toml").exists()
        with place.terminal("setup") as terminal:
            takes(terminal, "")
            terminal.sees("In which chat")
            terminal.press(CTRL_C)
            assert terminal.ends() == 130
        assert config(place) == {"model": MODEL}
        assert place.run("ask", "Which?").out == "The south bed brought more.\n"


def test_a_key_that_is_typed_is_tried_and_kept_where_only_its_owner_reads_it(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place:
        with place.terminal("setup", OPENAI_API_KEY="") as terminal:
            terminal.sees("1 local:")
            takes(terminal, "2")
            terminal.sees("Whose key do you have?")
            takes(terminal, "2")
            terminal.sees("The key of openai, which is not shown")
            terminal.types_unseen("sk-typed-secret")
            terminal.sees("Model [gpt-6.1-sol]:")
            terminal.types("")
            terminal.sees(f"{GENERAL} answers")
            terminal.sees("The key is in")
            takes(terminal, "", "")
            terminal.sees("Ready")
            assert terminal.ends() == 0
            assert "sk-typed-secret" not in terminal.seen
        kept = place.home / "keys" / "openai"
        assert kept.read_text() == "sk-typed-secret\n"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert "sk-typed" not in (place.home / "config.toml").read_text()
        assert place.run("ask", "Which?", OPENAI_API_KEY="").out == "The south bed brought more.\n"


def test_a_model_that_does_not_answer_is_taken_only_if_the_person_wants_it(place: Place) -> None:
    with place.terminal("setup") as terminal:
        takes(terminal, "")
        terminal.sees(f"✘ {GENERAL} does not answer")
        terminal.sees("Take it all the same? [y/N]")
        terminal.types("")
        terminal.sees("Which model should think?")
        terminal.press(CTRL_C)
        assert terminal.ends() == 130
    assert not (place.home / "config.toml").exists()


def test_without_a_terminal_flags_do_it_and_it_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place, telegram_process() as telegram:
        asked = place.run("setup")
        assert (asked.code, asked.out) == (2, "")
        assert "Give --yes" in asked.err
        given = ("--chat", "telegram", "--token", telegram.token, "--owner", ID, "--with", f"api={telegram.url}")
        ended = place.run("setup", "--yes", "--mode", "ask", *given, "--folder", "~/garden", "--service")
        assert ended.code == 0, ended.err
        assert config(place)["policy"] == {"mode": "ask"}
        assert config(place)["channels"]["telegram"]["workspace"] == str(place.home.parent / "garden")
        variables = place.home / "gateway.env"
        assert "\nOPENAI_API_KEY=sk-test\n" in variables.read_text()
        assert f"\nOPENAI_BASE_URL={place.url}/v1\n" in variables.read_text(), "or the key would go to another server"
        assert stat.S_IMODE(variables.stat().st_mode) == 0o600
        variables.write_text("OPENAI_API_KEY=mine\n")
        assert place.run("setup", "--yes", "--service").code == 0
        assert variables.read_text().startswith("OPENAI_API_KEY=mine\n")
        assert variables.read_text().count("OPENAI_API_KEY") == 1


def test_by_flags_a_model_that_does_not_answer_changes_nothing(place: Place) -> None:
    ended = place.run("setup", "--yes", "--model", GENERAL)
    assert ended.code == 1
    assert "does not answer" in ended.err
    assert not (place.home / "config.toml").exists()
