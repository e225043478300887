"""Commands of one sandbox that are watched while they run: every change of the workspace is made by the supervisor."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from angelia.sandboxes.port import SandboxClosed, SandboxError
from angelia.sandboxes.undo import seccomp
from angelia.sandboxes.undo.store import UndoStore
from angelia.sandboxes.undo.supervisor import Supervised, WatchEnded, WatchTold

_BEGIN = "import sys; sys.path.extend(sys.argv[2:]); from angelia.sandboxes.undo.supervisor import main; main()"
"""Isolated (`-I`), Python looks into no folder of the person's; so it is told where the packages are."""
_ANSWER_S = 60.0
"""Until an answer must be there: most of it is the last look at what a command changed."""

MOST_AT_REST = 16
"""Supervisors without a command that go on: each is a process and an open file. One is begun in some 50 ms."""

Popen = Callable[[], "subprocess.Popen[bytes]"]


class Supervision:
    """The supervisor of one sandbox, begun with its first command. Its methods may be called from any thread."""

    def __init__(self, workspace: Path, program: str, fixed: tuple[str, ...]) -> None:
        self.program = program
        self._told = Supervised(str(workspace), program, fixed)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._numbers = self._watched = 0
        self._closed = False

    @property
    def begun(self) -> bool:
        """Whether its process is there."""
        return self._socket is not None

    def watch(self, store: UndoStore, conversation: str, call: str) -> "Watch":
        """For one command, which is not started yet."""
        quota = store.quota()
        AT_REST.take(self)
        with self._lock:
            self._numbers += 1
            self._watched += 1
            told = WatchTold(
                self._numbers,
                self._told.workspace,
                str(store.new_folder(conversation)),
                call,
                quota.left,
                quota.of_one_file,
            )
        return Watch(self, told, store)

    def ask(self, told: WatchTold, *handles: int) -> bytes:
        """Tell the supervisor, and take its answer.

        Raises:
            SandboxError: it does not answer.
        """
        with self._lock:
            try:
                control = self._connected()
                socket.send_fds(control, [msgspec.json.encode(told)], list(handles))
                return _line(control)
            except OSError as error:
                self._give_up()
                raise SandboxError(
                    f"What keeps the changes of commands does not answer: {error}.",
                    "Without it nothing in the workspace can be changed by a command.",
                    "Try again; it is begun anew.",
                ) from error

    def rest(self) -> None:
        """A command is over. With the last of them this rests, and may be ended: the next command begins it anew."""
        with self._lock:
            self._watched -= 1
            rests = not self._watched and self._socket is not None
        for one in AT_REST.put(self) if rests else ():
            one.end_if_at_rest()

    def end_if_at_rest(self) -> None:
        """End it, unless there is a command again."""
        with self._lock:
            if not self._watched:
                self._give_up()

    def close(self) -> None:
        """End it for good. Idempotent."""
        AT_REST.take(self)
        with self._lock:
            self._closed = True
            self._give_up()

    def kill(self) -> None:
        """End it at once, whatever it does."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
            self._give_up()

    def begin(self) -> None:
        """Start it, unless it runs.

        Raises:
            SandboxError: it cannot be started.
            SandboxClosed: nobody would end it any more.
        """
        with self._lock:
            if self._closed:
                raise SandboxClosed
            try:
                self._start()
            except OSError as error:
                self._give_up()
                raise SandboxError(f"What keeps the changes of commands cannot be started: {error}.") from error

    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionResetError(104, "it has ended")
        return self._socket

    def _start(self) -> None:
        if self._socket is None:
            ours, theirs = socket.socketpair()
            ours.settimeout(_ANSWER_S)
            with theirs:
                self._process = begin_supervisor(self._told, theirs)
            self._socket = ours
            _line(ours)

    def _give_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


class AtRest:
    """The supervisors of this process that have no command now, the one used last at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._those: dict[Supervision, None] = {}

    def put(self, one: Supervision) -> list[Supervision]:
        """Add one that rests now; those that are too many, which are taken out."""
        with self._lock:
            self._those[one] = None
            many = list(self._those)[:-MOST_AT_REST]
            for unused in many:
                del self._those[unused]
            return many

    def take(self, one: Supervision) -> None:
        """It rests no more, if it did."""
        with self._lock:
            self._those.pop(one, None)


AT_REST = AtRest()


