"""An image that is missing is fetched, with its progress told, and what went wrong told in full."""

import time
from collections.abc import Callable
from typing import Any

from angelia.sandboxes.docker.engine import DaemonRefused, DockerEngine
from angelia.sandboxes.port import SandboxMissing

EVERY = 1.0
"""Seconds between two words about the progress."""


async def pull(engine: DockerEngine, image: str, progress: Callable[[str], None]) -> None:
    """Fetch it.

    Raises:
        SandboxMissing: it cannot be had; says what the registry or the daemon said.
        Unreachable: the daemon does not answer.
    """
    name, _, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "latest")
    query = {"fromImage": image} if "@" in image else {"fromImage": name, "tag": tag}
    layers: dict[str, tuple[int, int]] = {}
    last = time.monotonic()
    progress(f"the image {image} is being fetched")
    try:
        async for line in engine.lines("/images/create", query, deed=f"fetch the image {image}"):
            if "error" in line:
                raise _not_had(image, str(line["error"]))
            _note(line, layers)
            if layers and time.monotonic() - last >= EVERY:
                last = time.monotonic()
                done, whole = (sum(pair[at] for pair in layers.values()) for at in (0, 1))
                progress(f"the image {image} is being fetched: {done / 1e6:.0f} of {whole / 1e6:.0f} MB")
    except DaemonRefused as error:
        raise _not_had(image, error.said) from error
    progress(f"the image {image} is here")


async def is_here(engine: DockerEngine, image: str) -> bool:
    """Whether it need not be fetched.

    Raises:
        Unreachable: the daemon does not answer.
    """
    try:
        await engine.call("GET", f"/images/{image}/json", deed="look at an image")
    except DaemonRefused as error:
        if error.status == 404:
            return False
        raise
    return True


def _note(line: dict[str, Any], layers: dict[str, tuple[int, int]]) -> None:
    """Bytes of one layer (API reference, "Create an image": `id`, `progressDetail`)."""
    detail = line.get("progressDetail") or {}
    if line.get("status") == "Downloading" and detail.get("total"):
        layers[str(line.get("id"))] = (int(detail.get("current", 0)), int(detail["total"]))


def _not_had(image: str, why: str) -> SandboxMissing:
    return SandboxMissing(
        f"The image {image} is not here, and cannot be fetched: {why.rstrip('.')}.",
        then=f"Check its name, and that `docker pull {image}` works (docker login, for a private one).",
    )
