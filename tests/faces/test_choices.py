"""Conversations and models are picked from a list that letters search and digits take from."""

from pathlib import Path

import pytest

from angelia.faces.cli.chat.choices import Choice, matching
from angelia.testing.model.steps import say
from tests.faces.angelia import CTRL_D, ESC, Terminal, serving

CHOICES = [Choice("a1", "Sow the beans", "2026-11-24  terminal"), Choice("b2", "Which bed?", "2026-11-23  telegram")]
SEARCHED = "letters search"


@pytest.mark.parametrize(
    ("begun", "found"),
    [("", ["a1", "b2"]), ("BED", ["b2"]), ("telegram 23", ["b2"]), ("a1", ["a1"]), ("beans bed", [])],
)
def test_what_holds_all_the_words_anywhere_is_found(begun: str, found: list[str]) -> None:
    assert [one.word for one in matching(begun, CHOICES)] == found


def spoken(terminal: Terminal, text: str) -> None:
    terminal.types(text)
    terminal.sees("Heard.")


def test_a_conversation_is_found_by_a_word_of_it_or_taken_by_its_digit(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Heard.")] * 4) as place, place.chat() as terminal:
        terminal.sees("ready")
        for text in ("sow the beans", "mend the shed"):
            spoken(terminal, text)
            terminal.types("/new")
            terminal.sees("A new conversation")
        spoken(terminal, "water the peas")
        terminal.types("/resume")
        terminal.sees("mend the shed")
        terminal.sees(SEARCHED)
        terminal.press("beam\x7f")
        terminal.until(lambda: "mend the shed" not in terminal.screen.rpartition("›")[2])
        terminal.press("\r")
        terminal.sees("Here again: sow the beans")
        terminal.types("/sessions")
        terminal.sees("mend the shed")
        terminal.press("2")
        terminal.sees("Here again: mend the shed")
        assert SEARCHED not in terminal.screen


def test_a_list_is_closed_by_esc_and_nothing_is_changed_or_kept_of_it(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Heard.")] * 2) as place, place.chat() as terminal:
        terminal.sees("ready")
        terminal.types("/model")
        terminal.sees("1 openai")
        terminal.press(ESC)
        terminal.until(lambda: SEARCHED not in terminal.screen)
        spoken(terminal, "hello 1")
        terminal.types("/model")
        terminal.sees("1 openai")
        terminal.press("1")
        terminal.sees("from the next message on")
        terminal.press(CTRL_D)
        assert terminal.ends() == 0


def test_in_words_alone_the_commands_answer_as_ever(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Heard.")]) as place, place.chat("--plain") as terminal:
        terminal.types("hello")
        terminal.sees("Heard.")
        terminal.types("/model")
        terminal.sees("The model is openai-chat:test.")
        terminal.types("/new")
        terminal.sees("A new conversation")
        terminal.types("/resume")
        terminal.sees("Which conversation?")
        assert SEARCHED not in terminal.seen
