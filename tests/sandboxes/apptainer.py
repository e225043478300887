"""An image for Apptainer, made here of busybox, as the folder and as the file that people have."""

import shutil
import subprocess
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
