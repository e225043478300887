"""A program of ours that opens what strangers sent: the words before it that leave it the system and little else."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from angelia.sandboxes.confine import Confined, bubblewrap_program, confinement
from angelia.sandboxes.toolchains import SYSTEM


def confined_prefix(folders: Iterable[str]) -> tuple[str, ...]:
    """The words before its command line: no network, nothing but the system and `folders`, all of it read-only, no
    home, no configuration of the machine, an empty /tmp; it ends with the thread that started it.

    Empty where this machine cannot confine with bubblewrap: what it starts then has the limits that it sets itself.
    """
    if confinement() != Confined("bubblewrap"):
        return ()
    return (
        bubblewrap_program(),
        *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--new-session"),
        *_system(),
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - its own
        *(word for folder in _shown(folders) for word in ("--ro-bind", folder, folder)),
        *("--chdir", "/"),
    )


def _system() -> Iterator[str]:
    for folder in SYSTEM:
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))


def _shown(folders: Iterable[str]) -> Iterator[str]:
    """Outermost first; what the system's folders show is not mounted again, and nothing that contains the home."""
    for folder in sorted(dict.fromkeys(folders), key=len):
        path = Path(folder)
        within = any(path.is_relative_to(system) for system in SYSTEM)
        if path.is_dir() and not within and not Path.home().is_relative_to(path):
            yield folder
