"""Every command of a terminal, typed at one: its answer is seen there, and it does what it says."""

import os
from pathlib import Path

from angelia.service.command_port import CommandPlace
from angelia.service.commands import menu
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.steps import call, say
from tests.faces.angelia import Terminal, requests, serving

ANSWERS = (
    ("/help", "/resume [ID]"),
    ("/model openai-chat:test", "The model is openai-chat:test from"),
    ("/models", "WINDOW"),
    ("/mode", "The mode is edit"),
    ("/status", "at rest"),
    ("/usage", "everywhere"),
    ("/context", "your words"),
    ("/pin Never touch main.", "Pinned: kept word for word"),
    ("/unpin touch", "Not pinned any more."),
    ("/compact the numbers", "Older messages are folded before the next request"),
    ("/file a.txt", "attached: a.txt"),
    ("/image a.png", "a.png"),
    ("/queue Later.", "› Later."),
    ("/steer Now.", "› Now."),
    ("/stop", "Nothing is running."),
    ("/undo", "There is nothing to take back."),
    ("/notes", "Nothing is remembered here yet."),
    ("/forget 7", "There is no note 7 here."),
    ("/skills", "There are no skills here"),
    ("/prompts", "No MCP server here offers prompts."),
    ("/tree", "this conversation"),
    ("/talk", "Nothing is set that speaks."),
    ("/window", "No page is handed over to you now."),
    ("/approve", "Nothing is asked."),
    ("/deny", "Nothing is asked."),
    ("/sessions", "BEGAN WITH"),
    ("/show", "› Later."),
    ("/view", "No output was cut here"),
    ("/copy", "The replies here have no block of code."),
    ("/schedule", "Nothing is scheduled."),
    ("/remind tomorrow 9:00 the oven", "It is told here, in this conversation."),
    ("/schedule weekdays at 8:00 sum up", "at 08:00 on Monday through Friday"),
    ("/schedule remove zzzz", "There is no schedule “zzzz”."),
    ("/receipts", "STATUS"),
    ("/admit", "Whom shall I let in?"),
    ("/export out.md", "out.md."),
    ("/sandbox", "begins a new conversation there."),
    ("/fork", "The former one: /resume"),
    ("/edit", "/edit 1 OTHER WORDS"),
    ("/new", "The former one: /resume"),
    ("/resume zzzz", "There is no conversation “zzzz”."),
    ("/quit", ""),
)
"""What is typed where nothing runs, one after another, and a part of what is seen then."""


def test_every_command_of_a_terminal_is_answered_there(tmp_path: Path) -> None:
    assert {typed.split()[0].removeprefix("/") for typed, _ in ANSWERS} == set(menu(CommandPlace.TERMINAL))
    with serving(tmp_path, [say("Heard.")] * 3) as place, place.chat() as terminal:
        (place.work / "a.txt").write_text("words of a file")
        (place.work / "a.png").write_bytes(one_colour("blue"))
        terminal.types("hello")
        terminal.sees("Heard.")
        for typed, told in ANSWERS:
            terminal.types(typed)
            terminal.sees(told)
            if typed.startswith(("/queue", "/steer")):
                terminal.sees("Heard.")
        assert terminal.ends() == 0
        assert "hello" in (place.work / "out.md").read_text()
        said = str(requests(place))
        assert "words of a file" in said
        assert "a.png" in said


def asked_for_a_write(terminal: Terminal) -> None:
    terminal.types("write it")
    terminal.sees("or write what to do instead")


WRITES = call("write", {"path": "a.txt", "content": "x"})


def test_approve_says_yes_to_what_is_asked(tmp_path: Path) -> None:
    with serving(tmp_path, [WRITES, say("Written.")]) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        asked_for_a_write(terminal)
        terminal.types("/approve")
        terminal.sees("Written.")
        assert (place.work / "a.txt").read_text() == "x"


def test_deny_says_no_and_what_to_do_instead_reaches_the_model(tmp_path: Path) -> None:
    with serving(tmp_path, [WRITES, say("Then b.")]) as place, place.chat(ANGELIA_MODE="ask") as terminal:
        asked_for_a_write(terminal)
        terminal.types("/deny call it b.txt")
        terminal.sees("Then b.")
        assert "call it b.txt" in str(requests(place)[1])
        assert not (place.work / "a.txt").exists()


def test_steer_is_read_at_the_next_step_and_stop_ends_the_turn(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "cat one"}), call("shell", {"command": "cat two"}), say("never said")]
    with serving(tmp_path, steps) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        for name in ("one", "two"):
            os.mkfifo(place.work / name)
        terminal.types("begin")
        terminal.sees("▸ $ cat one")
        terminal.types("/steer in blue, please")
        terminal.sees("at the next step")
        (place.work / "one").write_text("open")
        terminal.sees("▸ $ cat two")
        assert "in blue, please" in str(requests(place)[1])
        terminal.types("/stop")
        terminal.sees("Stopped.")
        assert "never said" not in terminal.seen


def test_undo_takes_back_what_a_turn_changed(tmp_path: Path) -> None:
    with serving(tmp_path, [WRITES, say("Written.")]) as place, place.chat() as terminal:
        terminal.types("write it")
        terminal.sees("Written.")
        assert (place.work / "a.txt").exists()
        terminal.types("/undo")
        terminal.sees("/undo yes")
        assert (place.work / "a.txt").exists(), "it is shown first"
        terminal.types("/undo yes")
        terminal.sees("1 path is as it was.")
        assert not (place.work / "a.txt").exists()
