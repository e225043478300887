"""What the model is told about this machine as a sandbox."""

import os
from pathlib import Path

from angelia.sandboxes.local.confinement import Confined, Confinement
from angelia.sandboxes.port import Description

WORTH_A_WORD = (
    *("git", "python3", "node", "npm", "uv", "cargo", "go", "gcc", "make", "docker"),
    *("rg", "jq", "ffmpeg", "pandoc", "curl"),
)
"""Programs that a model is told of where they are."""


def describe(workspace: Path, confinement: Confinement, path: str, limits: str) -> Description:
    """Everything a model needs to know before its first command; `path` is the commands' own PATH; `limits`
    are those of confined ones, empty for none.
    """
    found = [name for name in WORTH_A_WORD if _on_path(name, path)]
    match confinement:
        case Confined():
            confined = True
            notes: tuple[str, ...] = (
                "Besides the workspace, /tmp and an empty home can be written; both go with this conversation.",
                "What should stay, or be sent, belongs into the workspace.",
                ".git/hooks and .git/config are read-only.",
                *([limits] if limits else []),
                "Reach `network` is HTTP(S) to public hosts, by the proxy in HTTP_PROXY: no DNS, ping, UDP or ssh.",
            )
        case _:
            confined = False
            notes = (f"Commands are not confined: {confinement.why}.",)
    return Description(
        name="local",
        system=_system(),
        workspace=str(workspace),
        confined=confined,
        network="off until granted" if confined else "on",
        always_networked=not confined,
        limits_hosts=confined,
        notes=(
            *notes,
            "What a command leaves in the background ends with it.",
            f"Programs found: {', '.join(found) or 'nothing beyond the basics'}.",
        ),
    )


def _on_path(name: str, path: str) -> bool:
    return any(os.access(f"{folder}/{name}", os.X_OK) for folder in path.split(os.pathsep) if folder)


def _system() -> str:
    """Such as `Debian GNU/Linux 12 (bookworm), x86_64` (os-release(5))."""
    machine = os.uname()
    name = f"{machine.sysname} {machine.release}"
    try:
        for line in Path("/etc/os-release").read_text().splitlines():
            if line.startswith("PRETTY_NAME="):
                name = line.partition("=")[2].strip("\"'")
    except OSError:
        pass  # macOS has no such file, and the kernel's name says enough there
    return f"{name}, {machine.machine}"