def begin_supervisor(told: Supervised, control: socket.socket) -> "subprocess.Popen[bytes]":
    """Start the process that serves `control`; it ends when the other end of that is closed.

    Raises:
        OSError: it cannot be started.
    """
    argv = [sys.executable, "-I", "-c", _BEGIN, msgspec.json.encode(told).decode(), *_packages()]
    return subprocess.Popen(  # noqa: S603 - ourselves
        argv, stdin=control.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={}, cwd="/"
    )


class Watch:
    """One command that is watched."""

    def __init__(self, supervision: Supervision, told: WatchTold, store: UndoStore) -> None:
        self._supervision = supervision
        self._told, self._store = told, store
        self._over = threading.Event()
        self._launched = self._ended = False

    def launch(self, popen: Popen) -> "subprocess.Popen[bytes]":
        """Start it by `popen`, on a thread of its own: what is started there is watched, and dies with that thread.

        `popen` opens nothing for writing, not even `subprocess.DEVNULL`: it is asked about already, and of a process
        that hides its memory an ordinary user's supervisor cannot see what it asks for.

        Raises:
            SandboxError, OSError, ValueError: it could not be started.
        """
        started: list[subprocess.Popen[bytes]] = []
        failed: list[Exception] = []
        ready = threading.Event()
        self._supervision.begin()  # here: what that thread starts is stopped at its first change

        def run() -> None:
            try:
                listener = seccomp.listener_of_this_thread()
                try:
                    self._supervision.ask(self._told, listener)
                finally:
                    os.close(listener)
                self._launched = True
                started.append(popen())
            except (OSError, ValueError, SandboxError) as error:
                failed.append(error)
            finally:
                ready.set()
            if started:
                self._over.wait()

        threading.Thread(target=run, name="watched command", daemon=True).start()
        ready.wait()
        if failed:
            self.end()
            raise failed[0]
        return started[0]

    def end(self) -> WatchEnded:
        """It has ended; what it changed.

        Raises:
            SandboxError: the supervisor does not answer.
        """
        self._over.set()
        try:
            return self._what_changed()
        finally:
            if not self._ended:
                self._ended = True
                self._supervision.rest()

    def _what_changed(self) -> WatchEnded:
        if not self._launched:
            return WatchEnded((), {}, self._told.left)
        self._launched = False
        answer = self._supervision.ask(WatchTold(self._told.number))
        ended = msgspec.json.decode(answer, type=WatchEnded)
        self._store.spent(self._told.left - ended.left)
        return ended


def _line(control: socket.socket) -> bytes:
    pieces: list[bytes] = []
    while not pieces or not pieces[-1].endswith(b"\n"):
        piece = control.recv(1 << 20)
        if not piece:
            raise ConnectionResetError(104, "it has ended")
        pieces.append(piece)
    return b"".join(pieces)


@cache
def _packages() -> tuple[str, ...]:
    found = [find_spec(name) for name in ("angelia", "msgspec")]
    return tuple(dict.fromkeys(str(Path(spec.origin).parents[1]) for spec in found if spec and spec.origin))


_TRIED: dict[str, bool] = {}


def can_watch(program: str, folder: Path | None = None) -> bool:
    """Whether commands can be watched here: tried once, with a file that a command makes in `folder`, which is ours:
    what a life that dies meanwhile leaves there goes with what is old. Some 100 ms.
    """
    if program not in _TRIED:
        _TRIED[program] = _tried(program, folder)
    return _TRIED[program]


def _tried(program: str, folder: Path | None) -> bool:
    if not seccomp.can_be_asked() or Path(program).stat().st_mode & 0o6000:
        return False
    from angelia.sandboxes.undo.store import UndoSettings

    with tempfile.TemporaryDirectory(prefix="angelia-watch-", dir=folder) as place:
        workspace = Path(place, "workspace")
        workspace.mkdir()
        supervision = Supervision(workspace.resolve(), program, ())
        watch = supervision.watch(UndoStore(Path(place, "home"), UndoSettings()), "trial", "")
        everything = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL")
        made = ("sh", "-c", ': > "$0"', f"{workspace.resolve()}/made")
        argv = [program, "--unshare-all", "--die-with-parent", *everything, *made]
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            process = watch.launch(
                lambda: subprocess.Popen(  # noqa: S603 - a fixed command line
                    argv, stdin=nothing, stdout=nothing, stderr=nothing, env={"PATH": os.defpath}, cwd="/"
                )
            )
            process.wait(timeout=20)
            return watch.end().changed == ("made",)
        except (OSError, SandboxError, subprocess.TimeoutExpired):
            return False
        finally:
            os.close(nothing)
            supervision.close()
