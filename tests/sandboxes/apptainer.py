"""An image for Apptainer, made here of busybox, as the folder and as the file that people have; and a life in it."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from .rootfs import make_root


class Images(Struct, frozen=True):
    """The same image twice."""

    folder: Path
    file: Path


@contextmanager
def images() -> Iterator[Images]:
    """Build both."""
    program = shutil.which("apptainer") or shutil.which("singularity") or ""
    with TemporaryDirectory(prefix="apptainer") as name:
        made = Images(Path(name) / "image", Path(name) / "image.sif")
        make_root(Path(name) / "root")
        for words in (["--sandbox", str(made.folder)], [str(made.file)]):
            subprocess.run([program, "build", *words, f"{name}/root"], check=True, capture_output=True)
        yield made


LIFE = """
import asyncio, pathlib, sys
from angelia.sandboxes.apptainer.sandbox import ApptainerSandbox
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Command

async def main(folder, image, line):
    place = SandboxContext("one", str(folder / "work"), folder / "own", folder / "own/run")
    sandbox = ApptainerSandbox(image, place)
    running = await sandbox.start(Command(shell=line))
    async for chunk in running.output():
        print(chunk.decode(), end="", flush=True)

asyncio.run(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
"""


async def live_and_be_killed(folder: Path, image: Path, line: str) -> None:
    """A process of ours runs `line` in the instance, and is killed once the command has said `ready`."""
    words = (sys.executable, "-c", LIFE, str(folder), str(image), line)
    life = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert life.stdout is not None
    assert await life.stdout.readline() == b"ready\n"
    life.send_signal(signal.SIGKILL)
    await life.wait()
