"""A warm process that bears gateways: each is a process of its own with everything imported, and begins at once.

    python -m tests.chats.nursery

reads one `Birth` as JSON per line, and writes a line for each birth and each death. A child runs Angelia's command
line under the crash recorder, as `angelia.testing.crash` does in a process that begins from nothing.
"""

import asyncio
import os
import select
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from angelia.core.crash import on_crash_point
from angelia.testing.crash import ANGELIA, Recorder, Run
from tests.promise.lives import ROOT

WARM = (
    *("angelia.__main__", "angelia.faces.cli.main", "angelia.faces.cli.gateway", "angelia.faces.gateway.foreground"),
    *("angelia.channels.telegram.channel", "angelia.models.wires.openai_chat", "angelia.sandboxes.local.sandbox"),
    *("angelia.policy.judge", "angelia.policy.shell.classifier", "angelia.store.media.measure"),
    *(f"angelia.tools.files.{name}" for name in ("edit", "find", "read", "write")),
    *(f"angelia.tools.people.{name}" for name in ("ask_user", "look_again", "send_file", "todo")),
    *("angelia.tools.shell.shell", "angelia.tools.shell.process", "angelia.tools.web.fetch"),
    *("PIL.PngImagePlugin", "pypdfium2", "markdown_it", "tree_sitter", "tree_sitter_bash"),
    *("httpx2", "angelia.http.transport", "tomllib"),
)
"""What a gateway imports before it listens, and the dearest of what it imports later."""


class Birth(Struct, frozen=True):
    """What a child is to run: `place` is a folder for its output and for the log of crash points, `entry` is
    `module:function`.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    place: str
    at: str = ""
    entry: str = ANGELIA


class Told(Struct, frozen=True):
    """A child was born (`status` is None) or has ended (with its exit code, negative for a signal)."""

    pid: int
    status: int | None = None


class Child:
    """A gateway that lives or has lived."""

    def __init__(self, pid: int) -> None:
        self.pid, self.place = pid, Path()
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def kill(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            if not self.status.done():
                os.kill(self.pid, number)

    async def ended(self) -> Run:
        """How it ended."""
        status = await self.status
        out, err, passed = ((self.place / name).read_text() for name in ("out", "err", "passed"))
        return Run(status, out, err, tuple(passed.splitlines()))


class Nursery:
    """The warm process, for the length of an `async with`; its children end with it."""

    def __init__(self) -> None:
        self._children: dict[int, Child] = {}
        self._born: asyncio.Queue[int] = asyncio.Queue()
        self._one_by_one = asyncio.Lock()

    async def __aenter__(self) -> Self:
        pipe = asyncio.subprocess.PIPE
        words = (sys.executable, "-m", "tests.chats.nursery")
        self._process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, cwd=ROOT)
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children.values():
            child.kill(signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading

    async def bear(
        self, argv: Sequence[str], env: Mapping[str, str], place: Path, *, at: str = "", entry: str = ANGELIA
    ) -> Child:
        """Begin a life that kills itself at the crash point `at`, if one is named."""
        for name in ("out", "err", "passed"):
            (place / name).touch()
        assert self._process.stdin is not None
        async with self._one_by_one:
            birth = Birth(tuple(argv), dict(env), str(place), at, entry)
            self._process.stdin.write(msgspec.json.encode(birth) + b"\n")
            async with asyncio.timeout(60):
                pid = await self._born.get()
        child = self._children[pid]
        child.place = place
        return child

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            told = msgspec.json.decode(line, type=Told)
            if told.status is None:
                self._children[told.pid] = Child(told.pid)
                self._born.put_nowait(told.pid)
            else:
                self._children.pop(told.pid).status.set_result(told.status)


def main() -> None:
    """Bear children until nobody asks for any, and tell how each ends."""
    for name in WARM:
        import_module(name)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    asked = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_of_deaths()
        if 0 in ready:
            if not (read := os.read(0, 65536)):
                return
            *orders, asked = (asked + read).split(b"\n")
            for order in orders:
                _bear(msgspec.json.decode(order, type=Birth))


def _bear(birth: Birth) -> None:
    if pid := os.fork():
        _tell(Told(pid))
        return
    try:
        _live(birth)
    except BaseException:  # noqa: BLE001 - nothing of the nursery may run on in its child
        traceback.print_exc()
        os._exit(1)


def _live(birth: Birth) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    place = Path(birth.place)
    nothing = os.open(os.devnull, os.O_RDONLY)
    out, err = (os.open(place / name, os.O_WRONLY | os.O_APPEND) for name in ("out", "err"))
    for theirs, ours in enumerate((nothing, out, err)):
        os.dup2(ours, theirs)
    os.environ.clear()
    os.environ.update(birth.env)
    on_crash_point(Recorder(place / "passed", birth.at))
    sys.argv = ["angelia", *birth.argv]
    module, _, function = birth.entry.partition(":")
    getattr(import_module(module), function)()


def _tell_of_deaths() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        _tell(Told(pid, os.waitstatus_to_exitcode(status)))


def _tell(told: Told) -> None:
    sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
