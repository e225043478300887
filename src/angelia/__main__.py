"""The command line's entry point: `angelia …` and `python -P -m angelia …`."""

import gc
import os
import sys


def _forget_here() -> None:
    """Take the folder in which we were begun off the path, if nobody but `-m` or an empty entry of PYTHONPATH put it
    there, such as `$PYTHONPATH:/more` makes. A model works in it, and what is imported later would be what that wrote.
    """
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    unasked = (len(named) > 1 and "" in named) or (__name__ == "__main__" and not sys.flags.safe_path)
    try:
        here = os.getcwd()  # noqa: PTH109 - nothing is imported yet
    except OSError:  # it is gone
        return
    if unasked and here != os.path.dirname(os.path.dirname(__file__)) and not {here, "."} & {*named}:  # noqa: PTH120
        sys.path[:] = [one for one in sys.path if one not in ("", here)]


_forget_here()


def main() -> None:
    """Run one command and leave at once; nothing is left to tidy up that the store does not already hold."""
    gc.disable()  # start-up makes no cycles worth looking for; a long conversation switches it on again
    from angelia.faces.cli.main import run
    from angelia.faces.words.output import guard, open_streams

    open_streams()
    guard()
    os._exit(run(sys.argv[1:]))  # nothing waits to be written, and what was not taken would be refused once more


if __name__ == "__main__":
    main()
