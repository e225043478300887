"""`gateway.env` in the home: the keys of the environment that a service needs and would not have."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from angelia.service.settings.config_file import write_private

_HEAD = """\
# Variables of the gateway when it runs as a service (systemd: EnvironmentFile). Only you may read this file.
# One NAME=value on a line; `angelia setup` adds to it, and changes no line of yours.
"""


def gateway_env(home: Path) -> Path:
    """Where it is."""
    return home / "gateway.env"


def keep_variables(home: Path, environ: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Write those of these variables that are set and not in the file already; the names that were written."""
    path = gateway_env(home)
    before = path.read_text("utf-8") if path.exists() else _HEAD
    known = {line.partition("=")[0].strip() for line in before.splitlines()}
    wanted = {name: environ[name] for name in dict.fromkeys(names) if environ.get(name) and name not in known}
    if wanted:
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in wanted.items()]
        write_private(path, before + ("" if before.endswith("\n") else "\n") + "".join(lines))
    return list(wanted)
