"""What lies in the sandbox of Inspect AI is worked on in a folder of this machine, and brought back.

A sandbox of theirs may be a container anywhere; all that it certainly can is run a command and carry a file. So its
working folder comes as one archive, and goes back as one.
"""

import asyncio
import io
import sys
import tarfile
from pathlib import Path

from inspect_ai.util import ExecResult, SandboxEnvironment

from angelia.core.errors import BadInput


async def bring(box: SandboxEnvironment, folder: Path) -> None:
    """Copy the working folder of the sandbox to this one.

    Raises:
        BadInput: it is the root of a file system, or could not be packed or read; says what was said there. Or this
            Python unpacks nothing that others packed.
    """
    if not hasattr(tarfile, "data_filter"):
        version = ".".join(map(str, sys.version_info[:3]))
        raise BadInput(f"Python {version} cannot keep an archive from writing elsewhere.", then="Use 3.11.4 or newer.")
    where = (await _run(box, "pwd")).stdout.strip()
    if where == "/":
        raise BadInput("The sandbox works in /, which is not copied.", then="Give its image a WORKDIR.")
    archive = await _new_file(box)
    try:
        await _run(box, "tar", "cf", archive, ".")
        packed = await box.read_file(archive, text=False)
    finally:
        await box.exec(["rm", "-f", archive])
    await asyncio.to_thread(_unpacked, packed, folder)


async def take_back(box: SandboxEnvironment, folder: Path) -> None:
    """Make the working folder of the sandbox hold what this one holds, and nothing else.

    Raises:
        BadInput: it could not be unpacked there; says what was said.
    """
    archive = await _new_file(box)
    try:
        await box.write_file(archive, await asyncio.to_thread(_packed, folder))
        await _run(box, "sh", "-c", f"find . -mindepth 1 -maxdepth 1 -exec rm -rf {{}} + && tar xf {archive}")
    finally:
        await box.exec(["rm", "-f", archive])


async def _new_file(box: SandboxEnvironment) -> str:
    return (await _run(box, "mktemp")).stdout.strip()


async def _run(box: SandboxEnvironment, *command: str) -> ExecResult[str]:
    came = await box.exec(list(command))
    if not came.success:
        raise BadInput(f"`{command[0]}` failed in the sandbox ({came.returncode}).", came.stderr.strip()[:500])
    return came


def _packed(folder: Path) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        archive.add(folder, ".")
    return written.getvalue()


def _unpacked(packed: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
