"""Where the log of a home lies: in the home, or in a PostgreSQL that several machines share."""

import platform
from collections.abc import Mapping
from pathlib import Path

from angelia.core.errors import BadInput, ConfigError
from angelia.core.ids import Clock
from angelia.service.settings.config import Loaded
from angelia.store.port import LogStore
from angelia.store.sql.database import Database

PASSWORD = "PGPASSWORD"  # noqa: S105 - the name of a variable
"""The variable that holds the password, as for all programs that speak to PostgreSQL; `~/.pgpass` does it, too."""


VIEWER_PASSWORD = "ANGELIA_VIEWER_PASSWORD"  # noqa: S105 - the name of a variable
"""The variable that holds the password of `store_viewer`."""


def open_log(loaded: Loaded, environ: Mapping[str, str], clock: Clock) -> LogStore:
    """Open the log of this home, to write it.

    Raises:
        ConfigError: `store` names no place where a log can lie.
        MissingPart: a library is missing.
        StoreError: it cannot be opened; says why.
    """
    if not (address := address_of(loaded)):
        return Database.open(loaded.home, clock=clock)
    from angelia.store.postgres.database import PostgresDatabase

    db = PostgresDatabase.open(address, loaded.home, password=environ.get(PASSWORD, ""), clock=clock)
    if role := loaded.config.store_viewer:
        db.read_for_others_as(role, environ.get(VIEWER_PASSWORD, ""))
    return db


def open_log_to_read(loaded: Loaded, environ: Mapping[str, str]) -> LogStore:
    """Open it without changing anything; errors as `open_log`."""
    if not (address := address_of(loaded)):
        return Database.open_to_read(loaded.home)
    from angelia.store.postgres.database import PostgresDatabase

    return PostgresDatabase.open_to_read(address, loaded.home, password=environ.get(PASSWORD, ""))


def name_in_log(home: Path) -> str:
    """By what a home is known in a log that several may share: the machine, and the folder."""
    return f"{platform.node()}:{home}"


def require_in_home(loaded: Loaded) -> None:
    """Raises BadInput: the log lies elsewhere, where what copies and mends files has nothing to do."""
    if loaded.config.store:
        raise BadInput(
            "The log of this home lies in PostgreSQL, and not in the home.",
            "The server says itself whether it has lost something.",
            "`angelia store verify` looks it through; a backup, or the server's own tools, bring it back.",
        )


def store_keys(loaded: Loaded, environ: Mapping[str, str]) -> frozenset[str]:
    """The secrets by which it is reached."""
    passwords = (environ.get(name, "") for name in (PASSWORD, VIEWER_PASSWORD))
    return frozenset(filter(None, passwords)) if loaded.config.store else frozenset()


def address_of(loaded: Loaded) -> str:
    """The address of the PostgreSQL that has the log; empty where it lies in the home.

    Raises:
        ConfigError: `store` names no place where a log can lie.
    """
    address = loaded.config.store
    if not address:
        return ""
    from angelia.store.postgres.database import SCHEMES, secrets_in

    if not address.startswith(SCHEMES):
        raise ConfigError(
            f"`store` is {address.partition('@')[2] or address!r}, which is no place for a log.",
            then="Write `postgresql://user@host/database`, or leave it empty for the home.",
        )
    if secrets_in(address):
        raise ConfigError(
            "`store` has a password in it, which whoever sees the settings would see.",
            then=f"Take it out, and put it into {PASSWORD} or `~/.pgpass`.",
        )
    return address
