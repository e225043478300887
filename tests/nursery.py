"""A warm process that bears others: each is a process of its own with everything imported, and begins at once.

    python -m tests.nursery

A fresh interpreter takes a quarter of a second of a processor to begin, and the tests begin thousands. So lives that
are not about beginning are forked from one that has: under the crash recorder, as `angelia.testing.crash` runs them,
with an environment, a folder and outputs of their own. What a start itself does is seen in `tests/house/test_start_up`.
"""

import array
import asyncio
import atexit
import fcntl
import gc
import io
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from angelia.core.crash import on_crash_point
from angelia.faces.web.page_files import own_page_files
from angelia.models.wires.failures import of_response
from angelia.policy.secret_paths import decides_what_runs, secret_kind
from angelia.sandboxes.local.confinement import bubblewrap_program
from angelia.sandboxes.undo.supervision import can_watch
from angelia.service.settings.config import load
from angelia.testing import crash
from angelia.testing.crash import ANGELIA, Recorder, Run
from angelia.tools.discovery import default_registry
from tests.empty_logs import copy_empty_logs
from tests.media_forks import MEDIA, fork_media_processes

ROOT = Path(__file__).parents[1]
WARM = (
    *("angelia.__main__", "angelia.faces.cli.main", "angelia.faces.cli.gateway", "angelia.faces.gateway.foreground"),
    *("angelia.faces.cli.ask", "angelia.channels.telegram.channel", "angelia.models.wires.openai_chat"),
    *(f"angelia.faces.cli.chat.{name}" for name in ("app", "command", "completion", "live_view", "conversation_view")),
    *("angelia.faces.words.markdown", "angelia.faces.words.reply_stream", "angelia.testing.model.__main__"),
    *("angelia.sandboxes.local.watched_command", "angelia.service.delegation.preset_files"),
    *("angelia.sandboxes.local.sandbox", "angelia.policy.judge", "angelia.policy.shell.classifier"),
    *("angelia.policy.shell.emptied_files", "angelia.sandboxes.guard.sandbox"),
    *("angelia.store.media.measure", "angelia.store.media.picture_metadata"),
    *("angelia.service.chats.voice_answers", "angelia.service.delegation.conversation_children"),
    *(f"angelia.tools.{name}.toolset" for name in ("browser", "delegation", "files", "notes", "past", "shell")),
    *("angelia.browsers.chromium.browser", "angelia.tools.schedule.schedules"),
    *(f"angelia.tools.browser.{name}" for name in ("act_on_page", "look_at_page", "open_page")),
    *(f"angelia.tools.files.{name}" for name in ("edit", "find", "read", "write")),
    *(f"angelia.tools.people.{name}" for name in ("ask_user", "look_again", "send_file", "todo")),
    *("angelia.tools.shell.shell", "angelia.tools.shell.process", "angelia.tools.web.fetch"),
    *("angelia.tools.web.toolset", "angelia.tools.browser.hand_over_page", "angelia.tools.browser.run_script"),
    *("angelia.service.secrets.browser_profiles", "angelia.models.local.runtime", "angelia.faces.cli.weights"),
    *(f"angelia.faces.cli.chat.{name}" for name in ("commands", "drawn_rows", "frame_output", "live_rows", "prompt")),
    *("prompt_toolkit.input.vt100", "prompt_toolkit.key_binding.bindings.search", "angelia.faces.cli.web"),
    *("angelia.store.sql.upkeep", "angelia.service.people.copies", "angelia.store.log.erase"),
    *("angelia.faces.cli.completion", "angelia.faces.cli.history", "angelia.engine.questions_meanwhile"),
    *("angelia.sandboxes.undo.call_sandbox", "angelia.sandboxes.local.bubblewrap", "angelia.sandboxes.local.command"),
    *("angelia.service.settings.config_file", "angelia.service.settings.faults", "angelia.sandboxes.local.git_guard"),
    *("angelia.service.backups.backup", "angelia.service.backups.restore", "angelia.faces.cli.backup"),
    *("angelia.faces.cli.doctor", "angelia.faces.cli.channels", "angelia.faces.cli.show", "angelia.faces.cli.mcp"),
    *(
        f"angelia.faces.cli.checkup.{name}"
        for name in ("browser", "page", "presets", "search_paths", "servers", "model")
    ),
    *("PIL.PngImagePlugin", "pypdfium2", "markdown_it", "rich.console", "pygments.lexers.python"),
    *("tree_sitter", "tree_sitter_bash", "prompt_toolkit"),
    *("httpx2", "angelia.http.transport", "concurrent.futures.thread", "tomllib", "sqlite3", "zoneinfo"),
)
"""What a command, a chat or a gateway imports before it does anything, and the dearest of what it imports later."""
SECONDS = 120.0
"""How long a life may take."""
_LONGEST = 1 << 17
_UNSEEN = re.compile(r"never (retrieved|awaited)|[Ee]xception (is )?ignored|Exception in callback|a thread faulted")


