"""`angelia sandbox`: the places in which conversations work, for people."""

import asyncio
import posixpath
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from angelia.context.media_forms import size_words
from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.ids import short
from angelia.core.text import one_line
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.cli.transfer_progress import moving
from angelia.faces.words.output import echo, echo_json, sure
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.sandboxes.port import FileKind
from angelia.service.files.folders import Carried, bring_folder, fetch_folder
from angelia.service.files.transfers import Moved, bring, fetch
from angelia.service.places.places import FoundPlace, PlaceState, end_all, remove_homes, stands, target_in

WHERE = "WHERE is a conversation's id, a preset, or a sandbox such as docker:python:3.12 or ssh:box:/srv/data."


@click.group(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia sandbox list\n"
        "  angelia sandbox shell 5c8r2n6h\n"
        "  angelia sandbox get 5c8r2n6h report.pdf"
    )
)
def sandbox() -> None:
    """List, enter or end the places where conversations work; move files in and out."""


@sandbox.command("list", epilog=("\b\nExample:\n  angelia sandbox list"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line for each.")
@settings_options
def list_(as_json: bool, **given: Any) -> int:
    """List what is open or left over. That is containers, and conversations that work here or on other machines."""
    return asyncio.run(_list(as_json, given))


async def _list(as_json: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    with working("looking"):
        found = await app.places.all()
    if as_json:
        for place in found:
            echo_json(msgspec.json.encode(place))
    elif found:
        head = ("ID", "SANDBOX", "AGE", "STATE", "WHERE", "BEGAN WITH")
        rows = [_row(place, app.clock()) for place in found]
        echo("\n".join(table([head, *rows], screen().columns if sys.stdout.isatty() else 0)))
    else:
        echo("No sandbox is open, and none is left over.", err=True)
    await app.close()
    return 0


def _row(place: FoundPlace, now: int) -> tuple[str, ...]:
    title = one_line(place.title, 40) if place.known else "no conversation of that id"
    return (
        short(place.place),
        place.spec,
        age(now - place.since),
        _state(place),
        place.where,
        title,
    )


def _state(place: FoundPlace) -> str:
    by = ", ".join(f"process {one.process}" for one in place.by)
    match place.standing:
        case PlaceState.OPEN:
            return f"in use by {by}" if by else "in use"
        case PlaceState.IDLE:
            return "idle" if place.known else "idle, nobody's"
        case PlaceState.ENDED:
            return "ended"


def age(milliseconds: int) -> str:
    """How long ago, to the unit that matters.

    >>> [age(seconds * 1000) for seconds in (5, 300, 7300, 400_000)]
    ['5 s', '5 min', '2 h', '4 d']
    """
    seconds = max(milliseconds, 0) // 1000
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


@sandbox.command(
    epilog=f"{WHERE}\n\n\b\nExamples:\n  angelia sandbox shell 5c8r2n6h\n  angelia sandbox shell docker:alpine"
)
@click.argument("where")
@click.option("-C", "--workspace", type=click.Path(path_type=Path), help="The folder that a fresh sandbox works in.")
@settings_options
def shell(where: str, workspace: Path | None, **given: Any) -> int:
    """Open a shell in a conversation's sandbox, or in a fresh one. A fresh one is gone afterwards."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("A shell needs a terminal, and this is none.")
    return asyncio.run(_shell(where, workspace or Path.cwd(), given))


async def _shell(where: str, workspace: Path, given: dict[str, Any]) -> int:
    from angelia.faces.cli.terminal import raw_terminal
    from angelia.sandboxes.terminal import HasShell

    app = await open_app(given)
    async with app.places.visited(where, workspace, _note) as (there, spec):
        if not isinstance(there, HasShell):
            then = "The model can run commands there; `angelia sandbox get` and `put` move files."
            raise BadInput(f"{spec} gives no shell to people.", then=then)
        described = await there.describe()
        _note(f"{spec}, in {described.workspace}; exit leaves it")
        with raw_terminal() as terminal:
            status = await there.shell(terminal)
    await app.close()
    return status


@sandbox.command(
    epilog=f"{WHERE}\n"
    "\n"
    "\b\n"
    "Examples:\n"
    "  angelia sandbox get 5c8r2n6h report.pdf\n"
    "  angelia sandbox get 5c8r2n6h /tmp/x ~/y"
)
@click.argument("where")
@click.argument("path")
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Replace a file that is there.")
@settings_options
def get(where: str, path: str, target: Path | None, yes: bool, **given: Any) -> int:
    """Copy a file or folder out of a sandbox. It goes here or to TARGET, whole or not at all, with mode and time."""
    name = posixpath.basename(posixpath.normpath(path))
    place = Path.cwd() if target is None else target.expanduser()
    place = place / ("workspace" if name in ("", ".", "..") else name) if place.is_dir() else place
    return asyncio.run(_get(where, path, place, yes, given))


async def _get(where: str, path: str, target: Path, yes: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    async with app.places.visited(where, Path.cwd(), _note) as (there, _):
        folder = (await there.stat(path)).kind is FileKind.FOLDER
        if not folder and target.exists() and not yes and not _sure(f"Replace {target}?", "--yes"):
            return _left("Nothing was copied.")
        with moving(target.name) as told:
            moved = await (fetch_folder if folder else fetch)(there, path, target, told)
    await app.close()
    return _arrived(moved, "came")


@sandbox.command(
    epilog=f"{WHERE}\n"
    "\n"
    "\b\n"
    "Examples:\n"
    "  angelia sandbox put 5c8r2n6h data.csv\n"
    "  angelia sandbox put 5c8r2n6h a.csv in/b.csv"
)
@click.argument("where")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("path", required=False)
@click.option("--yes", is_flag=True, help="Replace a file that is there.")
@settings_options
def put(where: str, source: Path, path: str | None, yes: bool, **given: Any) -> int:
    """Copy a file or folder into a sandbox. It goes into the workspace, or to PATH there, with mode and time."""
    return asyncio.run(_put(where, source.expanduser(), path or "", yes, given))


async def _put(where: str, source: Path, path: str, yes: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    async with app.places.visited(where, Path.cwd(), _note) as (there, _):
        path = await target_in(there, path, source.resolve().name)
        if not yes and await stands(there, path) and not _sure(f"Replace {path} there?", "--yes"):
            return _left("Nothing was copied.")
        with moving(source.name) as told:
            moved = await (bring_folder if source.is_dir() else bring)(there, source, path, told)
    await app.close()
    return _arrived(moved, "was sent")


@sandbox.command(epilog=("\b\nExamples:\n  angelia sandbox stop 5c8r2n6h\n  angelia sandbox stop 5c8r2n6h --yes"))
@click.argument("where", metavar="ID")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@settings_options
def stop(where: str, yes: bool, **given: Any) -> int:
    """End a conversation's sandbox, by the id or name that `list` shows. A workspace of this machine stays."""
    return asyncio.run(_stop(where, yes, given))


async def _stop(where: str, yes: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    found = [place for place in await app.places.all() if _is_meant(place, where.strip().lower())]
    if not found:
        raise BadInput(f"No sandbox is called {where!r}.", then="`angelia sandbox list` shows those that there are.")
    if len({place.place for place in found}) > 1:
        raise BadInput(f"{where!r} fits {len(found)} sandboxes.", then="Give more of the id.")
    for place in found:
        what = f"End {place.spec} of {short(place.place)} ({_state(place)})? What runs there is cut."
        what += " Its files lie there alone, and are lost." if place.only_copy else ""
        if not yes and not _sure(what, "--yes"):
            return _left("Nothing was ended.")
        _note(await app.places.stop(place, app.conversations.stop_turn))
    await app.close()
    return 0


def _is_meant(place: FoundPlace, part: str) -> bool:
    return bool(part) and (place.place.startswith(part) or place.place.endswith(part) or place.where == part)


@sandbox.command(epilog=("\b\nExample:\n  angelia sandbox prune --yes"))
@click.option("--yes", is_flag=True, help="Ask nothing.")
@settings_options
def prune(yes: bool, **given: Any) -> int:
    """End the sandboxes that nobody uses. What was kept for conversations that are gone is removed, too."""
    return asyncio.run(_prune(yes, given))


async def _prune(yes: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    with working("looking"):
        unused = [place for place in await app.places.all() if place.unused]
        homes = await app.places.forsaken_homes()
    for place in unused:
        echo(f"{place.spec} of {short(place.place)}: {_state(place)}, {place.where}")
    for home in homes:
        echo(f"{home}: kept for a conversation that is gone")
    if not unused and not homes:
        _note("There is nothing to remove.")
        return 0
    if not yes and not _sure("Remove all of this? Workspaces stay.", "--yes"):
        return _left("Nothing was removed.")
    await end_all(unused)
    await remove_homes(homes)
    _note(f"{counted(len(unused), 'sandbox')} ended, {counted(len(homes), 'folder')} removed.")
    await app.close()
    return 0


def _sure(question: str, option: str) -> bool:
    if not sys.stdin.isatty():
        raise BadInput(f"{question} Nobody is here to answer.", then=f"Scripts say {option}.")
    return sure(question)


def _left(text: str) -> int:
    _note(text)
    return 1


def _arrived(moved: Moved | Carried, verb: str) -> int:
    match moved:
        case Moved():
            _note(f"{moved.path}: {size_words(moved.size)}, whole; SHA-256 of what {verb}: {moved.sha256}")
        case Carried():
            for line in moved.left[:20]:
                _note(f"left out: {line}")
            more = f"; {len(moved.left)} left out" if moved.left else ""
            _note(f"{moved.path}: {counted(moved.files, 'file')}, {size_words(moved.size)}, whole{more}")
    return 0


def _note(text: str) -> None:
    echo(f"angelia: {text}", err=True)
