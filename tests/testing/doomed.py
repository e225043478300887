"""A tiny program that writes before, between and after its crash points."""

import os
import sys
import threading
from pathlib import Path

from angelia.core.crash import crash_point


def main() -> None:
    """Append a line per step to the file named first; `thread` passes the points on another thread."""
    file = Path(sys.argv[1])

    def work() -> None:
        for step in range(2):
            crash_point("step.before")
            with file.open("a") as out:
                out.write(f"{step}\n")
            crash_point("step.after")

    if sys.argv[2:] == ["thread"]:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    else:
        work()
    sys.stdout.write(f"{sys.argv[0]} {sys.stdin.read()}")
    sys.stdout.flush()
    os._exit(3)
