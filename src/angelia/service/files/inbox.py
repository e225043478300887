"""What people send lies in the sandbox's `inbox/` folder, under its own name, where tools can work on it."""

import asyncio
import hashlib
import posixpath
from collections import defaultdict
from collections.abc import Callable
from itertools import count

from angelia.core.content import BlobRef, Media
from angelia.core.text import file_name, numbered
from angelia.engine.attachments import Place
from angelia.sandboxes.port import AccessRefused, FileKind, NoSuchFile, Sandbox
from angelia.store.media.blobs import BlobStore

FOLDER = "inbox"
_LONGEST = 200
"""Bytes of a name, so that a number fits behind it."""


class Inboxes:
    """The inboxes of a home's conversations. Several may share one: there, files are put one after the other."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def of(self, sandbox: Sandbox, spec: str, say: Callable[[str], None]) -> Place:
        """What puts files into this sandbox; `say` is told of what takes more than a second.

        What lies in the workspace already, where the person gave it from, is left there: on this machine that very
        file, even if it has changed since (an editor sends what it has not saved yet), elsewhere one of the same bytes.
        In the inbox nothing is replaced: another file of the same name gets a number, the same bytes are not put twice.
        """

        async def place(media: Media) -> str:
            workspace = (await sandbox.describe()).workspace
            lies = posixpath.relpath(media.origin, workspace) if media.origin.startswith(f"{workspace}/") else ""
            if lies and (await _is_file(sandbox, lies) if spec == "local" else await _holds(sandbox, lies, media.blob)):
                return lies
            async with self._turns[f"{spec} {workspace}"]:
                return await self._put(sandbox, media, say)

        return place

    async def _put(self, sandbox: Sandbox, media: Media, say: Callable[[str], None]) -> str:
        from angelia.service.files.transfers import in_words, watched

        name, blob = clean_name(media), media.blob
        for number in count(1):
            path = f"{FOLDER}/{numbered(name, number)}"
            try:
                await sandbox.stat(path)
            except NoSuchFile:
                break
            if await _holds(sandbox, path, blob):
                return path
        told = in_words(f"{name} is put into the sandbox", say)
        content = watched(self._blobs.chunks(blob.sha256), blob.size, told)
        await sandbox.put(path, content, size=blob.size, sha256=blob.sha256)
        return path


def clean_name(media: Media) -> str:
    """The name under which a file is put: never one that a command could take for an option.

    >>> clean_name(Media(BlobRef("ab12" * 16, 1, "image/png"), "image", "-rf/../-x.png"))
    '_-x.png'
    """
    name = file_name(media.name, _LONGEST)
    if not name:
        from mimetypes import guess_extension

        name = f"{media.media}-{media.blob.sha256[:8]}{guess_extension(media.blob.mime) or ''}"
    return f"_{name}" if name.startswith("-") else name


async def _is_file(sandbox: Sandbox, path: str) -> bool:
    try:
        return (await sandbox.stat(path)).kind is FileKind.FILE
    except (NoSuchFile, AccessRefused):
        return False


async def _holds(sandbox: Sandbox, path: str, blob: BlobRef) -> bool:
    """Whether these very bytes lie there."""
    try:
        found = await sandbox.stat(path)
        if found.kind is not FileKind.FILE or found.size != blob.size:
            return False
        digest = hashlib.sha256()
        async for chunk in sandbox.get(path, limit=blob.size):
            digest.update(chunk)
    except (NoSuchFile, AccessRefused):
        return False
    return digest.hexdigest() == blob.sha256
