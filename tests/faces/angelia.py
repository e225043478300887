"""The real program against a scripted model server: as a process that is run, or in a terminal that is watched."""

import json
import os
import pty
import re
import signal
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pexpect
import pyte
from msgspec import Struct
from pexpect import fdpexpect

from angelia.testing.model.steps import Step, dump_steps
from tests.nursery import Birth, Child, run_with

SECONDS = 30
"""How long a test waits for anything; only a failure takes that long."""

MODEL = "openai-chat:test"


class Ended(Struct, frozen=True):
    """How a run ended."""

    code: int
    out: str
    err: str


class Place(Struct, frozen=True):
    """A home, a folder to work in, and where the model server is."""

    home: Path
    work: Path
    url: str = ""

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Nothing of the developer's own keys, settings and model servers."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home.parent),
            "ANGELIA_HOME": str(self.home),
            "OPENAI_BASE_URL": f"{self.url}/v1" if self.url else "http://127.0.0.1:9/v1",
            "OPENAI_API_KEY": "sk-test",
            "OLLAMA_HOST": "127.0.0.1:9",
            **{f"{name}_BASE_URL": "http://127.0.0.1:9/v1" for name in ("LMSTUDIO", "LLAMACPP", "VLLM")},
            "TERM": "xterm-256color",
            "PYTHONUTF8": "1",
            **more,
        }

    def run(self, *words: str, stdin: bytes = b"", **more: str) -> Ended:
        """Run a command line to its end."""
        birth = Birth(words, self.environment(more), str(self.work))
        ended = run_with(birth, stdin, 2 * SECONDS)
        return Ended(ended.status, ended.stdout, ended.stderr)

    def ask(self, *words: str, stdin: bytes = b"", **more: str) -> Ended:
        """`angelia ask` of the test model."""
        return self.run("ask", "--model", MODEL, *words, stdin=stdin, **more)

    @contextmanager
    def chat(self, *words: str, at: str = "", model: str = MODEL, **more: str) -> Iterator["Terminal"]:
        """`angelia chat` in a terminal of its own; `at` names the crash point at which it is killed, LINES and
        COLUMNS its size.
        """
        with self._in_a_terminal(["chat", *(["--model", model] if model else []), *words], at, more) as terminal:
            yield terminal

    @contextmanager
    def terminal(self, *words: str, **more: str) -> Iterator["Terminal"]:
        """Any command line in a terminal of its own."""
        with self._in_a_terminal(words, "", more) as terminal:
            yield terminal

    @contextmanager
    def _in_a_terminal(self, words: Sequence[str], at: str, more: Mapping[str, str]) -> Iterator["Terminal"]:
        given = dict(more)
        size = int(given.pop("LINES", "40")), int(given.pop("COLUMNS", "110"))
        env = self.environment({"NO_COLOR": "1", **given})
        passed = str(self.home.parent / "passed") if at else ""
        with TemporaryDirectory(prefix="angelia-terminal-") as folder:
            ours, theirs = pty.openpty()
            try:
                termios.tcsetwinsize(theirs, size)
                birth = Birth(tuple(words), env, str(self.work), passed=passed, at=at, terminal=True)
                child = Child(birth, Path(folder), theirs, theirs)
                os.close(theirs)
                yield Terminal(ours, child, size)
            finally:
                os.close(ours)  # a terminal that is closed hangs up
                if not child.ended:
                    with suppress(TimeoutError):
                        child.wait(1)
                if not child.ended:
                    child.kill(signal.SIGKILL)
                    child.wait()

    def log(self) -> list[dict[str, Any]]:
        """The facts of the last conversation, as `show --json` prints them."""
        return [json.loads(line)["fact"] for line in self.run("show", "--json").out.splitlines()]

    def kinds(self) -> list[str]:
        """Their kinds."""
        return [fact["kind"] for fact in self.log()]


