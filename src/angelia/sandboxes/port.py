"""The port of sandboxes: run commands, move files, say what there is.

Every failure is one of these:

    SandboxError
     ├─ SandboxMissing      it is configured and cannot be had (no bubblewrap, no daemon); never a silent fallback
     ├─ SandboxGone         it was there and is not any more
     ├─ Unreachable         the machine or daemon does not answer
     ├─ AccessRefused       permission denied, or outside what the sandbox may touch
     ├─ NoSuchFile
     ├─ IsFolder
     ├─ NotAFile            a device, socket, FIFO: nothing that ends
     ├─ FileTooLarge        over the limit, known before bytes move
     ├─ FileChanged         length or hash differ from what was promised, or it was written to while it was read
     ├─ OutOfSpace
     └─ InputClosed         the command takes no input any more: it has ended, or its input was closed

How a command ends is no failure of the sandbox, but an `Exit`: a time-out is its `timed_out`. One that was killed for
using more memory than it may ended by signal 9, as by anybody's SIGKILL: no sandbox can tell the two apart for every
process of a tree, so nothing is guessed here.
"""

from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from angelia.core.errors import AngeliaError


class SandboxError(AngeliaError):
    """Something in the sandbox did not work."""


class SandboxMissing(SandboxError):
    """The configured sandbox cannot be had; `then` says how to mend it."""


class SandboxGone(SandboxError):
    """The sandbox ended while we used it."""


class SandboxClosed(SandboxGone):
    """It was closed, by us: whoever asks is late."""

    def __init__(self) -> None:
        super().__init__("This sandbox has been closed.", then="Start the conversation again.")


class Unreachable(SandboxError):
    """The machine or daemon that holds the sandbox does not answer."""


class AccessRefused(SandboxError):
    """Permission denied, or the path lies outside what the sandbox may touch."""


class NoSuchFile(SandboxError):
    """There is no such file."""


class IsFolder(SandboxError):
    """A folder stands where a file was expected."""


class NotAFile(SandboxError):
    """A device, socket or FIFO: it has no end, so it is not read."""


class FileTooLarge(SandboxError):
    """Over the limit; no byte was moved."""


class FileChanged(SandboxError):
    """Length or hash differ from what was promised; the target was not touched."""


class OutOfSpace(SandboxError):
    """The target is full; a partial file was removed."""


class InputClosed(SandboxError):
    """The command takes no input any more: it has ended, or its input was closed. What was written may be lost."""


class Reach(StrEnum):
    """How far a command may reach."""

    CONFINED = "confined"
    """The workspace, without network."""
    NETWORK = "network"
    """The workspace, with a network: where commands are confined one by one, to public hosts and through a proxy."""
    OUTSIDE = "outside"
    """Everything the user may do. Only after a person said yes, or with confinement switched off."""


class StdinMode(StrEnum):
    """Where a command's standard input comes from."""

    GIVEN = "given"
    """`Command.stdin`, and then its end: nobody waits for more."""
    OPEN = "open"
    """What is written to it while it runs (`Running.write`), until `Running.close_input`; `stdin` is empty then."""


class StderrMode(StrEnum):
    """Where a command's standard error goes."""

    MERGED = "merged"
    """Into the output, in the order in which both were written."""
    APART = "apart"
    """Not into the output; the end of it is kept (`Running.last_errors`), so it never holds a command back."""


class Command(Struct, frozen=True):
    """One command. Either `argv` or `shell` is given; `cwd` is absolute or relative to the workspace.

    `seconds` is the time-out (0 for none): at its end the whole process tree is killed. `env` adds to the
    sandbox's small clean environment; nothing of our own environment is inherited. `call` is the tool call whose
    command this is, and `conversation` whose call; empty for what tools run on their own. `hosts` are the only ones
    that it may reach by NETWORK, empty for all; whether a sandbox holds it to them is in `Description.limits_hosts`.
    `input` says whether it is talked to while it runs, `errors` whether its standard error comes with the output.
    """

    argv: tuple[str, ...] = ()
    shell: str = ""
    cwd: str = ""
    env: Mapping[str, str] = {}
    stdin: bytes = b""
    seconds: float = 0.0
    reach: Reach = Reach.CONFINED
    call: str = ""
    conversation: str = ""
    hosts: tuple[str, ...] = ()
    input: StdinMode = StdinMode.GIVEN
    errors: StderrMode = StderrMode.MERGED

    def __post_init__(self) -> None:
        if self.input is StdinMode.OPEN and self.stdin:
            raise ValueError("what an open input gets is written to it")


class Exit(Struct, frozen=True):
    """How a command ended: `status` 0 to 255, or -1 with the `signal` that ended it.

    `notes` are sentences of the sandbox for the model: which hosts it was kept from, what was taken back. `notices` are
    those of them that the person reads as well, at whichever door. `changed` are the paths of the workspace that it has
    changed and that can be taken back; others may have been changed where `Description.keeps_changes` is not set.
    """

    status: int
    signal: int = 0
    timed_out: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


KEPT_ERRORS = 4_000
"""Bytes of a command's errors that are kept where they do not come with its output: some lines that say why."""


