"""A program of ours that opens what strangers sent: begun so that it has the system, its own group, and little else."""

import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from angelia.core.ids import sortable_id
from angelia.sandboxes.local.confinement import Confined, bubblewrap_program, confinement
from angelia.sandboxes.local.toolchains import SYSTEM

_MOST_PROCESSES = 16
"""Those that confine it, and itself."""
_BESIDE = 100_000_000
"""Bytes that those hold, and the kernel for them."""


def confined_prefix(places: Iterable[str]) -> tuple[str, ...]:
    """The words before its command line: no network, nothing but the system and `places`, all of it read-only, no
    home, no configuration of the machine, an empty /tmp; it ends with the thread that started it.

    It stays in the session in which `start_confined` begins it, so that one signal to that group ends all of it: while
    bubblewrap sets things up, its inner process does not yet end with the outer one.

    Empty where this machine cannot confine with bubblewrap: what it starts then has the limits that it sets itself.
    """
    if confinement() != Confined("bubblewrap"):
        return ()
    from angelia.sandboxes.local.bubblewrap import proc_and_dev

    return (
        bubblewrap_program(),
        *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL"),
        *_system(),
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"),
        *proc_and_dev(),
        *("--tmpfs", "/tmp"),  # noqa: S108 - its own
        *(word for place in _shown(places) for word in ("--ro-bind", place, place)),
        *("--chdir", "/"),
    )


def start_confined(argv: Sequence[str], stdin: int, memory: int) -> "subprocess.Popen[bytes]":
    """Start a program whose words begin with a `confined_prefix`; with all that it makes the kernel hold it has so many
    bytes of memory and some more, where there are control groups.

    Raises:
        OSError: it could not be started.
    """
    from angelia.sandboxes.local.command import gated
    from angelia.sandboxes.local.command_groups import may_be_had

    words, passed, gate = list(argv), list[int](), -1
    try:
        if words[0] == bubblewrap_program() and may_be_had():
            gate = gated(words, passed)
        process = subprocess.Popen(  # noqa: S603 - a fixed command line
            words,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"LANG": "C.UTF-8"},
            cwd="/",
            pass_fds=passed,
            start_new_session=True,
        )
    except OSError:
        if gate >= 0:
            os.close(gate)
        raise
    finally:
        for handle in passed:
            os.close(handle)
    if gate >= 0:
        threading.Thread(target=_hold, args=(process, gate, memory), name="group", daemon=True).start()
    return process


def _hold(process: "subprocess.Popen[bytes]", gate: int, memory: int) -> None:
    """Let it begin once it is in a group, and remove that with it."""
    from angelia.sandboxes.local.command_groups import GROUPS

    try:
        limits = {"memory.max": memory + _BESIDE, "pids.max": _MOST_PROCESSES}
        group = GROUPS.group(process.pid, f"medium-{sortable_id()}", limits)
    finally:
        os.close(gate)
    process.wait()
    if group:
        group.remove()


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
