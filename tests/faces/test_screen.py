"""What stands on the screen and above it: each line once and in order, and the answer where it can be read."""

import os
import re
import select
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from angelia.testing.model.steps import How, cut_after, say
from tests.faces.angelia import MODEL, SECONDS, Place, serving

PARAGRAPH = "is a paragraph of some words that is wrapped when the window is narrow, so that a resize counts its rows."
PARAGRAPHS = [f"LINE{number:03} {PARAGRAPH}" for number in range(60)]
COUNTED = re.compile(r"LINE\d{3}")


def test_after_a_long_reply_the_window_is_full_of_it(tmp_path: Path) -> None:
    with serving(tmp_path, [say("\n\n".join(PARAGRAPHS))]) as place, place.chat(LINES="36") as terminal:
        terminal.types("tell me")
        terminal.sees("LINE059")
        terminal.sees("ready")
        terminal.comes_to_rest()
        rows = terminal.screen.split("\n")
        assert COUNTED.findall("\n".join(rows)) == [line[:7] for line in PARAGRAPHS]
        assert " ready " in rows[-1], "the status stands in the last row"
        window = rows[-36:]
        assert sum("LINE0" in row for row in window) == 11
        assert not any(one == two == "" for one, two in pairwise(window))


def test_a_reply_is_in_the_scrollback_while_it_is_written(tmp_path: Path) -> None:
    reply = cut_after(say("\n\n".join(PARAGRAPHS)), 300, how=How.SILENCE)
    with serving(tmp_path, [reply]) as place, place.chat(LINES="24", COLUMNS="80") as terminal:
        terminal.types("tell me")
        terminal.sees("LINE006")
        found = COUNTED.findall(terminal.screen)
        assert found == sorted(set(found))
        assert "writing" in terminal.screen.split("\n")[-1]


class Tmux:
    """The program in a real terminal multiplexer, which wraps what stands there by itself when it is resized."""

    def __init__(self, place: Place, columns: int, *words: str) -> None:
        self._socket = str(place.home.parent / "tmux")
        environment = place.environment({"TERM": "tmux-256color"})
        set_up = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
        command = f"cd {place.work} && env -i {set_up} {sys.executable} -m angelia chat --model {MODEL}"
        size = ("-x", str(columns), "-y", "36")
        self._run("-f", "/dev/null", "new-session", "-d", "-s", "t", *size, f"{command} {' '.join(words)}")
        self._run("set-option", "-t", "t", "history-limit", "50000")
        written = place.home.parent / "written"
        os.mkfifo(written)
        self._written = os.open(written, os.O_RDWR | os.O_NONBLOCK)
        self._run("pipe-pane", "-t", "t", f"exec cat > {shlex.quote(str(written))}")

    def _run(self, *words: str) -> str:
        return subprocess.run(["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=True).stdout

    def types(self, text: str) -> None:
        self._run("send-keys", "-t", "t", "-l", text)
        self.press("Enter")

    def press(self, key: str) -> None:
        self._run("send-keys", "-t", "t", key)

    def resize(self, columns: int) -> None:
        self._run("resize-window", "-t", "t", "-x", str(columns), "-y", "36")

    @property
    def rows(self) -> list[str]:
        """The screen and all above it."""
        return self._run("capture-pane", "-p", "-S", "-", "-t", "t").rstrip("\n").split("\n")

    def sees(self, found: str) -> list[str]:
        """Wait until the last rows match this."""
        while not re.search(found, "\n".join(self.rows[-40:])):
            self._until_more()
        return self.rows

    def _until_more(self) -> None:
        """Wait until the program writes something."""
        ready, _, _ = select.select([self._written], [], [], SECONDS)
        assert ready, "\n".join(self.rows[-40:])
        os.read(self._written, 1 << 16)

    def later(self) -> list[str]:
        """What stands there once it was drawn anew twice: the seconds in the status tell."""
        self.sees(r"writing \d+ s.*\Z")
        now = self._seconds()
        while self._seconds() < now + 2:
            self._until_more()
        return self.rows

    def _seconds(self) -> int:
        found = re.search(r"writing (\d+) s", self.rows[-1])
        return int(found[1]) if found else -1

    def close(self) -> None:
        self._run("kill-server")
        os.close(self._written)


@pytest.mark.real("tmux")
@pytest.mark.soak
def test_a_resize_while_it_is_written_leaves_each_line_once(tmp_path: Path) -> None:
    steps = [cut_after(say("\n\n".join(PARAGRAPHS)), pieces, how=How.SILENCE) for pieces in (300,)]
    with serving(tmp_path, steps) as place:
        terminal = Tmux(place, 110)
        try:
            terminal.sees("ready")
            for columns in (60, 110, 50, 160):
                terminal.types("tell me")
                for width in (110, columns, 110):
                    terminal.resize(width)
                    rows = terminal.later()
                    assert _once(shown_since(rows), to=13), "\n".join(rows)
                terminal.press("Escape")
                terminal.sees("Stopped.")
                assert sum(" ready " in row or "Esc stops" in row for row in terminal.rows) == 1
        finally:
            terminal.close()


def shown_since(rows: list[str]) -> list[str]:
    """The numbers of the lines that were shown since the last message."""
    said = max(at for at, row in enumerate(rows) if row.startswith("› tell me"))
    return COUNTED.findall("\n".join(rows[said:]))


def _once(found: list[str], *, to: int) -> bool:
    return len(found) >= to and found == [line[:7] for line in PARAGRAPHS[: len(found)]]