class Birth(Struct, frozen=True):
    """What a child is to run. With it come four descriptors: its input, output and errors, and where its number and its
    status are told. `passed` is the log of its crash points, if it is to have one, and `at` where it is killed.
    With `terminal` its input is one that it has for itself.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    entry: str = ANGELIA
    passed: str = ""
    at: str = ""
    terminal: bool = False


class Child:
    """A process that lives or has lived; its outputs lie in a folder, `out` and `err`, its crash points in `passed`.

    Somebody who talks with it gives it a `stdout` of their own.
    """

    def __init__(self, birth: Birth, place: Path, stdin: int, stdout: int | None = None) -> None:
        self.place = place
        self._home = birth.env.get("ANGELIA_HOME", "")
        told, tell = os.pipe()
        outputs = [os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for name in ("out", "err")]
        try:
            given = [stdin, outputs[0] if stdout is None else stdout, stdin if birth.terminal else outputs[1], tell]
            with _ONE_BY_ONE:
                socket.send_fds(_server(), [msgspec.json.encode(birth)], given)
        finally:
            for end in (*outputs, tell):
                os.close(end)
        self._told = os.fdopen(told, "rb", buffering=0)
        self.pid = int(self._line())

    @property
    def ended(self) -> bool:
        """Whether its end was seen."""
        return self._told.closed

    def wait(self, seconds: float = SECONDS) -> int:
        """Its exit code, negative for a signal.

        Raises:
            TimeoutError: it goes on.
        """
        telling = select.poll()  # `select` knows no descriptor above 1,023, and storms have more
        telling.register(self._told, select.POLLIN)
        if not telling.poll(seconds * 1000):
            raise TimeoutError(f"a life took longer than {seconds} s; so far: {self.run(0)}")
        with self._told:
            return int(self._line())

    def status(self) -> asyncio.Future[int]:
        """The same, for one who goes on meanwhile."""
        loop = asyncio.get_running_loop()
        status: asyncio.Future[int] = loop.create_future()

        def told() -> None:
            loop.remove_reader(self._told)
            if not status.cancelled():
                status.set_result(self.wait())

        loop.add_reader(self._told, told)
        return status

    def kill(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended and that was seen."""
        with suppress(ProcessLookupError):
            if not self.ended:
                os.kill(self.pid, number)

    def over(self, status: int) -> Run:
        """What it left, when it ended with this status; nothing in it failed of which nobody took notice."""
        log = Path(self._home, "angelia.log")
        if self._home and log.exists():
            unseen = [line for line in log.read_text(errors="replace").splitlines() if _UNSEEN.search(line)]
            assert not unseen, f"in {log}: {unseen[:5]}"
        return self.run(status)

    def run(self, status: int) -> Run:
        """What there is of it, where it ended with this status."""
        out, err = (self._read(name) for name in ("out", "err"))
        return Run(status, out, err, tuple(self._read("passed").splitlines()))

    def _read(self, name: str) -> str:
        file = self.place / name
        return file.read_text(errors="replace") if file.exists() else ""

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            if not (byte := self._told.read(1)):
                raise AssertionError("the nursery has ended before its children")
            line += byte
        return line


