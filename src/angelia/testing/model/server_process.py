"""The scripted model server in a process of its own, for tests and measurements that cannot share an event loop."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def model_server_process(*options: str) -> Iterator[str]:
    """Run `python -P -m angelia.testing.model` with these options; gives its root URL, ends it afterwards.

    Raises:
        AssertionError: it complained about a request, or could not start.
    """
    argv = [sys.executable, "-P", "-m", "angelia.testing.model", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603 - our own
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().strip()
        try:
            yield url
        finally:
            process.stdin.close()
            said = process.stderr.read()
    if said or process.returncode:
        raise AssertionError(f"The model server ended with {process.returncode} and said:\n{said}")
