"""The smallest system that commands can live in: busybox, and who it is."""

import shutil
import subprocess
from pathlib import Path


def make_root(root: Path) -> None:
    """Make it in a new folder."""
    for name in ("bin", "tmp", "root", "etc", "proc", "dev", "sys"):
        (root / name).mkdir(parents=True)
    busybox = shutil.which("busybox") or ""
    shutil.copy(busybox, root / "bin/busybox")
    for name in subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
    (root / "etc/os-release").write_text('PRETTY_NAME="Busybox of the tests"\n')
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
