"""`angelia ask`: what goes in reaches the model, what comes out is an answer or a reason, and scripts can tell."""

import json
import os
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.codec import from_json_lines
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.steps import (
    Step,
    call,
    cut_after,
    dump_steps,
    empty,
    filtered,
    login_rejected,
    out_of_credit,
    say,
    server_error,
    thinking_only,
    too_long,
    truncated_call,
    unknown_model,
)
from tests.faces.angelia import Place, requests, serving

NO_WAITING = ("--set", "remedies.unreachable.wait=0", "--set", "remedies.busy.wait=0")


def test_the_answer_is_on_stdout_and_everything_else_on_stderr(tmp_path: Path) -> None:
    steps = [say("I look.") + call("write", {"path": "a.txt", "content": "x"}), say("It is **done**.")]
    with serving(tmp_path, steps) as place:
        ended = place.ask("do", "it")
        assert (ended.code, ended.out) == (0, "It is **done**.\n")
        assert "progress: I look." in ended.err
        assert "runs write a.txt" in ended.err
        assert requests(place)[0]["body"]["messages"][-1]["content"] == "do it"


@pytest.mark.parametrize(
    ("option", "shown"),
    [((), "Here it is:\n\nEnjoy.\n"), (("--stream",), "Here it is:\n\nMEDIA:may.txt\n\nEnjoy.\n")],
)
def test_a_file_that_the_answer_names_is_copied_and_nothing_is_said_twice(
    tmp_path: Path, option: tuple[str, ...], shown: str
) -> None:
    with serving(tmp_path, [say("Here it is:\n\nMEDIA:may.txt\n\nEnjoy.")]) as place:
        (place.work / "may.txt").write_text("a fine month")
        ended = place.ask("send", "it", *option)
        assert (ended.code, ended.out) == (0, shown)
        assert (place.home / "outbox" / "may.txt").read_text() == "a fine month"
        assert "runs send may.txt" in ended.err


