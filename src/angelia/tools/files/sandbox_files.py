"""Files of the sandbox as tools use them: read whole, remembered as read, written and read back."""

import hashlib
from collections.abc import AsyncIterator

from msgspec import Struct

from angelia.core.errors import BadInput
from angelia.sandboxes.port import FileChanged, FileTooLarge, NoSuchFile, Sandbox

READ_LIMIT = 32_000_000
"""Bytes of a file that `read`, `edit` and `write` open; larger ones are for commands that stream."""

_CHUNK = 1_000_000


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


class SeenFiles:
    """What the model has seen of files in one conversation, since Angelia started: nothing unseen is overwritten."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def remember(self, resolved: str, data: bytes) -> None:
        """These bytes have been seen by the model at that path."""
        self._seen[resolved] = hashlib.sha256(data).hexdigest()

    def must_be_seen(self, resolved: str, now: FileNow, path: str) -> None:
        """Nothing unseen is overwritten.

        Raises:
            BadInput: the file was never read in this conversation, or has changed since.
        """
        seen = self._seen.get(resolved)
        if seen is None:
            raise BadInput(f"{path} was not changed: it has not been read yet.", then="Read it, then try again.")
        if seen != now.sha256:
            raise BadInput(
                f"{path} was not changed: it is not what was read.",
                "Something else wrote to it in the meantime.",
                "Read it again, then try again.",
            )

    async def write_verified(self, sandbox: Sandbox, resolved: str, data: bytes, *, mode: int = 0o644) -> bytes:
        """Write a file whole, read it back, and remember it as seen. Returns what stands there: other bytes than
        `data` only where whatever saves it may format it.

        Raises:
            FileChanged: what stands there now is not what was written.
            OutOfSpace, AccessRefused, IsFolder, SandboxGone, Unreachable: the old file stands.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        await sandbox.put(resolved, _chunks(data), size=len(data), sha256=sha256, mode=mode)
        back = await read_bytes(sandbox, resolved, limit=READ_LIMIT)
        if back != data and not (await sandbox.describe()).reformats:
            raise FileChanged(
                f"{resolved} was written with {len(data)} bytes, and reading it back gave {len(back)} other bytes.",
                "Something else writes to it, or the disk is failing.",
                "Read it before you go on.",
            )
        self.remember(resolved, back)
        return back


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]
