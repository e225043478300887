"""What makes the gateway start with the machine: a systemd unit of the user or of the system, or a launchd agent."""

import os
import pwd
import shlex
from pathlib import Path
from xml.sax.saxutils import escape

from msgspec import Struct

Command = tuple[str, ...]

OURS = "Written by `angelia gateway install`, which may write it anew"
"""What a file of ours says in its first lines."""
_NAME = "angelia"
_LABEL = "angelia.gateway"


class ServiceUnit(Struct, frozen=True):
    """A file, where it belongs, and the commands that make it count, ask about it and take it back.

    `hint` is what a person may want to do besides; empty for nothing.
    """

    kind: str
    path: Path
    text: str
    begin: tuple[Command, ...]
    restart: Command
    stop: Command
    ask: Command
    logs: Command
    follow: Command
    end: tuple[Command, ...]
    after: tuple[Command, ...] = ()
    hint: str = ""


def unit_for(platform: str, person: Path, home: Path, python: Path, *, system: bool = False) -> ServiceUnit:
    """The unit for `platform` (as `sys.platform` names it); `person` is the user's home, `home` Angelia's.

    One of the `system` is systemd's alone: it runs as whoever owns `home`.
    """
    if platform == "darwin":
        return _launchd(person, home, python)
    return _systemd_system(home, python) if system else _systemd_user(person, home, python)


def installed_unit(platform: str, person: Path, home: Path) -> ServiceUnit | None:
    """The unit of this home that is on this machine, if there is one."""
    for system in (False, True):
        unit = unit_for(platform, person, home, Path("python"), system=system)
        if unit.path.exists() and f"{home}/gateway.env" in (text := unit.path.read_text()) and OURS in text:
            return unit
    return None


def _systemd_user(person: Path, home: Path, python: Path) -> ServiceUnit:
    """See systemd.service(5), systemd.exec(5), loginctl(1). `RestartSteps` is of 254; older ones pass it over."""
    name = pwd.getpwuid(os.getuid()).pw_name
    refused = f"where that is refused: sudo loginctl enable-linger {name}"
    hint = f"loginctl enable-linger    # so that it runs while nobody is logged in; {refused}"
    path = person / f".config/systemd/user/{_NAME}.service"
    return _systemd("a systemd user unit", path, _text(home, python, "default.target"), ("--user",), hint)


def _systemd_system(home: Path, python: Path) -> ServiceUnit:
    owner = pwd.getpwuid(home.stat().st_uid).pw_name if home.exists() else pwd.getpwuid(os.getuid()).pw_name
    text = _text(home, python, "multi-user.target", f"User={owner}\nUMask=0077\nDelegate=cpu memory pids\n")
    return _systemd("a systemd system unit", Path(f"/etc/systemd/system/{_NAME}.service"), text, (), "")


def _text(home: Path, python: Path, target: str, more: str = "") -> str:
    return f"""# {OURS}.
[Unit]
Description=Angelia's gateway to chat networks
After=network-online.target
Wants=network-online.target

[Service]
ExecStart="{python}" -P -m angelia gateway
Environment="ANGELIA_HOME={home}"
EnvironmentFile=-{home}/gateway.env
{more}Restart=always
RestartSec=5
RestartSteps=8
RestartMaxDelaySec=300
TimeoutStopSec=60
KillMode=mixed

[Install]
WantedBy={target}
"""


def _systemd(kind: str, path: Path, text: str, scope: Command, hint: str) -> ServiceUnit:
    control = ("systemctl", *scope)
    journal = ("journalctl", *scope, "--unit", _NAME, "--no-pager", "--lines", "100")
    return ServiceUnit(
        kind=kind,
        path=path,
        text=text,
        begin=((*control, "daemon-reload"), (*control, "enable", "--now", _NAME)),
        restart=(*control, "restart", _NAME),
        stop=(*control, "stop", _NAME),
        ask=(*control, "is-enabled", _NAME),
        logs=journal,
        follow=(*journal, "--follow"),
        end=((*control, "disable", "--now", _NAME),),
        after=((*control, "daemon-reload"),),
        hint=hint,
    )


def _launchd(person: Path, home: Path, python: Path) -> ServiceUnit:
    """See launchd.plist(5), launchctl(1). A shell reads `gateway.env`, for which launchd has no key."""
    environment = shlex.quote(f"{home}/gateway.env")
    line = f"set -a; [ -f {environment} ] && . {environment}; exec {shlex.quote(str(python))} -P -m angelia gateway"
    words = "".join(f"<string>{escape(word)}</string>" for word in ("/bin/sh", "-c", line))
    log = f"{home}/gateway.log"
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- {OURS}. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>{_LABEL}</string>
<key>ProgramArguments</key><array>{words}</array>
<key>EnvironmentVariables</key><dict><key>ANGELIA_HOME</key><string>{escape(str(home))}</string></dict>
<key>RunAtLoad</key><true/>
<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
<key>StandardOutPath</key><string>{escape(log)}</string>
<key>StandardErrorPath</key><string>{escape(log)}</string>
</dict></plist>
"""
    path = person / f"Library/LaunchAgents/{_LABEL}.plist"
    domain = f"gui/{os.getuid()}"
    return ServiceUnit(
        kind="a launchd agent",
        path=path,
        text=text,
        begin=(("launchctl", "bootstrap", domain, str(path)),),
        restart=("launchctl", "kickstart", "-k", f"{domain}/{_LABEL}"),
        stop=("launchctl", "kill", "TERM", f"{domain}/{_LABEL}"),
        ask=("launchctl", "print-disabled", domain),
        logs=("tail", "-n", "100", log),
        follow=("tail", "-n", "100", "-f", log),
        end=(("launchctl", "bootout", f"{domain}/{_LABEL}"),),
    )
