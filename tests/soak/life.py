"""A life of Angelia's command line under a clock that jumps: `python -m tests.soak.life FILE FILES ARGUMENTS…`.

FILE holds the seconds by which this machine's clock is wrong, and is read at each look at the clock; FILES is how many
open files the process may have, 0 for as many as this one.
"""

import resource
import sys
import time
from pathlib import Path


def main() -> None:
    """Run it."""
    file, files, right = Path(sys.argv[1]), int(sys.argv[2]), time.time_ns
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    def wrong() -> int:
        return right() + int(file.read_text() or 0) * 1_000_000_000

    time.time_ns = wrong
    time.time = lambda: wrong() / 1e9
    sys.argv = ["angelia", *sys.argv[3:]]
    from angelia.__main__ import main as angelia  # after the clock

    angelia()


if __name__ == "__main__":
    main()
