"""What makes the gateway start with the machine: a systemd user unit, or a launchd agent."""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

from msgspec import Struct


class ServiceUnit(Struct, frozen=True):
    """A file, where it belongs, and the commands that make it count."""

    path: Path
    text: str
    then: tuple[str, ...]


def unit_for(platform: str, person: Path, home: Path, python: str = sys.executable) -> ServiceUnit:
    """The unit for `platform` (as `sys.platform` names it); `person` is the user's home, `home` Angelia's."""
    return _launchd(person, home, python) if platform == "darwin" else _systemd(person, home, python)


def _systemd(person: Path, home: Path, python: str) -> ServiceUnit:
    """See systemd.service(5) and systemd.exec(5)."""
    text = f"""[Unit]
Description=Angelia's gateway to chat networks
After=network-online.target
Wants=network-online.target

[Service]
ExecStart="{python}" -m angelia gateway
Environment="ANGELIA_HOME={home}"
EnvironmentFile=-{home}/gateway.env
Restart=always
RestartSec=5
TimeoutStopSec=60
KillMode=mixed

[Install]
WantedBy=default.target
"""
    path = person / ".config/systemd/user/angelia.service"
    then = (
        "systemctl --user daemon-reload",
        "systemctl --user enable --now angelia",
        "loginctl enable-linger    # so that it runs while nobody is logged in",
    )
    return ServiceUnit(path, text, then)


def _launchd(person: Path, home: Path, python: str) -> ServiceUnit:
    """See launchd.plist(5)."""
    words = "".join(f"<string>{escape(word)}</string>" for word in (python, "-m", "angelia", "gateway"))
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>angelia.gateway</string>
<key>ProgramArguments</key><array>{words}</array>
<key>EnvironmentVariables</key><dict><key>ANGELIA_HOME</key><string>{escape(str(home))}</string></dict>
<key>RunAtLoad</key><true/>
<key>KeepAlive</key><true/>
</dict></plist>
"""
    path = person / "Library/LaunchAgents/angelia.gateway.plist"
    return ServiceUnit(path, text, (f"launchctl bootstrap gui/$(id -u) {path}",))
