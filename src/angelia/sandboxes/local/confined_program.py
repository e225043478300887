"""A program of ours that opens what strangers sent: the words before it that leave it the system and little else."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from angelia.sandboxes.local.bubblewrap import proc_and_dev
from angelia.sandboxes.local.confinement import Confined, bubblewrap_program, confinement
from angelia.sandboxes.local.toolchains import SYSTEM


def confined_prefix(places: Iterable[str]) -> tuple[str, ...]:
    """The words before its command line: no network, nothing but the system and `places`, all of it read-only, no
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
        *proc_and_dev(),
        *("--tmpfs", "/tmp"),  # noqa: S108 - its own
        *(word for place in _shown(places) for word in ("--ro-bind", place, place)),
        *("--chdir", "/"),
    )


def _system() -> Iterator[str]:
    for folder in SYSTEM:
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))


def _shown(places: Iterable[str]) -> Iterator[str]:
    """Outermost first; nothing that is shown already, and nothing that contains the home."""
    shown = list(SYSTEM)
    for place in sorted({Path(place) for place in places}, key=lambda place: len(place.parts)):
        within = any(place.is_relative_to(outer) for outer in shown)
        if place.exists() and not within and not Path.home().is_relative_to(place):
            shown.append(place)
            yield str(place)
