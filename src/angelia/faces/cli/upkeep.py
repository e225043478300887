"""`angelia store`: check the home, derive its tables anew, copy it."""

import asyncio
from pathlib import Path
from typing import Any

import click

from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo
from angelia.store.sql import upkeep


@click.group(epilog="Examples:  angelia store verify  ·  angelia store backup ~/backups/angelia-monday")
def store() -> None:
    """Look after the home: one database and one folder of files."""


@store.command(epilog="Example: angelia store verify && echo all is well")
@settings_options
def verify(**given: Any) -> int:
    """Check every entry, table and file. Changes nothing; exit code 1 if something is wrong."""
    return asyncio.run(_verify(given))


async def _verify(given: dict[str, Any]) -> int:
    app = await open_app(given)
    with working("checking the store"):
        problems = await upkeep.verify(app.db, app.blobs)
    for problem in problems:
        echo(problem)
    if not problems:
        echo(f"{app.loaded.home} is in order.")
    return 1 if problems else 0


@store.command(epilog="Example: angelia store rebuild")
@settings_options
def rebuild(**given: Any) -> int:
    """Derive every table and the full-text index anew from the log."""
    return asyncio.run(_rebuild(given))


async def _rebuild(given: dict[str, Any]) -> int:
    app = await open_app(given)
    with working("deriving the tables anew"):
        await upkeep.rebuild(app.db)
    echo("Every table and the full-text index are derived anew from the log.")
    return 0


@store.command(epilog="Example: angelia store backup ~/backups/angelia-monday   (to use it: ANGELIA_HOME=… angelia)")
@click.argument("folder", type=click.Path(path_type=Path))
@settings_options
def backup(folder: Path, **given: Any) -> int:
    """Copy the home to a new folder, while others go on working. The copy is a home itself."""
    return asyncio.run(_backup(folder, given))


async def _backup(folder: Path, given: dict[str, Any]) -> int:
    app = await open_app(given)
    with working("copying"):
        await upkeep.backup(app.db, app.blobs, folder.expanduser())
    echo(f"Copied to {folder}. Settings in config.toml are copied by hand, if you want them.")
    return 0
