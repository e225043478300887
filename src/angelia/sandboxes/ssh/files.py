"""Files of another machine, in and out over SFTP: whole or not at all, and only beneath the workspace.

SFTP cannot open a file relative to a folder, nor without following links. So a file is opened first, and judged after:
where its path leads must not have changed, and what stands there must be what was opened.
"""

import asyncio
import hashlib
import os
import posixpath
import stat
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress

import asyncssh

from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import (
    ExpectedFile,
    FileChanged,
    FileKind,
    FileStat,
    FileTooLarge,
    IsFolder,
    NoSuchFile,
    NotAFile,
)
from angelia.sandboxes.ssh.blocks import BLOCK, BlockWriter, read_blocks
from angelia.sandboxes.ssh.connection import SshConnection
from angelia.sandboxes.ssh.errors import plain_words, refusal
from angelia.sandboxes.ssh.large_files import LARGE, LargeFile, open_large
from angelia.sandboxes.ssh.unfinished_files import Drafts
from angelia.sandboxes.ssh.walk import lead

SECONDS_TO_OPEN = 10.0
"""A file that is not open by then never will be: a FIFO has taken its place, and holds up the whole session."""

_KINDS = {stat.S_IFREG: FileKind.FILE, stat.S_IFDIR: FileKind.FOLDER, stat.S_IFLNK: FileKind.LINK}


class Stuck(NotAFile):
    """A FIFO was opened, and nobody writes to it: the other side answers nothing any more."""


async def read(
    sftp: asyncssh.SFTPClient, root: str, path: str, limit: int, link: SshConnection
) -> AsyncIterator[bytes]:
    """See `Sandbox.get`. A large file is read over a session of its own, by `link`.

    Raises:
        Stuck: the file does not open; the session is of no use any more.
    """
    with plain_words(path):
        full = await lead(sftp, root, path, follow=True)
        looked = await sftp.lstat(full)
        _refuse_to_read(looked, path, limit)
        alone = link if (looked.size or 0) >= LARGE else None
        async with await _opened(sftp, full, path, alone) as handle:
            opened = await handle.stat()
            if not await _is_what_stands_there(sftp, full, opened):
                raise FileChanged(f"{shown(path)} was replaced while it was opened.", then="Try again.")
            _refuse_to_read(opened, path, limit)
            left, block = opened.size or 0, min(BLOCK, sftp.limits.max_read_len)
            chunks = handle.blocks(left, block) if isinstance(handle, LargeFile) else read_blocks(handle, left, block)
            async for chunk in chunks:
                left -= len(chunk)
                yield chunk
            if left:
                raise FileChanged(f"{shown(path)} became {left} bytes shorter while it was read.")
            now = await handle.stat()
            if (now.size, now.mtime) != (opened.size, opened.mtime):  # appended, or else: nothing here tells which
                raise FileChanged(
                    f"{shown(path)} was written to while it was read.",
                    then="Read it again. Where something writes to it all the time, copy it there first.",
                )


async def write(
    sftp: asyncssh.SFTPClient,
    root: str,
    path: str,
    content: AsyncIterator[bytes],
    promise: ExpectedFile,
    drafts: Drafts,
) -> None:
    """See `Sandbox.put`. `drafts` holds the way to the unfinished file for as long as it is there, as far as we know:
    what is left in it afterwards could not be removed, since the connection was cut.
    """
    with plain_words(path):
        full = await lead(sftp, root, path, follow=True, make=True)
        with suppress(asyncssh.SFTPNoSuchFile):
            _refuse_to_replace(await sftp.lstat(full), path)
        folder = posixpath.dirname(full)
        draft = drafts.begin(folder, os.urandom(8).hex())
        try:
            await _draft(sftp, draft, path, content, promise)
            await sftp.posix_rename(draft, full)
            drafts.ended(draft)
        except BaseException as error:
            told = await refusal(sftp, folder, path) if isinstance(error, asyncssh.SFTPFailure) else None
            await _to_the_end(drafts.remove(sftp, draft))
            if told is not None:
                raise told from error
            raise


async def _draft(
    sftp: asyncssh.SFTPClient, draft: str, path: str, content: AsyncIterator[bytes], promise: ExpectedFile
) -> None:
    private = asyncssh.SFTPAttrs(permissions=0o600)
    async with await sftp.open(draft, "xb", private, encoding=None, block_size=0) as handle:
        writer = BlockWriter(handle, min(BLOCK, sftp.limits.max_write_len))
        try:
            await _fill(writer, content, path, promise.size, promise.sha256)
        finally:
            await writer.abandoned()
        with suppress(asyncssh.SFTPOpUnsupported):
            await handle.fsync()
        await handle.setstat(_attributes(promise))
        if (await handle.stat()).size != promise.size:
            raise FileChanged(f"{shown(path)} did not arrive whole.", "Nothing was changed.")


def _attributes(promise: ExpectedFile) -> asyncssh.SFTPAttrs:
    """Permission bits and times, which this version of SFTP tells in whole seconds, and both or none."""
    seconds = None if promise.modified is None else int(promise.modified)
    return asyncssh.SFTPAttrs(permissions=promise.mode & 0o777, atime=seconds, mtime=seconds)


