"""Where the tests of sandboxes at Modal go: to a service of their own on loopback, or to the real one if you say so."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from .modal_world import KNOWN

REAL = "ANGELIA_TEST_MODAL"
"""Set to an image, such as `python:3.12-slim`, these tests use your account at Modal."""

_TOKEN = "ak-tests"


class Cloud(Struct, frozen=True):
    """`image` can be had there; `environ` leads the SDK there."""

    image: str
    environ: Mapping[str, Any]


@contextmanager
def cloud() -> Iterator[Cloud]:
    """Start the service, and lead this process's SDK to it."""
    if image := os.environ.get(REAL):
        yield Cloud(image, {})
        return
    if os.environ.get("MODAL_TOKEN_ID") == _TOKEN:  # the SDK keeps to the service that it was led to first
        yield Cloud(KNOWN, {name: value for name, value in os.environ.items() if name.startswith("MODAL_")})
        return
    with TemporaryDirectory(prefix="modal") as folder:
        words = (sys.executable, "-m", "tests.sandboxes.modal_service", folder)
        service = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert service.stdout is not None
        assert service.stdin is not None
        port = service.stdout.readline().decode().strip()
        environ = {
            "MODAL_SERVER_URL": f"http://127.0.0.1:{port}",
            "MODAL_TOKEN_ID": _TOKEN,
            "MODAL_TOKEN_SECRET": "as-tests",
            "MODAL_CONFIG_PATH": f"{folder}/none",
        }
        os.environ.update(environ)
        try:
            yield Cloud(KNOWN, environ)
        finally:
            service.stdin.close()  # the word to end; its output is not waited for: a stray child may hold it
            service.wait(120)
            service.stdout.close()
