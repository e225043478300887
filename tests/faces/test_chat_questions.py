"""Questions in a conversation: asked with their choices, answered by a number or in words, and remembered."""

from pathlib import Path

from angelia.testing.model.steps import call, calls, say
from tests.faces.angelia import requests, serving


def test_a_question_is_answered_by_its_number(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("Written.")]
    with serving(tmp_path, steps) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        terminal.types("write it")
        terminal.sees("? Write a.txt?")
        terminal.sees("1  yes, once")
        terminal.sees("4  no")
        assert not (place.work / "a.txt").exists()
        terminal.types("3")
        terminal.sees("yes, remembered")
        terminal.sees("Written.")
        assert (place.work / "a.txt").exists()
        assert "a.txt" in place.run("grants").out


def test_a_no_is_told_to_the_model(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("Then not.")]
    with serving(tmp_path, steps) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        terminal.types("write it")
        terminal.sees("or write what to do instead")
        terminal.types("n")
        terminal.sees("Then not.")
        assert not (place.work / "a.txt").exists()
        assert "owner said no" in str(requests(place)[1])


def test_a_message_instead_of_an_answer_refuses_and_is_read(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("Call it b then.")]
    with serving(tmp_path, steps) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        terminal.types("write it")
        terminal.sees("or write what to do instead")
        terminal.types("name it b.txt")
        terminal.sees("Call it b then.")
        assert "name it b.txt" in str(requests(place)[1])
        assert not (place.work / "a.txt").exists()


def test_the_models_own_question_takes_a_choice_or_free_words(tmp_path: Path) -> None:
    choices = {"question": "Which colour?", "choices": ["red", "green"]}
    steps = [call("ask_user", choices), call("ask_user", {"question": "Which shade?"}), say("Fine.")]
    with serving(tmp_path, steps) as place, place.chat() as terminal:
        terminal.types("paint")
        terminal.sees("2  green")
        terminal.types("2")
        terminal.sees("Which shade?")
        terminal.sees("or write your answer")
        terminal.types("a dark one")
        terminal.sees("Fine.")
        asked = requests(place)
        assert "The user answered: green" in str(asked[1])
        assert "The user answered: a dark one" in str(asked[2])


def test_the_mode_holds_from_the_next_call_on(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("Only a plan, then.")]
    with serving(tmp_path, steps) as place, place.chat() as terminal:
        terminal.types("/mode plan")
        terminal.sees("only looks")
        terminal.types("write it")
        terminal.sees("Only a plan, then.")
        assert not (place.work / "a.txt").exists()


def test_a_local_server_is_used_after_one_remembered_yes(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--instant") as place:
        machine = {"OPENAI_API_KEY": "", "OLLAMA_HOST": place.url}
        with place.chat(model="", **machine) as terminal:
            terminal.sees("Use its model scripted from now on? (y/n)")
            terminal.types("perhaps")
            terminal.sees("y or n, please")
            terminal.types("y")
            terminal.sees("Using ollama:scripted")
            terminal.types("hello")
            terminal.sees("ok")
        with place.chat(model="", **machine) as terminal:
            terminal.sees("Using ollama:scripted")
            assert "(y/n)" not in terminal.seen


def test_what_is_asked_is_shown_with_nothing_hidden(tmp_path: Path) -> None:
    command = "touch MARK #" + "\b" * 40 + "ls -la"
    steps = [call("shell", {"command": command}), say("Left alone.")]
    with serving(tmp_path, steps) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        terminal.types("list")
        terminal.sees("? Run `touch MARK #" + "␈" * 40)
        terminal.sees("ls -la`?")
        terminal.sees("or write what to do instead")
        assert "\b\b" not in terminal.seen
        terminal.types("n")
        terminal.sees("Left alone.")


def test_a_long_question_is_printed_to_its_last_line_and_put_once_more(tmp_path: Path) -> None:
    command = "\n".join([*(f"echo {number}" for number in range(400)), "x=" + "y" * 200_000, "rm -rf TAIL"])
    steps = [call("shell", {"command": command}), say("Left alone.")]
    with serving(tmp_path, steps) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        terminal.types("list")
        terminal.sees("│   echo 0\r\n")
        terminal.sees("│   echo 399\r\n")
        terminal.sees("│   x=" + "y" * 200_000 + "\r\n")
        terminal.sees("│   rm -rf TAIL\r\n")
        terminal.sees("All of it stands above: 403 lines")
        assert all(f"│   echo {number}\r\n" in terminal.seen for number in range(400))
        terminal.sees("1  yes, once")
        terminal.types("n")
        terminal.sees("Left alone.")


def test_questions_are_put_one_at_a_time_so_that_a_yes_is_to_the_one_that_is_seen(tmp_path: Path) -> None:
    steps = [calls(("read", {"path": "a/.env"}), ("read", {"path": "b/.env"})), say("Done.")]
    with serving(tmp_path, steps) as place, place.chat() as terminal:
        for name in ("a", "b"):
            (place.work / name).mkdir()
            (place.work / name / ".env").write_text(f"KEY={name}")
        terminal.types("read them")
        terminal.sees("? Read a/.env?")
        terminal.sees("or write what to do instead")
        assert "b/.env?" not in terminal.seen
        terminal.types("n")
        terminal.sees("? Read b/.env?")
        assert terminal.seen.index("· no") < terminal.seen.index("? Read b/.env?")
        terminal.sees("or write what to do instead")
        terminal.types("1")
        terminal.sees("Done.")
        told = str(requests(place)[1])
        assert "KEY=b" in told
        assert "KEY=a" not in told


def test_a_call_that_would_do_something_else_by_now_is_asked_about_anew_and_the_first_yes_is_no_yes_to_it(
    tmp_path: Path,
) -> None:
    """A link leads elsewhere by the time of the answer."""
    with serving(tmp_path, [call("write", {"path": "link/x.txt", "content": "new"}), say("Left alone.")]) as place:
        for name in ("first", "second"):
            (place.work / name).mkdir()
        (link := place.work / "link").symlink_to("first")
        with place.chat(ANGELIA_MODE="ask") as terminal:
            terminal.types("write it")
            terminal.sees("first/x.txt")
            terminal.sees("or write what to do instead")
            link.unlink()
            link.symlink_to("second")
            terminal.types("1")
            terminal.sees("second/x.txt")
            terminal.sees("or write what to do instead")
            terminal.types("n")
            terminal.sees("Left alone.")
        assert place.kinds().count("ApprovalAsked") == 2
        assert "ToolStarted" not in place.kinds()
        assert not [*place.work.rglob("x.txt")]
