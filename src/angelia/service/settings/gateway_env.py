"""`gateway.env` in the home: what of the environment a service needs and would not have."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from angelia.models.catalog.vendor import Rows
from angelia.service.own_process import key_variables
from angelia.service.settings.config import Config
from angelia.service.settings.private_file import write_private

_HEAD = """\
# Variables of the gateway when it runs as a service (systemd: EnvironmentFile). Only you may read this file.
# One NAME=value on a line; `angelia gateway install` adds to it, and changes no line of yours.
"""


def gateway_env(home: Path) -> Path:
    """Where it is."""
    return home / "gateway.env"


def service_variables(vendors: Rows, settings: Config) -> list[str]:
    """The variables that a service is configured by, sorted: those of keys, and those that say where a vendor's server
    is, without which a key would go to another one.
    """
    servers = {name for vendor in vendors.values() for name in vendor.base_url_env}
    return sorted(key_variables(vendors, settings) | servers)


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
