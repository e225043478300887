"""Which folders outside the system a person's PATH needs, so that their tools run where the home is hidden."""

import os
from collections.abc import Iterator
from pathlib import Path

from angelia.sandboxes.confine import Share

SYSTEM = tuple(Path(path) for path in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"))
"""Read-only in every confinement, as is /etc."""

_HOLDERS = frozenset({"bin", "sbin", "shims", "scripts", "condabin"})
"""A PATH folder of such a name is part of something larger: `~/.cargo/bin` is of no use without `~/.cargo`."""

_COMPANIONS = {
    ".cargo": (".rustup",),
    ".local": (".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise"),
}
"""What else a toolchain beneath the home lives from."""

_INTERPRETERS = ("python", "python3", "node", "ruby")
"""Often links out of a virtual environment into a toolchain somewhere else."""


def tool_roots(path: str, home: Path, workspace: Path) -> tuple[Path, ...]:
    """The folders to share read-only, outermost first, none within another; `path` is the person's own PATH.

    Never the home itself or anything that contains it, nothing of the system (visible anyway), nothing within the
    workspace (visible anyway) and nothing below /mnt (the other system's PATH in WSL).
    """
    wanted: set[Path] = set()
    for folder in [*_folders(path), workspace / ".venv/bin", workspace / "venv/bin"]:
        wanted.update(_roots_of(folder, home))
        for program in _INTERPRETERS:
            if os.path.islink(folder / program):  # noqa: PTH114 - no error where nobody may look
                wanted.update(_roots_of((folder / program).resolve().parent, home))
    shown = [root for root in wanted if os.path.isdir(root) and not _visible(root, workspace)]  # noqa: PTH112 - as above
    shown.sort(key=lambda root: (len(root.parts), root))
    return tuple(root for at, root in enumerate(shown) if not any(root.is_relative_to(outer) for outer in shown[:at]))


def inner_path(path: str, tools: tuple[Path, ...], shares: tuple[Share, ...], workspace: Path) -> str:
    """The PATH of a confined command: of the person's own folders those it can see, then the system's."""
    seen = (*tools, *(share.path for share in shares), *SYSTEM, workspace)
    kept = [str(folder) for folder in _folders(path) if _within(folder, seen)]
    return os.pathsep.join(dict.fromkeys([*kept, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]))


def enterable(path: str) -> str:
    """A PATH without the folders that may not be entered: nothing can be found there, and a shell that comes past them
    says of a missing program that it is forbidden.
    """
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if _may_enter(folder))


def _may_enter(folder: str) -> bool:
    try:
        Path(folder, ".").stat()
    except PermissionError:
        return False
    except OSError:  # it is not there, yet
        return True
    return os.access(folder or ".", os.X_OK)


def _folders(path: str) -> list[Path]:
    return [Path(folder) for folder in path.split(os.pathsep) if folder.startswith("/")]


def _roots_of(folder: Path, home: Path) -> Iterator[Path]:
    parent = folder.parent
    if folder.name in _HOLDERS and parent != home / ".local" and not home.is_relative_to(parent):
        yield parent
    elif not home.is_relative_to(folder):
        yield folder
    for toolchain, companions in _COMPANIONS.items():
        if folder.is_relative_to(home / toolchain):
            yield from (home / companion for companion in companions)


def _visible(root: Path, workspace: Path) -> bool:
    return _within(root, (*SYSTEM, Path("/etc"), Path("/mnt"), workspace))


def _within(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a path leads to one of the roots or beneath it."""
    real = f"{os.path.realpath(path)}/"
    return any(real.startswith(f"{str(root).rstrip('/')}/") for root in roots)
