"""Angelia's command line in a process that may have few open files, as a login or a service manager begins it."""

import os
import resource
import sys

from angelia.__main__ import main as angelia

FEW = 256


def main() -> None:
    """Run it, and tell at its end how many files it may have then."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    ends = os._exit

    def telling(code: int) -> None:
        os.write(sys.stderr.fileno(), b"\n%d" % resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        ends(code)

    os._exit = telling  # type: ignore[assignment]  # it returns as little as the real one
    angelia()


if __name__ == "__main__":
    main()