def test_piped_text_is_part_of_the_question(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--echo") as place:
        ended = place.ask("sum", "up", stdin="größer\n".encode())
        assert ended.code == 0
        assert "größer" in ended.out
        assert "sum up" in str(requests(place)[0]["body"])


def test_pictures_and_files_reach_the_model(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--colour") as place:
        (place.work / "p.png").write_bytes(one_colour("green"))
        (place.work / "n.txt").write_text("the password is plum")
        ended = place.ask("what?", "--image", "p.png", "--file", "n.txt")
        assert ended.out == "green\n"
        body = str(requests(place)[0]["body"])
        assert "the password is plum" in body
        assert "lies at" in body


def test_json_lines_are_the_entries_and_nothing_else(tmp_path: Path) -> None:
    with serving(tmp_path, [call("todo", {"items": []}), say("Yes.")]) as place:
        ended = place.ask("hello", "--json")
        assert ended.code == 0
        entries = from_json_lines(ended.out.encode().splitlines())
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert isinstance(entries[0].fact, e.ConversationOpened)
        assert isinstance(entries[-1].fact, e.DeliverySettled)
        assert place.run("show", "--json").out == ended.out


def test_streamed_text_is_not_repeated(tmp_path: Path) -> None:
    with serving(tmp_path, [say("A tale in several pieces, told once.")]) as place:
        ended = place.ask("tell", "--stream")
        assert ended.out.count("told once.") == 1


def test_going_on_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path, [say("one"), say("two"), say("three")]) as place:
        place.ask("first")
        assert place.ask("--continue", "second").out == "two\n"
        whole = json.loads(place.run("sessions", "--json").out)["id"]
        assert place.ask("--resume", whole[-6:], "third").out == "three\n"
        assert "first" in str(requests(place)[-1]["body"])


ENDINGS: dict[str, tuple[int, Step, str]] = {
    "a cap": (4, call("todo", {"items": []}), "2 model calls"),
    "unreachable": (5, server_error(), "did not answer"),
    "a wrong key": (5, login_rejected(), "rejected"),
    "an unknown model": (5, unknown_model(), "test"),
    "no credit": (5, out_of_credit(), "credit"),
    "too long": (6, too_long(), "no longer fits"),
    "declined": (7, filtered("No."), "declined"),
    "silence": (8, empty(), "stopped answering"),
    "thinking only": (8, thinking_only(), "stopped answering"),
    "confusion": (8, truncated_call("todo", {"items": []}, at=5, finish=True), "wrongly"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_ending_has_its_exit_code_and_is_said(tmp_path: Path, name: str) -> None:
    code, step, said = ENDINGS[name]
    caps = ("--max-steps", "2") if name == "a cap" else ()
    with serving(tmp_path, [step] * 8) as place:
        ended = place.ask("hello", *NO_WAITING, *caps)
        assert ended.code == code, ended.err
        assert ended.out == "", "stdout holds an answer or nothing"
        assert said in ended.err
        assert "the conversation is kept" in ended.err


def test_the_command_that_goes_on_after_an_ending_goes_on_as_it_stands(tmp_path: Path) -> None:
    with serving(tmp_path, [unknown_model()]) as place:
        told = place.ask("hello").err.partition("the conversation is kept: angelia ask ")[2].splitlines()[0]
        assert place.ask(*told.split()).code == 5, "it is asked again"
        assert len(requests(place)) == 2


def check_refused(place: Place, *words: str, stdin: bytes = b"", code: int = 2, says: tuple[str, ...] = ()) -> None:
    """It ends with this code and a sentence that says all that, and nothing was stored."""
    ended = place.ask(*words, stdin=stdin)
    assert ended.code == code, ended.err
    assert ended.out == ""
    for said in says:
        assert said in ended.err
    assert "Traceback" not in ended.err
    assert place.run("sessions").out == ""


def test_a_missing_file_is_said_with_what_is_near(place: Place) -> None:
    (place.work / "report.txt").write_text("x")
    check_refused(place, "x", "--file", "reprot.txt", says=("There is no file", "Did you mean report.txt?"))


def test_a_corrupt_picture_is_refused_as_a_picture(place: Place) -> None:
    (place.work / "p.png").write_bytes(one_colour("red")[:60])
    check_refused(place, "x", "--image", "p.png", says=("p.png",))


def test_an_empty_picture_is_refused(place: Place) -> None:
    (place.work / "p.png").touch()
    check_refused(place, "x", "--image", "p.png", says=("empty (0 bytes)",))


def test_a_file_of_300_mb_is_refused_by_its_size(place: Place) -> None:
    with (place.work / "big.bin").open("wb") as file:
        file.truncate(300_000_000)
    check_refused(place, "x", "--file", "big.bin", says=("has 300.0 MB", "at most 100.0 MB"))


def test_a_folder_is_not_a_file(place: Place) -> None:
    check_refused(place, "x", "--file", ".", says=("is a folder",))


def test_a_path_that_leads_nowhere_is_said(place: Place) -> None:
    (place.work / "loop").symlink_to("loop")
    check_refused(place, "x", "--file", "loop", says=("cannot be read",))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_said(place: Place) -> None:
    (place.work / "secret").write_text("x")
    (place.work / "secret").chmod(0)
    check_refused(place, "x", "--file", "secret", says=("may not be read by you",))


def test_invalid_utf_8_on_stdin_names_the_byte(place: Place) -> None:
    check_refused(place, "x", stdin=b"caf\xe9", says=("not UTF-8: byte 4 of 4 is 0xe9",))


def test_no_question_at_all_is_said(place: Place) -> None:
    check_refused(place, says=("There is no question.",))


def test_an_empty_file_is_told_and_sent_by_name(tmp_path: Path) -> None:
    with serving(tmp_path, [say("It is empty.")]) as place:
        (place.work / "nothing.txt").touch()
        ended = place.ask("what is in it?", "--file", "nothing.txt")
        assert ended.code == 0
        assert "empty (0 bytes)" in ended.err
        assert "nothing.txt" in str(requests(place)[0]["body"])


def test_a_corrupt_picture_as_a_file_goes_by_name_and_is_said(tmp_path: Path) -> None:
    with serving(tmp_path, [say("I see only its name.")]) as place:
        (place.work / "p.png").write_bytes(one_colour("red")[:60])
        ended = place.ask("what is wrong with it?", "--file", "p.png")
        assert ended.code == 0
        assert "reaches the model by name only" in ended.err
        assert requests(place)[0]["images"] == []


BROKEN_TOML = {
    "no TOML": ('model = "x\n', "line 1", "model"),
    "a wrong type": ('effort = "low"\n[limits]\nmax_steps = "many"\n', "line 3", "limits.max_steps"),
    "an unknown name": ("[limits]\nmax_stepps = 3\n", "line 2", "limits.max_stepps"),
}


@pytest.mark.parametrize("name", BROKEN_TOML)
def test_a_broken_configuration_names_file_line_and_key(place: Place, name: str) -> None:
    text, line, key = BROKEN_TOML[name]
    place.home.mkdir()
    (place.home / "config.toml").write_text(text)
    ended = place.ask("x")
    assert ended.code == 1
    for said in (str(place.home / "config.toml"), line, key):
        assert said in ended.err


def test_a_model_without_a_vendor_is_explained(place: Place) -> None:
    ended = place.run("ask", "--model", "gpt", "x")
    assert (ended.code, ended.out) == (1, "")
    assert "VENDOR:MODEL" in ended.err


def test_a_home_that_cannot_be_made_is_said(place: Place) -> None:
    place.home.write_text("a file stands here")
    ended = place.ask("x")
    assert ended.code == 1
    assert str(place.home) in ended.err
    assert "Traceback" not in ended.err


def test_an_answer_is_on_stdout_once_and_what_we_say_of_it_on_stderr(tmp_path: Path) -> None:
    named = "Here it is.\nMEDIA:nonesuch.pdf"
    with serving(tmp_path, [say(named), say(named)]) as place:
        ended = place.ask("Send it.")
    assert ended.out.count("Here it is.") == 1
    assert "was not sent" not in ended.out
    assert ended.err.count("nonesuch.pdf was not sent") >= 1


def test_the_note_of_a_housekeeping_turn_is_no_part_of_the_answer(tmp_path: Path) -> None:
    done = say("You're welcome!") + call("todo", {"items": [{"text": "thank", "status": "done"}]})
    with serving(tmp_path, [done, *([empty()] * 6)]) as place:
        ended = place.ask("Thanks.")
    assert ended.out == "You're welcome!\n"
    assert "added nothing after its last note" in ended.err


def test_what_was_streamed_of_a_cut_reply_is_marked_before_the_answer_begins_anew(tmp_path: Path) -> None:
    steps = tmp_path / "cut.json"
    steps.write_bytes(dump_steps([cut_after(say("Half of it and more"), 2), say("All of it.")]))
    with serving(tmp_path, (), "--script", str(steps)) as place:
        ended = place.ask("Go.", "--stream")
    mark = "\n[this reply was cut off here; what follows is the answer from its beginning]\n"
    before, _, after = ended.out.partition(mark)
    assert after == "All of it.\n", ended
    assert "Half of it and more".startswith(before)
