"""An image that is a folder of this machine: built of its Dockerfile once, and again when a file of it is another."""

import asyncio
import hashlib
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from angelia.core.text import clean, one_line
from angelia.sandboxes.docker.engine import DaemonRefused, DockerEngine
from angelia.sandboxes.docker.pull import is_here
from angelia.sandboxes.port import SandboxMissing

Archive = tempfile.SpooledTemporaryFile[bytes]
"""In memory while it is small."""

_CHUNK = 1 << 20
_IN_MEMORY = 16_000_000


def is_folder(image: str) -> bool:
    """Whether an image is a folder: no name of one begins with a slash (distribution/reference, "Grammar").

    >>> is_folder("/home/me/task"), is_folder("python:3.12")
    (True, False)
    """
    return image.startswith("/")


async def built(engine: DockerEngine, folder: str, progress: Callable[[str], None]) -> str:
    """The name of the image of a folder, which tells its files: the same ones are not built twice.

    All files of the folder are sent, those of a `.dockerignore` too.

    Raises:
        SandboxMissing: it has no Dockerfile, cannot be read, or the daemon could not build it; says what it said.
        Unreachable: the daemon does not answer.
    """
    if not Path(folder, "Dockerfile").is_file():
        raise SandboxMissing(f"There is no Dockerfile in {folder}.", then="Name a folder with one, or an image.")
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as archive:
        try:
            digest = await asyncio.to_thread(_pack, Path(folder), archive)
        except OSError as error:
            raise SandboxMissing(f"{folder} cannot be read: {error.strerror or error}.") from error
        name = f"angelia-built:{digest}"
        if await is_here(engine, name):
            return name
        progress(f"the image of {folder} is being built")
        try:
            query = {"t": name, "rm": "1", "forcerm": "1"}
            async for line in engine.lines("/build", query, deed=f"build {folder}", archive=_pieces(archive)):
                if "error" in line:
                    raise _not_built(folder, str(line["error"]))
                if words := one_line(clean(str(line.get("stream", ""))), 200).strip():
                    progress(f"the image of {folder} is being built: {words}")
        except DaemonRefused as error:
            raise _not_built(folder, error.said) from error
    progress(f"the image of {folder} is here")
    return name


def _pack(folder: Path, archive: Archive) -> str:
    """All of a folder as an archive that is the same for the same files, and its digest."""
    with tarfile.open(fileobj=archive, mode="w") as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, path.relative_to(folder), recursive=False, filter=_told)
    archive.seek(0)
    return hashlib.file_digest(archive, "sha256").hexdigest()[:24]


def _told(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """What counts of a file: its name, its bits, its bytes; not whose it is, and since when."""
    return member.replace(mtime=0, uid=0, gid=0, uname="", gname="", deep=False)


async def _pieces(archive: Archive) -> AsyncIterator[bytes]:
    archive.seek(0)
    while piece := await asyncio.to_thread(archive.read, _CHUNK):
        yield piece


def _not_built(folder: str, why: str) -> SandboxMissing:
    return SandboxMissing(
        f"The image of {folder} could not be built: {one_line(clean(why), 500).strip().rstrip('.')}.",
        then=f"See that `docker build {folder}` works.",
    )
