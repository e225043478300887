"""Stands in for systemd, which runs on no test machine, as far as the gateway's unit needs it.

It reads the unit file, as systemd.exec(5) and systemd.service(5) have it, and runs one process out of it.
"""

import os
import select
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

PERSON = Path(os.environ["HOME"])
UNIT = PERSON / ".config/systemd/user/angelia.service"
STATE = PERSON / "systemd"
PID, LOG, ENABLED = STATE / "pid", STATE / "log", STATE / "enabled"


def settings() -> dict[str, list[str]]:
    """The lines of the unit, by their names."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def environment(unit: dict[str, list[str]]) -> dict[str, str]:
    """What the process gets: nothing of ours, as with systemd, but what the unit and its file say."""
    lines = [word for value in unit["Environment"] for word in shlex.split(value)]
    for name in unit["EnvironmentFile"]:
        path = Path(name.removeprefix("-"))
        lines += path.read_text().splitlines() if path.exists() else []
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {"HOME": str(PERSON), "PATH": "/usr/bin:/bin", **{name: value for name, _, value in pairs}}


def stop() -> None:
    """TERM, and its end waited for."""
    with suppress(FileNotFoundError, ProcessLookupError):
        process = os.pidfd_open(int(PID.read_text()))
        signal.pidfd_send_signal(process, signal.SIGTERM)
        select.select([process], [], [])
        os.close(process)
    PID.unlink(missing_ok=True)


def start() -> None:
    """Begin it, in a session of its own."""
    unit = settings()
    with LOG.open("ab") as log:
        process = subprocess.Popen(
            shlex.split(unit["ExecStart"][0]), env=environment(unit), stdout=log, stderr=log, start_new_session=True
        )
    PID.write_text(str(process.pid))


def main() -> int:
    """One command: the program's name, then its words."""
    STATE.mkdir(exist_ok=True)
    name, *words = sys.argv[1:]
    if name == "journalctl":
        sys.stdout.write(LOG.read_text())
        return 0
    match [word for word in words if not word.startswith("-")]:
        case ["daemon-reload"]:
            return 0
        case ["enable", "angelia"]:
            ENABLED.touch()
            start()
        case ["restart", "angelia"]:
            stop()
            start()
        case ["stop", "angelia"]:
            stop()
        case ["disable", "angelia"]:
            ENABLED.unlink()
            stop()
        case ["is-enabled", "angelia"]:
            sys.stdout.write("enabled\n" if ENABLED.exists() else "disabled\n")
        case other:
            sys.stderr.write(f"not known here: {other}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
