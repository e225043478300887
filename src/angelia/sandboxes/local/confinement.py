"""Whether this machine can confine commands, and what a confined command gets to see."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct


class Confined(Struct, frozen=True):
    """Commands are confined; `by` names the program that does it."""

    by: str


class Unconfined(Struct, frozen=True):
    """Commands are not confined: why, and how to mend it."""

    why: str
    mend: str


Confinement = Confined | Unconfined


READ_ONLY = "/skills"
"""Where confined commands on Linux see, and cannot change, what was put there for them."""


class Share(Struct, frozen=True):
    """A further place that confined commands see, read-only unless `writable`."""

    path: Path
    writable: bool = False


class ConfinedView(Struct, frozen=True):
    """What a confined command sees, besides the system's own folders, which it can only read.

    `workspace` is read-write at its own path. `tools` are toolchains, read-only. In place of the person's `home`
    there is the empty folder `private_home`, in place of /tmp `private_tmp`. Each of `hidden`, wherever it would
    show through, is an empty folder or a file that cannot be opened. Each of `fixed`, start-up files that lie in the
    workspace, can only be read. All paths are absolute and without links. `watched`: the workspace is read-only there,
    and what commands change in it is changed for them (`sandboxes.undo`). `read_only`, once it is there, is seen at
    `READ_ONLY`.
    """

    workspace: Path
    home: Path
    private_home: Path
    private_tmp: Path
    tools: tuple[Path, ...] = ()
    shares: tuple[Share, ...] = ()
    hidden: tuple[Path, ...] = ()
    fixed: tuple[Path, ...] = ()
    watched: bool = False
    read_only: Path | None = None


_TRIES = 3
"""A mount that somebody takes away while bubblewrap binds it makes one trial fail, and says nothing of the kernel."""
_TRIAL_S = 20


@cache
def confinement() -> Confined | Unconfined:
    """Try it once, for real, and remember: a program that is installed may still be forbidden by the kernel."""
    match sys.platform:
        case "linux":
            return _try_bubblewrap()
        case "darwin":
            return _try_sandbox_exec()
        case other:
            return Unconfined(f"no confinement is known for {other}", 'set confine = "off", or use another sandbox')


def bubblewrap_program() -> str:
    """Where bubblewrap is, empty when it is not installed; the system's own folders first."""
    return _program("bwrap")


SANDBOX_EXEC = "/usr/bin/sandbox-exec"


def _program(name: str) -> str:
    folders = ["/usr/bin", "/usr/local/bin", *os.environ.get("PATH", "").split(os.pathsep)]
    found = (str(Path(folder, name)) for folder in folders if folder.startswith("/"))
    return next((path for path in found if os.access(path, os.X_OK)), "")


def _try_bubblewrap() -> Confined | Unconfined:
    program = bubblewrap_program()
    if not program:
        return Unconfined(
            "bubblewrap is not installed",
            "install it: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap",
        )
    everything = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL")
    said: str | None = ""
    for _ in range(_TRIES):
        said = trial_complaint([program, "--unshare-all", "--die-with-parent", *everything, "true"])
        if said is None:
            return Confined("bubblewrap")
    return Unconfined(f"the kernel does not let bubblewrap confine anything ({said})", _mend_bubblewrap())


def _mend_bubblewrap() -> str:
    restricted = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if restricted.exists() and restricted.read_text().strip() == "1":
        return (
            "allow bubblewrap its user namespaces with an AppArmor profile, "
            "or run: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return 'this is a container: let it make namespaces, or, if it is wall enough, set confine = "off"'
    return "allow unprivileged user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1"


def _try_sandbox_exec() -> Confined | Unconfined:
    said = trial_complaint([SANDBOX_EXEC, "-p", "(version 1)(allow default)", "/usr/bin/true"])
    if said is None:
        return Confined("sandbox-exec")
    return Unconfined(f"sandbox-exec does not work here ({said})", 'set confine = "off", or use another sandbox')


def trial_complaint(argv: Sequence[str], seconds: float = _TRIAL_S) -> str | None:
    """What a trial run says against it, None when it went well. One that is not done after so many seconds is ended
    with all that it began.
    """
    try:
        trial = subprocess.Popen(  # noqa: S603 - a fixed command line
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        return str(error)
    with trial:
        try:
            said = trial.communicate(timeout=seconds)[1].decode(errors="replace").strip()
        except subprocess.TimeoutExpired as error:
            os.killpg(trial.pid, signal.SIGKILL)  # its inner process does not end with the outer one yet
            return str(error)
    return None if trial.returncode == 0 else said or f"status {trial.returncode}"
