"""Files of the sandbox as tools use them: read whole, remembered as read, written and read back."""

import hashlib
from collections.abc import AsyncIterator

from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.sandboxes.port import FileChanged, FileTooLarge, NoSuchFile, Sandbox
from angelia.tools.port import ToolContext

READ_LIMIT = 32_000_000
"""Bytes of a file that `read`, `edit` and `write` open; larger ones are for commands that stream."""

_CHUNK = 1_000_000
_STATE = "read_files"


class FileNow(Struct, frozen=True):
    """A file's bytes and permission bits at one moment."""

    data: bytes
    mode: int

    @property
    def sha256(self) -> str:
        """The hash of the bytes, in hex."""
        return hashlib.sha256(self.data).hexdigest()


async def read_bytes(sandbox: Sandbox, path: str, *, limit: int = READ_LIMIT) -> bytes:
    """A regular file's bytes.

    Raises:
        FileTooLarge: over `limit`; says what to do instead.
        NoSuchFile, IsFolder, NotAFile, AccessRefused, FileChanged, SandboxGone, Unreachable.
    """
    try:
        return b"".join([chunk async for chunk in sandbox.get(path, limit=limit)])
    except FileTooLarge as error:
        raise FileTooLarge(
            error.what,
            error.why,
            "Look at a part of it with `shell` (head, tail, sed -n, dd) or search it with `find`.",
        ) from error


async def file_now(sandbox: Sandbox, resolved: str) -> FileNow | None:
    """The file at a resolved path, or None where there is none; errors as in `read_bytes`."""
    try:
        stat = await sandbox.stat(resolved)
        return FileNow(await read_bytes(sandbox, resolved), stat.mode)
    except NoSuchFile:
        return None


def remember(context: ToolContext, resolved: str, data: bytes) -> None:
    """These bytes have been seen by the model at that path."""
    context.state.setdefault(_STATE, {})[resolved] = hashlib.sha256(data).hexdigest()


def must_be_seen(context: ToolContext, resolved: str, now: FileNow, path: str) -> None:
    """Nothing unseen is overwritten.

    Raises:
        BadInput: the file was never read in this conversation (since Angelia started), or has changed since.
    """
    seen = context.state.get(_STATE, {}).get(resolved)
    if seen is None:
        raise BadInput(f"{path} was not changed: it has not been read yet.", then="Read it, then try again.")
    if seen != now.sha256:
        raise BadInput(
            f"{path} was not changed: it is not what was read.",
            "Something else wrote to it in the meantime.",
            "Read it again, then try again.",
        )


async def write_verified(context: ToolContext, resolved: str, data: bytes, *, mode: int = 0o644) -> bytes:
    """Write a file whole, read it back, and remember it as seen. Returns what stands there: other bytes than `data`
    only where whatever saves it may format it.

    Raises:
        FileChanged: what stands there now is not what was written.
        OutOfSpace, AccessRefused, IsFolder, SandboxGone, Unreachable: the old file stands.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    await context.sandbox.put(resolved, _chunks(data), size=len(data), sha256=sha256, mode=mode)
    back = await read_bytes(context.sandbox, resolved, limit=READ_LIMIT)
    if back != data and not (await context.sandbox.describe()).reformats:
        raise FileChanged(
            f"{resolved} was written with {len(data)} bytes, and reading it back gave {len(back)} other bytes.",
            "Something else writes to it, or the disk is failing.",
            "Read it before you go on.",
        )
    remember(context, resolved, back)
    return back


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]
