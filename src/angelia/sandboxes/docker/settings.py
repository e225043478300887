"""What a person may choose about containers, and where the daemon is."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from angelia.core.amounts import Amount, Count
from angelia.core.errors import ConfigError


class DockerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and looks of a container. 0 is no limit; `memory_mb` and `tmp_mb` are 1,000,000 bytes, `cpus` are cores.

    `workspace = "bind"` binds the workspace and a home of the conversation's own in; `"tmpfs"` keeps both in memory,
    and nothing of the person's is seen; `"image"` works in the image's own folder, as the image's own user, and all of
    it can be written, until the container goes. `volumes` are further folders, `/here:/inside` or `/here:/inside:rw`,
    and lie beside what is bound in. A container that nobody uses for `idle_minutes` ends by itself. `socket` is the
    daemon's, Docker's or Podman's; without it `DOCKER_HOST` says, else the first that is there.
    """

    socket: str = ""
    network: Literal["none", "bridge"] = "none"
    workspace: Literal["bind", "tmpfs", "image"] = "bind"
    memory_mb: Count = 4000
    cpus: Amount = 0.0
    processes: Count = 1000
    tmp_mb: Count = 1000
    volumes: tuple[str, ...] = ()
    idle_minutes: Count = 60

    @property
    def outlives_container(self) -> bool:
        """Whether workspace and home are folders of this machine, so that they stay when the container goes."""
        return self.workspace == "bind"


def socket_of(settings: DockerSettings, environ: Mapping[str, str] = os.environ) -> str:
    """Where the daemon listens: as set, else `DOCKER_HOST`, else the first socket there is, else Docker's own place.

    Raises:
        ConfigError: what is named is not a Unix socket; folders can only be bound in on the same machine.
    """
    named = settings.socket or environ.get("DOCKER_HOST", "")
    if named.startswith("/"):
        return named
    if named:
        if not named.startswith("unix://"):
            raise ConfigError(
                f"{named!r} is not a Unix socket.",
                "A daemon on another machine cannot bind this machine's folders in.",
                "Set socket under [sandbox.docker], or DOCKER_HOST, to unix:///path/to/the.sock.",
            )
        return named.removeprefix("unix://")
    return next((place for place in _places(environ) if Path(place).exists()), _DOCKER)


_DOCKER = "/var/run/docker.sock"


def _places(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Docker's, the person's own Docker's and Podman's, the machine's Podman's (podman-system-service(1))."""
    own = environ.get("XDG_RUNTIME_DIR", "") or f"/run/user/{os.getuid()}"
    return (_DOCKER, f"{own}/docker.sock", f"{own}/podman/podman.sock", "/run/podman/podman.sock")
