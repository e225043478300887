"""How much memory this process takes at most from a moment on."""

import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc/self")


class Peak:
    """Begins to watch when it is made."""

    def __init__(self) -> None:
        """Garbage is collected first, and the kernel's high-water mark set back (proc(5), `clear_refs`)."""
        gc.collect()
        with suppress(OSError):  # without it, an earlier peak hides a later one, and less is seen
            (_PROC / "clear_refs").write_text("5")
        self._before = _most()

    def grown(self) -> int:
        """Bytes beyond what was taken when the watch began, at the highest."""
        return _most() - self._before


def _most() -> int:
    """`VmHWM` where there is one (kB), else getrusage(2), which never sinks (kB on Linux, bytes on macOS)."""
    with suppress(OSError):
        for line in (_PROC / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
