"""The command line's entry point: `angelia …` and `python -m angelia …`."""

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run one command and leave at once; nothing is left to tidy up that the store does not already hold."""
    gc.disable()  # start-up makes no cycles worth looking for; a long conversation switches it on again
    from angelia.faces.cli.main import run
    from angelia.faces.words.output import guard

    guard()
    code = run(sys.argv[1:])
    with suppress(BrokenPipeError):  # whoever read has gone; the exit code says so already
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
