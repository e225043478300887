"""`angelia store`: check the home, derive its tables anew, save what can be read."""

import asyncio
import os
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo
from angelia.service.blob_places import blobs_of, in_log, nothing_known, other_place, shared_name
from angelia.service.log_places import require_in_home
from angelia.service.stored_home import StoredHome
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database


@click.group(epilog=("\b\nExamples:\n  angelia store verify\n  angelia store rebuild"))
def store() -> None:
    """Look after the store: one database and one folder of files."""


@store.command(epilog=("\b\nExample:\n  angelia store verify && echo all is well"))
@settings_options
def verify(**given: Any) -> int:
    """Check every entry, table and file. Changes nothing; exit code 1 if something is wrong."""
    return asyncio.run(_verify(given))


async def _verify(given: dict[str, Any]) -> int:
    home = StoredHome.open(loaded_from(given))
    with working("checking the store"):
        problems = await upkeep.verify(home.db, home.blobs)
        count, size = await upkeep.unreferenced(home.db, home.blobs)
        aside = len(await home.blobs.trash())
    for problem in problems:
        echo(problem)
    if count:
        echo(f"{counted(count, 'file')} ({size / 1e6:.1f} MB) of no conversation: to be swept out after a day.")
    if aside:
        echo(f"In the trash, for 30 days: {counted(aside, 'file')}.")
    if not problems:
        echo(f"{home.loaded.config.store or home.loaded.home} is in order.")
    return 1 if problems else 0


@store.command(epilog=("\b\nExample:\n  angelia store rebuild"))
@settings_options
def rebuild(**given: Any) -> int:
    """Derive every table and the full-text index anew from the log."""
    return asyncio.run(_rebuild(given))


async def _rebuild(given: dict[str, Any]) -> int:
    app = await open_app(given)
    with working("deriving the tables anew"):
        unread = await upkeep.rebuild(app.db, app.blobs)
    for sentence in unread:
        echo(sentence)
    echo("Every table and the full-text index are derived anew from the log.")
    return 1 if unread else 0


@store.command(
    epilog=("\b\nExamples:\n  angelia store copy s3://bucket/prefix\n  angelia store copy home postgresql://…")
)
@click.argument("places", metavar="[FROM] TO", nargs=-1, required=True)
@settings_options
def copy(places: tuple[str, ...], **given: Any) -> int:
    """Copy files, or with FROM the log, elsewhere. The settings alone say where both are looked for.

    With one place: every file that the log refers to, to `s3://bucket/prefix`, a folder, or `home`, the home itself.
    What is there already is not copied again.

    With two: conversations, and all that is kept with them, from `home` to `postgresql://user@host/database` or back;
    there must be no log there yet. Nobody can write meanwhile; if somebody works in the home, they are named, and
    nothing is copied.
    """
    match places:
        case (to,):
            return asyncio.run(_copy_files(to, given))
        case (source, to):
            return asyncio.run(_copy_log((source, to), given))
        case _:
            raise BadInput(f"There are {len(places)} places.", then="Name where to, or where from and where to.")


async def _copy_log(places: tuple[str, str], given: dict[str, Any]) -> int:
    from angelia.service.log_copies import HOME, copy_log_to

    loaded = loaded_from(given)
    with working("copying the log") as told:
        copied = await copy_log_to(loaded, os.environ, places, told)
    already = f", {copied.before:,} of them by a copying before" if copied.before else ""
    conversations, entries = counted(copied.conversations, "conversation"), counted(copied.entries, "entry")
    echo(f"{conversations} ({entries}{already}) copied to {places[1]}, and equal.")
    setting = "remove `store` from" if places[1] == HOME else f'write store = "{places[1]}" at the top of'
    echo(f"To use it there, {setting} {loaded.home}/config.toml")
    echo("before anything is begun: whatever is said where it lay is not carried over. Nothing was removed there.")
    return 0


async def _copy_files(to: str, given: dict[str, Any]) -> int:
    loaded = loaded_from(given)
    elsewhere = other_place(loaded, to)
    app = await open_app(given)
    known = in_log(app.db)
    named = shared_name(loaded, app.db)
    here = replace(loaded, config=replace(loaded.config, files=elsewhere.config.files))
    source = blobs_of(here, app.environ, known, named)
    with working("copying files"):
        copied = await upkeep.copy_blobs(app.db, source, blobs_of(elsewhere, app.environ, known, named))
    files = f"{counted(copied.count, 'file')} ({copied.size / 1e6:.1f} MB)"
    echo(f"{files} copied to {to}; there already: {copied.there}.")
    setting = f'write blobs = "{to}" at the top of' if elsewhere.config.blobs else "remove `blobs` from"
    echo("To use them there, end what runs, copy once more for what was stored meanwhile, and")
    echo(f"{setting} {loaded.home}/config.toml. Nothing was removed where they lie now.")
    return 0


@store.command(
    epilog=("\b\nExample:\n  angelia store accept   (after `angelia store verify` has said what is missing)")
)
@settings_options
def accept(**given: Any) -> int:
    """Go on with the log as it is, although its end is missing. Says what is given up."""
    return asyncio.run(_accept(given))


async def _accept(given: dict[str, Any]) -> int:
    loaded = loaded_from(given)
    require_in_home(loaded)
    db = Database.open_as_it_is(loaded.home)
    try:
        with working("deriving the tables anew"):
            given_up = await upkeep.accept(db, blobs_of(loaded, os.environ, in_log(db)))
    finally:
        db.close()
    for sentence in given_up:
        echo(sentence)
    echo(f"From now on the log counts as it is ({counted(len(given_up), 'conversation')} other than before).")
    return 0


@store.command(epilog=("\b\nExample:\n  angelia store salvage ~/angelia-saved   (to use it: ANGELIA_HOME=… angelia)"))
@click.argument("folder", type=click.Path(path_type=Path))
@settings_options
def salvage(folder: Path, **given: Any) -> int:
    """Save all that can be read of a damaged home into a new one. Exit code 1 if something could not be read.

    The damaged home stays as it is.
    """
    return asyncio.run(_salvage(folder, given))


async def _salvage(folder: Path, given: dict[str, Any]) -> int:
    from angelia.store.sql.salvage import salvage as save

    with working("saving what can be read"):
        loaded = loaded_from(given)
        saved = await save(loaded.home, folder.expanduser(), blobs_of(loaded, os.environ, nothing_known))
    for sentence in saved.lost:
        echo(sentence)
    conversations, entries = counted(saved.conversations, "conversation"), counted(saved.entries, "entry")
    echo(f"Saved to {folder}: {conversations}, {entries}. ", end="")
    echo(f"Lost: {counted(len(saved.lost), 'thing')}." if saved.lost else "Nothing was lost.")
    return 1 if saved.lost else 0