class Running(Protocol):
    """A command that has been started."""

    @property
    def id(self) -> str:
        """Names the process for as long as the sandbox lives."""
        ...

    def output(self) -> AsyncIterator[bytes]:
        """Stdout and stderr in the order they were written, in chunks; ends when the command's output ends.

        With `StderrMode.APART` it is stdout alone.
        """
        ...

    @property
    def last_errors(self) -> bytes:
        """With `StderrMode.APART` the end of what was written to stderr, at most `KEPT_ERRORS` bytes; else nothing.

        It is whole once `wait` has returned.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Give it input, whole and in order, also where several write at once. Waits while the command does not read.

        What was written has not been read yet. Whoever is cancelled while writing does not know how much of it went.

        Raises:
            InputClosed: it has ended, its input was closed, or was never open. A command that closed its input by
                itself and runs on is told so only where the room can see it; elsewhere it is one that does not read.
            SandboxGone, Unreachable: there is no way to it any more.
        """
        ...

    async def close_input(self) -> None:
        """Let its input end after what was written; what is being written goes first. Idempotent; never an error."""
        ...

    async def wait(self) -> Exit:
        """Wait for the end. A time-out is an `Exit`, not an error."""
        ...

    async def kill(self) -> None:
        """TERM, then KILL after a grace of three quarters of a second, to the whole process tree. Idempotent."""
        ...


class Judged(str):
    """A path as it was judged: absolute, with every link on it followed by then. No sandbox follows one that stands on
    it now: it was laid since, and leads where nobody has looked, so it is refused (`FileChanged`).
    """

    __slots__ = ()


class FileKind(StrEnum):
    """What stands at a path, links not followed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


class FileStat(Struct, frozen=True):
    """One entry of a folder. `size` is bytes, `mode` the permission bits, `modified` Unix seconds.

    `target` is where a link points, in its own words; told by `stat`, empty from `list`.
    """

    path: str
    kind: FileKind
    size: int
    mode: int
    modified: float
    target: str = ""


class Description(Struct, frozen=True):
    """What the model and the person are told about a sandbox.

    `always_networked`: every command reaches the network, whatever its reach. `commands_by` and `writes_by` name what
    runs a call's commands, or writes its text files, in place of the sandbox and outside of every confinement; empty
    for the sandbox itself. `reformats`: what is written may be given another form when it is saved. `limits_hosts`: a
    command with the network reaches public hosts alone, or those of `Command.hosts` alone. `keeps_changes`: whatever a
    confined command changes in the workspace is kept before, or is not changed. `read_only` is a folder into which
    `put` writes and commands do not, empty where there is none.
    """

    name: str
    system: str
    workspace: str
    confined: bool
    network: str
    notes: tuple[str, ...] = ()
    always_networked: bool = False
    commands_by: str = ""
    writes_by: str = ""
    reformats: bool = False
    limits_hosts: bool = False
    keeps_changes: bool = False
    read_only: str = ""


class ExpectedFile(Struct, frozen=True):
    """What `Sandbox.put` was asked for: bytes, their hash in hex, permission bits, and Unix seconds (None: now)."""

    size: int
    sha256: str
    mode: int
    modified: float | None


class Sandbox(Protocol):
    """One place to work in. Paths are absolute inside the sandbox, or relative to its workspace; see also `Judged`."""

    async def start(self, command: Command) -> Running:
        """Start a command. Its process tree ends with `kill`, with its time-out, and with our own process's death.

        Raises:
            SandboxMissing, SandboxGone, Unreachable, AccessRefused: it could not be started.
        """
        ...

    def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """A regular file's bytes, in chunks of at most 1 MB; links are resolved beneath the workspace.

        All that it held when it was opened comes, or else `FileChanged` once some of it has: when its length or time
        are others at the end than at the beginning. A sandbox may leave what was appended meanwhile for later, if it
        knows that nothing else was changed. A sandbox whose bytes could be changed on the way compares hashes too.

        Raises:
            FileTooLarge: over `limit` bytes; checked before the first byte moves.
            NoSuchFile, IsFolder, NotAFile, AccessRefused, FileChanged, SandboxGone, Unreachable.
        """
        ...

    async def put(
        self,
        path: str,
        content: AsyncIterator[bytes],
        *,
        size: int,
        sha256: str,
        mode: int = 0o644,
        modified: float | None = None,
    ) -> None:
        """Write a file whole or not at all (temporary file, flush, rename); folders on the way are made.

        It gets the permission bits of `mode`, and the time `modified` (Unix seconds; kept to the second at least),
        which is now unless it is given.

        Raises:
            FileChanged: `content` is not `size` bytes with that hash; the old file stands.
            OutOfSpace, AccessRefused, IsFolder, SandboxGone, Unreachable.
        """
        ...

    async def stat(self, path: str) -> FileStat:
        """What stands at a path (a last link is not followed).

        Raises:
            NoSuchFile, AccessRefused, SandboxGone, Unreachable.
        """
        ...

    def list(self, path: str) -> AsyncIterator[FileStat]:
        """The entries of a folder, unsorted, not recursive."""
        ...

    async def describe(self) -> Description:
        """What the model is told: system, workspace, confinement, network."""
        ...

    async def close(self) -> None:
        """End what still runs. Idempotent."""
        ...


async def reach_here(sandbox: Sandbox, wanted: Reach) -> Reach:
    """`wanted`; where commands cannot be confined, or need not be, there is only one reach.

    That is no silent fallback: there the policy puts every command of a model to a person first, with that reason.
    What tools run on their own (readlink, rg, find, grep) is fixed, quoted, and only looks at what was judged.
    """
    return wanted if (await sandbox.describe()).confined else Reach.OUTSIDE