class Terminal:
    """What a person does at a terminal: type, read, press keys."""

    def __init__(self, line: int, child: Child, size: tuple[int, int]) -> None:
        self._line = fdpexpect.fdspawn(line, encoding="utf-8", timeout=SECONDS)
        self._child, self._size = child, size
        self.seen = ""
        """All that was written, as it was."""
        self._words = ""
        self._at = 0
        self._held_back = ""

    def resize(self, columns: int) -> None:
        """Make the window this wide."""
        termios.tcsetwinsize(self._line.fileno(), (self._size[0], columns))

    def sees(self, text: str, seconds: float = SECONDS) -> None:
        """Wait for a text behind the last one that was seen, however it is coloured and broken into rows."""
        wanted, until = " ".join(text.split()), time.monotonic() + seconds
        while (found := self._words.find(wanted, self._at)) < 0:
            if time.monotonic() > until or not self._read(until - time.monotonic()):
                raise AssertionError(f"{text!r} was not seen in:\n{self.screen}\n\nwritten: {self._words[self._at :]}")
        self._at = found + len(wanted)

    def until(self, holds: Callable[[], bool], seconds: float = SECONDS) -> None:
        """Read on until something is true."""
        until = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > until:
                raise AssertionError(f"It never came to be; the screen is:\n{self.screen}")
            self._read(0.05)

    def comes_to_rest(self) -> None:
        """Read on until nothing is written but what counts seconds."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            before, rest = len(self.seen), time.monotonic() + REST_SECONDS
            while (left := rest - time.monotonic()) > 0:
                self._read(left)
            if len(self.seen) - before < QUIET_BYTES:
                return

    def _read(self, seconds: float) -> bool:
        """Take in what is written next; False when nothing more comes."""
        try:
            data = self._line.read_nonblocking(65_536, timeout=max(seconds, 0))
        except (pexpect.EOF, pexpect.TIMEOUT):
            return False
        self.seen += data
        data = self._held_back + data
        cut = data.rfind("\x1b") if "\x1b" in data[-40:] else len(data)
        data, self._held_back = (data, "") if _ESCAPE.match(data, cut) else (data[:cut], data[cut:])
        words = _ESCAPE.sub(" ", _COLOUR.sub("", data))
        words = re.sub(r"\s+", " ", words)
        self._words += words[1:] if self._words.endswith(" ") and words.startswith(" ") else words
        return True

    @property
    def screen(self) -> str:
        """What stands on the screen and above it, as far as was read: rows without what is blank at their ends."""
        return "\n".join(rows_of(self.seen, *reversed(self._size)))

    def types(self, text: str) -> None:
        """Type a line and press Enter."""
        self._send(f"{text}\r")

    def types_unseen(self, text: str) -> None:
        """The same once what is typed is not shown: until then it would be thrown away."""
        self.until(lambda: not self._mode() & termios.ECHO)
        self.types(text)

    def press(self, keys: str) -> None:
        """Press keys, as the bytes that a terminal sends: but signals and lines once keys are read as they come."""
        if keys not in (CTRL_C, CTRL_D) and not keys.endswith("\n"):
            self.until(lambda: not self._mode() & termios.ICANON)
        self._send(keys)

    def _send(self, keys: str) -> None:
        """As people do: not in the instant in which they see something."""
        pause = time.monotonic() + PAUSE_SECONDS
        while (left := pause - time.monotonic()) > 0:
            self._read(left)
        self._line.send(keys)

    def _mode(self) -> int:
        """How the terminal takes what is typed: its local modes."""
        mode = termios.tcgetattr(self._line.child_fd)[3]
        assert isinstance(mode, int)
        return mode

    def ends(self) -> int:
        """Wait for the end; the exit code, negative for a signal."""
        until = time.monotonic() + SECONDS
        while self._read(until - time.monotonic()):
            pass
        return self._child.wait()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._child.kill(signal.SIGKILL)
        self._child.wait()

    def terminate(self) -> None:
        """SIGTERM."""
        self._child.kill(signal.SIGTERM)


PAUSE_SECONDS = 0.05
REST_SECONDS = 1.2
QUIET_BYTES = 300
"""A frame in which only the seconds are others is shorter."""

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78cDEHM])")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def rows_of(written: str, columns: int, rows: int) -> list[str]:
    """What a terminal of this size shows of this, with what was scrolled out of it above. What was shown on the other
    screen, which pyte has not, is gone, or it is all that is seen.
    """
    written = re.sub(r"\x1b\[\?1049h.*?\x1b\[\?1049l", "", written, flags=re.DOTALL)
    written = written.rpartition("\x1b[?1049h")[2]
    screen = pyte.HistoryScreen(columns, rows, history=100_000, ratio=0.5)
    pyte.Stream(screen).feed(written)
    above = ["".join(line[x].data for x in range(columns)) for line in screen.history.top]
    return [row.rstrip() for row in (*above, *screen.display)]


CTRL_C, CTRL_D, ESC, ALT_ENTER = "\x03", "\x04", "\x1b", "\x1b\r"


def pasted(text: str) -> str:
    """What a terminal sends when something is dropped on it or pasted."""
    return f"\x1b[200~{text}\x1b[201~"


@contextmanager
def serving(tmp_path: Path, steps: Sequence[Step] = (), *options: str) -> Iterator[Place]:
    """A place whose model says these steps, one for each reply that the history holds; or does as the options say."""
    (tmp_path / "work").mkdir()
    words = list(options)
    if steps:
        script = tmp_path / "steps.json"
        script.write_bytes(dump_steps(list(steps)))
        words += ["--by-replies", str(script)]
    with _model_server(*words, "--record", str(tmp_path / "requests")) as url:
        yield Place(tmp_path / "home", tmp_path / "work", url)


@contextmanager
def _model_server(*options: str) -> Iterator[str]:
    """`python -m angelia.testing.model` with these options, forked; its root URL. It has nothing to complain about."""
    birth = Birth(options, dict(os.environ), str(Path.cwd()), "angelia.testing.model.__main__:main")
    with TemporaryDirectory(prefix="angelia-model-") as folder, ExitStack() as ends:
        given, give = os.pipe()
        ends.callback(os.close, given)
        told, tell = os.pipe()
        ends.callback(os.close, tell)
        server = Child(birth, Path(folder), given, tell)
        ends.close()
        try:
            with os.fdopen(told) as lines, os.fdopen(give, "wb"):  # it ends with its input
                yield lines.readline().strip()
        finally:
            run = server.run(server.wait())
    assert (run.status, run.stderr) == (0, "")


def requests(place: Place) -> list[dict[str, Any]]:
    """What the server was asked, in order."""
    recorded = place.home.parent / "requests"
    return [json.loads(line) for line in recorded.read_text().splitlines()] if recorded.exists() else []
