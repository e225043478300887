"""What a person may choose about containers, and where the daemon is."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from angelia.core.errors import ConfigError


class DockerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and looks of a container. 0 is no limit; `memory_mb` and `tmp_mb` are 1,000,000 bytes, `cpus` are cores.

    `workspace = "bind"` binds the workspace and a home of the conversation's own in; `"tmpfs"` keeps both in memory,
    and nothing of the person's is seen. `volumes` are further folders, `/here:/inside` or `/here:/inside:rw`.
    A container that nobody uses for `idle_minutes` ends by itself.
    """

    network: Literal["none", "bridge"] = "none"
    workspace: Literal["bind", "tmpfs"] = "bind"
    memory_mb: int = 4000
    cpus: float = 0.0
    processes: int = 1000
    tmp_mb: int = 1000
    volumes: tuple[str, ...] = ()
    idle_minutes: int = 15


class Volume(Struct, frozen=True):
    """A folder of this machine that a container sees."""

    outside: str
    inside: str
    writable: bool = False


def volumes(settings: DockerSettings) -> tuple[Volume, ...]:
    """The further folders.

    Raises:
        ConfigError: one is not written as it should be, or is not there.
    """
    return tuple(map(_volume, settings.volumes))


def _volume(text: str) -> Volume:
    match text.split(":"):
        case [outside, inside] if inside.startswith("/"):
            volume = Volume(os.path.expanduser(outside), inside)  # noqa: PTH111 - a string is wanted
        case [outside, inside, ("ro" | "rw") as how] if inside.startswith("/"):
            volume = Volume(os.path.expanduser(outside), inside, writable=how == "rw")  # noqa: PTH111
        case _:
            raise ConfigError(f"{text!r} is no volume.", then="Write /here:/inside, or /here:/inside:rw.")
    if not Path(volume.outside).is_absolute() or not Path(volume.outside).exists():
        raise ConfigError(f"The volume {text!r} names no folder of this machine.", then="Make it, or take it away.")
    return volume


def socket_of(environ: Mapping[str, str] = os.environ) -> str:
    """Where the daemon listens: `DOCKER_HOST`, else the first socket that is there, else where Docker's would be.

    Raises:
        ConfigError: `DOCKER_HOST` is not a Unix socket; folders can only be bound in on the same machine.
    """
    named = environ.get("DOCKER_HOST", "")
    if named:
        if not named.startswith("unix://"):
            raise ConfigError(
                f"DOCKER_HOST={named!r} is not a Unix socket.",
                "A daemon on another machine cannot bind this machine's folders in.",
                "Unset it, or set unix:///path/to/docker.sock.",
            )
        return named.removeprefix("unix://")
    own = environ.get("XDG_RUNTIME_DIR", "")
    places = ["/var/run/docker.sock", *([f"{own}/docker.sock", f"{own}/podman/podman.sock"] if own else [])]
    return next((place for place in places if Path(place).exists()), places[0])