async def look(sftp: asyncssh.SFTPClient, root: str, path: str) -> FileStat:
    """See `Sandbox.stat`."""
    with plain_words(path):
        full = await lead(sftp, root, path, follow=False)
        attrs = await sftp.lstat(full)
        link = stat.S_ISLNK(attrs.permissions or 0)
        return _file_stat(path, attrs, str(await sftp.readlink(full)) if link else "")


async def entries(sftp: asyncssh.SFTPClient, root: str, path: str) -> AsyncIterator[FileStat]:
    """See `Sandbox.list`."""
    with plain_words(path):
        full = await lead(sftp, root, path, follow=True)
        if not stat.S_ISDIR((await sftp.lstat(full)).permissions or 0):
            raise NoSuchFile(f"{shown(path)} is a file, not a folder.", then="Read it instead.")
        async for entry in sftp.scandir(full):
            if entry.filename not in (".", ".."):
                name = str(entry.filename)
                yield _file_stat(f"{path.rstrip('/')}/{name}" if path else name, entry.attrs)


async def _opened(
    sftp: asyncssh.SFTPClient, full: str, path: str, alone: SshConnection | None
) -> "asyncssh.SFTPClientFile | LargeFile":
    """The file, in a session of its own where there is a link for that."""
    try:
        async with asyncio.timeout(SECONDS_TO_OPEN):
            if alone is not None:
                return await open_large(alone, full)
            return await sftp.open(full, "rb", encoding=None, block_size=0)
    except TimeoutError as error:
        raise Stuck(f"{shown(path)} does not open: what has no end has taken its place.", then="Try again.") from error


async def _is_what_stands_there(sftp: asyncssh.SFTPClient, full: str, opened: asyncssh.SFTPAttrs) -> bool:
    """Whether the open file is the one that its path leads to, without a link.

    SFTP can hold no folder open, so nothing here is proof: whoever swaps a folder on the way for a link and back
    between two of our questions answers both as they like. With three questions in three round trips a program that
    did nothing else won once in some runs of the tests. So seven are asked alternately and at once: over there some ten
    microseconds lie between two of them, and every answer has to fit.
    """
    where = [asyncio.ensure_future(sftp.realpath(full))]
    what = []
    for _ in range(3):
        what.append(asyncio.ensure_future(sftp.lstat(full)))
        where.append(asyncio.ensure_future(sftp.realpath(full)))
    ways, files = await asyncio.gather(asyncio.gather(*where), asyncio.gather(*what))
    return all(way == full for way in ways) and all(_facts(file) == _facts(opened) for file in files)


def _facts(attrs: asyncssh.SFTPAttrs) -> tuple[object, ...]:
    """What SFTP tells of a file that another would have to share (draft-ietf-secsh-filexfer-02, section 5)."""
    return attrs.size, attrs.mtime, attrs.uid, attrs.gid, attrs.permissions


def _refuse_to_read(attrs: asyncssh.SFTPAttrs, path: str, limit: int) -> None:
    mode = attrs.permissions or 0
    if stat.S_ISDIR(mode):
        raise IsFolder(f"{shown(path)} is a folder.", then="List it, or pack it into an archive.")
    if not stat.S_ISREG(mode):
        raise NotAFile(f"{shown(path)} is a device, socket or FIFO.", "It has no end, so it is not read.")
    if (attrs.size or 0) > limit:
        raise FileTooLarge(
            f"{shown(path)} is {attrs.size} bytes long, and at most {limit} were asked for.", "No byte was moved."
        )


def _refuse_to_replace(attrs: asyncssh.SFTPAttrs, path: str) -> None:
    mode = attrs.permissions or 0
    if stat.S_ISDIR(mode):
        raise IsFolder(f"{shown(path)} is a folder; a file cannot take its place.")
    if not stat.S_ISREG(mode):
        raise NotAFile(f"{shown(path)} is a device, socket or FIFO; a file does not take its place.")


async def _fill(writer: BlockWriter, content: AsyncIterator[bytes], path: str, size: int, sha256: str) -> None:
    digest, written = hashlib.sha256(), 0
    async for chunk in content:
        written += len(chunk)
        if written > size:
            raise FileChanged(f"More than the {size} bytes promised for {shown(path)} came.", "Nothing was changed.")
        digest.update(chunk)
        await writer.write(chunk)
    await writer.finished()
    if written != size or digest.hexdigest() != sha256:
        raise FileChanged(
            f"{written} bytes with SHA-256 {digest.hexdigest()} came for {shown(path)}, "
            f"and {size} bytes with {sha256} were promised.",
            "Nothing was changed.",
        )


def _file_stat(path: str, attrs: asyncssh.SFTPAttrs, target: str = "") -> FileStat:
    mode = attrs.permissions or 0
    kind = _KINDS.get(stat.S_IFMT(mode), FileKind.OTHER)
    return FileStat(path, kind, attrs.size or 0, stat.S_IMODE(mode), float(attrs.mtime or 0), target)


async def _to_the_end(deed: Awaitable[None]) -> None:
    """Tidy up also while we are being cancelled; a draft that is not there, or out of reach by now, is no matter."""
    task = asyncio.ensure_future(deed)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    with suppress(asyncssh.SFTPError, asyncssh.Error):
        task.result()
