"""A confined command on Linux: the options that make bubblewrap show it a view and nothing else.

Every mount costs 0.1 to 0.2 ms, so there are few. Order matters: a later mount covers an earlier one.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from angelia.sandboxes.local.confinement import READ_ONLY, ConfinedView, Share
from angelia.sandboxes.local.git_guard import git_guard, repositories
from angelia.sandboxes.local.startup_guard import startup_guard
from angelia.sandboxes.local.toolchains import SYSTEM
from angelia.sandboxes.shared.kernel_settings import kernel_settings

_FURTHER_SYSTEM = (Path("/var/lib/ca-certificates"),)
"""Where SUSE keeps the certificates that /etc/ssl points to."""


class BoundMount(Struct, frozen=True):
    """A mount of the person's side, and the hidden places that may show through it."""

    mount: tuple[str, ...]
    covers: tuple[str, ...] = ()


class Fixed(Struct, frozen=True):
    """What is looked up once for a sandbox, so that a command only has to look whether hidden places exist."""

    view: ConfinedView
    system: tuple[str, ...]
    private_in_etc: tuple[str, ...]
    places: tuple[BoundMount, ...]
    repositories: tuple[Path, ...]


def look_up(view: ConfinedView) -> Fixed:
    """Look it up; some milliseconds."""
    return Fixed(
        view=view,
        system=tuple(_system()),
        private_in_etc=private_in_etc(),
        places=tuple(_places(view)),
        repositories=() if view.watched else repositories(view.workspace),
    )


def options(fixed: Fixed, *, cwd: str, env: Mapping[str, str]) -> list[str]:
    """Everything between `bwrap` and the command.

    `--unshare-all` takes away network, processes, IPC, host name and cgroups (how a command gets a network is in
    `egress.namespace`); `--die-with-parent` ends the command with the thread that started it; the variables are
    options, not bubblewrap's own environment, lest `LD_PRELOAD` reaches bubblewrap itself, which runs outside.
    """
    mounts = [
        *fixed.system,
        *_covered(fixed.private_in_etc),
        *proc_and_dev(),
        *("--bind", str(fixed.view.private_tmp), "/tmp", "--symlink", "../tmp", "/var/tmp"),  # noqa: S108 - its own
        *(word for place in fixed.places for word in (*place.mount, *_covered(place.covers))),
        *_handed(fixed.view.read_only),
        *git_guard(() if fixed.view.watched else dict.fromkeys([fixed.view.workspace, *fixed.repositories])),
    ]
    return [
        *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL"),
        *mounts,
        *_read_only_covers(mounts),
        *("--chdir", cwd),
        *(word for name, value in env.items() for word in ("--setenv", name, value)),
    ]


def _handed(folder: Path | None) -> tuple[str, ...]:
    """What was put there for commands to read; nothing until something was."""
    there = folder is not None and os.path.isdir(folder)  # noqa: PTH112 - ten times faster, on the path of each command
    return ("--ro-bind", str(folder), READ_ONLY) if there else ()


def _read_only_covers(mounts: list[str]) -> Iterator[str]:
    """What is written to an empty folder in place of another would be gone, and nobody would be told: it fails.

    Last of all mounts, since some may have to be made within.
    """
    for folder in dict.fromkeys(at for word, at in pairwise(mounts) if word == "--tmpfs"):
        yield from ("--remount-ro", folder)


def proc_and_dev() -> tuple[str, ...]:
    """`/proc` and `/dev` of its own. bubblewrap covers the kernel's settings there only where their folder is writable,
    and the folder `sys` is nobody's to write, while the files in it are root's.
    """
    settings = (word for path in kernel_settings() for word in ("--ro-bind", path, path))
    return ("--proc", "/proc", "--dev", "/dev", *settings)


def private_in_etc() -> tuple[str, ...]:
    """The topmost entries of /etc that not everybody may read but we can: password hashes, host keys, and the like.

    Without root there are next to none; with root, who reads everything, they have to be covered.
    """
    return tuple(path for path in _not_for_all("/etc") if os.access(path, os.R_OK))


def _not_for_all(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry in found if not entry.is_symlink()]
    except OSError:
        return  # not for us either
    for entry in entries:
        inner = entry.is_dir(follow_symlinks=False)
        needed = stat.S_IROTH | stat.S_IXOTH if inner else stat.S_IROTH
        with suppress(FileNotFoundError):  # gone since the folder was read
            if entry.stat(follow_symlinks=False).st_mode & needed != needed:
                yield entry.path
            elif inner:
                yield from _not_for_all(entry.path)


def _system() -> Iterator[str]:
    for folder in SYSTEM:
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for folder in (Path("/etc"), *(place for place in _FURTHER_SYSTEM if place.is_dir())):
        yield from ("--ro-bind", str(folder), str(folder))


def _places(view: ConfinedView) -> Iterator[BoundMount]:
    """Outermost first; what is hidden is covered again after every mount that would uncover it."""
    if not view.home.is_relative_to(view.workspace) and view.home != Path("/"):
        yield BoundMount(("--bind", str(view.private_home), str(view.home)))
    hidden = [(str(path), os.path.realpath(path)) for path in view.hidden]
    mounts = dict.fromkeys(view.tools, "--ro-bind-try")
    mounts |= {share.path: "--bind-try" if share.writable else "--ro-bind-try" for share in view.shares}
    mounts[view.workspace] = "--ro-bind" if view.watched else "--bind"
    for place in sorted(mounts, key=lambda place: (len(place.parts), place)):
        covers = [path for path, real in hidden if _within(path, str(place)) or _within(real, str(place))]
        # Before the covers, and before what keeps Git: both would be uncovered by a mount of a folder that holds them.
        fixed = startup_guard(place, view.fixed) if place == view.workspace and not view.watched else ()
        kept = (word for share in fixed for word in (_bind(share), str(share.path), str(share.path)))
        yield BoundMount((mounts[place], str(place), str(place), *kept), tuple(covers))


def _bind(share: Share) -> str:
    return "--bind-try" if share.writable else "--ro-bind-try"


def _within(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def _covered(paths: Iterable[str]) -> Iterator[str]:
    """An empty folder in place of a folder; in place of a file a device on a mount without devices: EACCES."""
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110 - strings are ten times faster here, on the path of each command
            continue
        real = os.path.realpath(path)
        if os.path.isdir(real):  # noqa: PTH112
            yield from ("--tmpfs", real)
        else:
            yield from ("--ro-bind-try", "/dev/null", real)