class LivingChild:
    """A child that goes on beside the test."""

    def __init__(self, child: Child) -> None:
        self._child, self.pid = child, child.pid
        self.status = child.status()

    def kill(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        self._child.kill(number)

    async def says(self, *words: str) -> None:
        """Return once one of these stands in its output, or among its errors."""
        async with asyncio.timeout(SECONDS):
            while not any(one in (run := self._child.run(0)).stdout + run.stderr for one in words):  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def ended(self) -> Run:
        """How it ended."""
        return self._child.over(await self.status)


class Nursery:
    """For the length of an `async with`; its children end with it."""

    def __init__(self) -> None:
        self._children: list[LivingChild] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.kill(signal.SIGKILL)
            await child.status

    async def bear(
        self, argv: Sequence[str], env: Mapping[str, str], place: Path, *, at: str = "", entry: str = ANGELIA
    ) -> LivingChild:
        """Begin a life that kills itself at the crash point `at`, if one is named."""
        passed = place / "passed"
        passed.touch()
        birth = Birth(tuple(argv), dict(env), str(ROOT), entry, str(passed), at)
        with Path(os.devnull).open("rb") as nothing:
            child = LivingChild(Child(birth, place, nothing.fileno()))
        self._children.append(child)
        return child


async def forked(at: str, argv: Sequence[str], env: Mapping[str, str], entry: str, stdin: bytes) -> Run:
    """See `angelia.testing.crash.Live`."""
    with tempfile.TemporaryDirectory(prefix="angelia-life-") as folder:
        passed = Path(folder, "passed")
        passed.touch()
        birth = Birth(tuple(argv), dict(env), str(Path.cwd()), entry, str(passed), at)
        with _fed(stdin) as given:
            child = Child(birth, Path(folder), given)
        try:
            async with asyncio.timeout(SECONDS):
                return child.over(await child.status())
        finally:
            child.kill(signal.SIGKILL)


run = partial(crash.run, live=forked)
occurrences = partial(crash.occurrences, live=forked)
run_killed_at = partial(crash.run_killed_at, live=forked)


def run_with(birth: Birth, stdin: bytes, seconds: float = SECONDS) -> Run:
    """Let it live to its end with this input.

    Raises:
        TimeoutError: it went on, and was killed.
    """
    with tempfile.TemporaryDirectory(prefix="angelia-life-") as folder:
        with _fed(stdin) as given:
            child = Child(birth, Path(folder), given)
        try:
            return child.over(child.wait(seconds))
        finally:
            child.kill(signal.SIGKILL)


@contextmanager
def _fed(data: bytes) -> Iterator[int]:
    """A pipe that gives these bytes."""
    read, write = os.pipe()

    def feed() -> None:
        with suppress(BrokenPipeError), os.fdopen(write, "wb") as file:
            file.write(data)

    threading.Thread(target=feed, daemon=True).start()
    try:
        yield read
    finally:
        os.close(read)


_ONE_BY_ONE = threading.Lock()


@cache
def _server() -> socket.socket:
    """One for all tests of this process, begun with the first; it ends when this socket is closed, by our end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = (sys.executable, "-m", "tests.nursery", str(theirs.fileno()))
    env = {**os.environ, "PYTHONUTF8": "1"}
    process = subprocess.Popen(words, cwd=ROOT, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def main(descriptor: int) -> None:
    """Bear children until nobody is left who asks for any, and tell how each ends."""
    sys.path[:] = [one for one in sys.path if one != str(ROOT)]  # `angelia` has no folder there
    for name in WARM:
        import_module(name)
    _work_out_what_is_kept()
    gc.freeze()  # else whoever is born copies all of it with the first garbage that is looked for
    asked = socket.socket(fileno=descriptor)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    telling: dict[int, int] = {}
    waiting = select.poll()
    for one in (descriptor, woken):
        waiting.register(one, select.POLLIN)
    while True:
        ready = [one for one, _ in waiting.poll()]
        if woken in ready:
            os.read(woken, 4096)
            _tell_of_deaths(telling)
        if descriptor in ready:
            data, given = _received(asked)
            if not data:
                return
            birth = msgspec.json.decode(data, type=Birth)
            pid = os.fork()
            if not pid:
                _begin(birth, given[:3])
            telling[pid] = given[3]
            os.write(given[3], b"%d\n" % pid)
            for end in given[:3]:
                os.close(end)


def _work_out_what_is_kept() -> None:
    """Once for all of them: what a process finds out, reads or compiles when it first needs it, and keeps."""
    if program := bubblewrap_program():
        can_watch(program)  # a life of its own tries for 0.2 s of a processor
    own_page_files()  # 0.1 s
    copy_empty_logs()  # 10 ms
    default_registry().specs()  # 20 ms: what packages offer, and schemas
    of_response(400, {}, b"", 0.0)  # 5 ms: phrases of refusals
    load(Path("/nowhere"), {})  # what settings look like
    for path in (".ssh/id", ".bashrc", "a.py"):  # 20 ms: patterns
        secret_kind(path)
        decides_what_runs(path)


def _received(asked: socket.socket) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    data, rest, _, _ = asked.recvmsg(_LONGEST, socket.CMSG_LEN(4 * fds.itemsize), socket.MSG_CMSG_CLOEXEC)
    for _, _, found in rest:
        fds.frombytes(found[: len(found) - len(found) % fds.itemsize])
    return data, list(fds)


def _begin(birth: Birth, given: Sequence[int]) -> None:
    try:
        _live(birth, given)
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    except BaseException:  # noqa: BLE001 - nothing of the nursery may run on in its child
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def _live(birth: Birth, given: Sequence[int]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for theirs, ours in enumerate(given):
        os.dup2(ours, theirs)
    os.closerange(3, 1024)
    if birth.terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    _open_streams()
    os.environ.clear()
    os.environ.update(birth.env)
    tempfile.tempdir = None  # what this one has found out is not what that one is told
    os.chdir(birth.cwd)
    sys.path[:0] = [one for one in birth.env.get("PYTHONPATH", "").split(os.pathsep) if one]
    if birth.env.get(MEDIA):
        fork_media_processes()
    if birth.passed:
        on_crash_point(Recorder(Path(birth.passed), birth.at))
    sys.argv = ["angelia", *birth.argv]
    module, _, function = birth.entry.partition(":")
    getattr(import_module(module), function)()


def _open_streams() -> None:
    """Anew, as a fresh interpreter does: what they know of what they lead to is from the nursery."""
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False), encoding="utf-8")  # type: ignore[misc]
    output = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8", line_buffering=os.isatty(1))
    sys.stdout = sys.__stdout__ = output  # type: ignore[misc]
    errors = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), encoding="utf-8", line_buffering=True)
    sys.stderr = sys.__stderr__ = errors  # type: ignore[misc]


def _tell_of_deaths(telling: dict[int, int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        if (end := telling.pop(pid, None)) is not None:
            with suppress(BrokenPipeError):
                os.write(end, b"%d\n" % os.waitstatus_to_exitcode(status))
            os.close(end)


if __name__ == "__main__":
    main(int(sys.argv[1]))
