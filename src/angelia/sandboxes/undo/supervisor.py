"""The process that makes the changes of confined commands in a workspace: one for a sandbox, told by a socket.

The workspace is mounted read-only where the commands run; each of their calls that would change a file waits until it
is answered here (`seccomp`). So there is no call that could be made past us, and none that is changed after it was
looked at: what we do not make fails. All calls are made one after another, by one thread.
"""

import errno
import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.crash import crash_point
from angelia.sandboxes.undo import seccomp
from angelia.sandboxes.undo.call_context import CallContext, ChangeRefused, Handed, NotOurs
from angelia.sandboxes.undo.changing_calls import made
from angelia.sandboxes.undo.guarded_paths import GuardedPaths
from angelia.sandboxes.undo.step import CannotKeep, Quota, StepJournal
from angelia.sandboxes.undo.target import Workspace, open_workspace

READY = b"{}\n"
_MOST_REFUSED = 50


class Supervised(Struct, frozen=True):
    """What a supervisor is for: `fixed` are paths of the workspace that are only read, `program` is what sets up a
    command, whose own calls are not looked at.
    """

    workspace: str
    program: str
    fixed: tuple[str, ...]


class WatchTold(Struct, frozen=True):
    """A command, with its listener: it is watched from now on; without one: it has ended."""

    number: int
    workspace: str = ""
    folder: str = ""
    call: str = ""
    left: int = 0
    of_one_file: int = 0


class WatchEnded(Struct, frozen=True):
    """What a command changed, what it was kept from and why, and how many bytes may still be kept."""

    changed: tuple[str, ...]
    refused: dict[str, str]
    left: int


class _Watched:
    """One command that is watched."""

    def __init__(self, told: WatchTold, listener: int, workspace: Workspace, guarded: GuardedPaths) -> None:
        self.listener = listener
        self.told = told
        self._step: StepJournal | None = None
        self._quota = Quota(told.left, told.of_one_file)
        self._calling = CallContext(workspace, self._begun, guarded.refusal, guarded.is_git_config)
        self._refused: dict[str, str] = {}
        self._call: seccomp.StoppedCall | None = None

    def answer_next(self, without: tuple[int, int]) -> None:
        """Make the next call that waits, or let it go on."""
        call = self._call = seccomp.next_call(self.listener)
        if call is None:
            return
        try:
            program = os.stat(f"/proc/{call.thread}/exe")  # noqa: PTH116 - on the path of each call
            if (program.st_dev, program.st_ino) == without or not call.name:
                raise NotOurs
            found = made(call, self._calling)
            crash_point("watch.made")
        except NotOurs:
            seccomp.let_go_on(self.listener, call)
        except ChangeRefused as refusal:
            path, _, why = str(refusal).partition("\0")
            self._refuse(path, why)
            seccomp.answer(self.listener, call, errno.EACCES)
        except CannotKeep as error:
            self._refuse(call.name, str(error))
            seccomp.answer(self.listener, call, errno.EPERM)
        except OSError as error:
            seccomp.answer(self.listener, call, error.errno or errno.EIO)
        except (ValueError, OverflowError, struct.error):  # arguments that no program means
            seccomp.answer(self.listener, call, errno.EINVAL)
        else:
            self._give(call, found)

    def end(self) -> WatchEnded:
        """It has ended: what it changed, and what it was kept from."""
        changed = self._step.end() if self._step else ()
        os.close(self.listener)
        return WatchEnded(changed, self._refused, self._quota.left)

    def _give(self, call: seccomp.StoppedCall, found: Handed | None) -> None:
        if found is None:
            seccomp.answer(self.listener, call, 0)
            return
        try:
            seccomp.hand_in(self.listener, call, found.handle, close_on_exec=found.close_on_exec)
        finally:
            os.close(found.handle)

    def _begun(self) -> StepJournal:
        """Asked for before each change, when all that it needs of the program has been read.

        Raises:
            ProcessLookupError: whoever made the call has ended, and its number may be another's: so may what was read
                (seccomp_unotify(2), "SECCOMP_IOCTL_NOTIF_ID_VALID").
        """
        if self._call is None or not seccomp.still_waits(self.listener, self._call):
            raise ProcessLookupError(errno.ESRCH, "it has ended")
        if self._step is None:
            told = self.told
            self._step = StepJournal(Path(told.folder), Path(told.workspace), told.call, self._quota)
        return self._step

    def _refuse(self, path: str, why: str) -> None:
        if len(self._refused) < _MOST_REFUSED:
            self._refused[path] = why


class _Supervisor:
    def __init__(self, control: socket.socket, told: Supervised) -> None:
        self._control, self._fixed = control, told.fixed
        self._workspace = open_workspace(told.workspace)
        program = Path(told.program).stat()
        self._without = (program.st_dev, program.st_ino)
        self._watched: dict[int, _Watched] = {}
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def run(self) -> None:
        """Until whoever started it is gone."""
        while True:
            for handle, event in self._poll.poll():
                if handle == self._control.fileno():
                    if not self._obey():
                        return
                elif handle in self._watched and event & select.POLLIN:
                    self._watched[handle].answer_next(self._without)
                elif handle in self._watched:
                    self._poll.unregister(handle)  # nobody is left who could be asked about

    def _obey(self) -> bool:
        message, handles, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
        if not message:
            return False
        told = msgspec.json.decode(message, type=WatchTold)
        if handles:
            seccomp.wake_at_once(handles[0])
            guarded = GuardedPaths(self._workspace.root, self._fixed)
            self._watched[handles[0]] = _Watched(told, handles[0], self._workspace, guarded)
            self._poll.register(handles[0], select.POLLIN)
            crash_point("watch.begun")
            self._control.sendall(READY)
            return True
        listener = next(at for at, one in self._watched.items() if one.told.number == told.number)
        with suppress(KeyError):
            self._poll.unregister(listener)
        ended = self._watched.pop(listener).end()
        crash_point("watch.ended")
        self._control.sendall(msgspec.json.encode(ended) + b"\n")
        return True


def main() -> None:
    """Serve the socket on descriptor 0; the word of the command line says which workspace, as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=0) as control:
        _without_rights()
        supervisor = _Supervisor(control, msgspec.json.decode(sys.argv[1], type=Supervised))
        control.sendall(READY)
        supervisor.run()


def _without_rights() -> None:
    """Be no more than the commands are: where we are root, they have none of its rights over others' files.

    What is left is CAP_SYS_PTRACE, to read the paths of their calls.
    """
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("=Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, ourselves
    left = 1 << 19 if os.geteuid() == 0 else 0
    if library.capset(header, struct.pack("=6I", left, left, 0, 0, 0, 0)):
        raise OSError(ctypes.get_errno(), "capset")
