"""`angelia notes`: what is remembered, why it is believed, and what you do about it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from angelia.core.principal import OWNER
from angelia.faces.cli.options import Whole, open_app, open_to_read, settings_options
from angelia.faces.words.output import echo, echo_json
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.notes.explanation import HEAD, explained, history, note_row
from angelia.service.notes.note_changes import drop, edit, keep, note_of
from angelia.store.tables.notes import Notes, StoredNote

if TYPE_CHECKING:
    from angelia.service.app import App

_NUMBER = click.argument("number", type=Whole(min=1), metavar="N")
_NUMBERS = click.argument("numbers", type=Whole(min=1), metavar="N...", nargs=-1, required=True)


@click.group(
    invoke_without_command=True,
    epilog=(
        "\b\nExamples:\n  angelia notes\n  angelia notes show 3\n  angelia notes drop 3\n  angelia notes keep 3 4 5"
    ),
)
@click.pass_context
def notes(ctx: click.Context) -> int | None:
    """Show what is remembered across conversations. Each note can say which message it rests on."""
    return None if ctx.invoked_subcommand else int(ctx.invoke(list_notes))


@notes.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that were dropped or replaced.")
@settings_options
def list_notes(every: bool = False, **given: Any) -> int:
    """List the notes that count, and those that wait for your yes."""
    return asyncio.run(_list(every, given))


async def _list(every: bool, given: dict[str, Any]) -> int:
    found = await Notes((await open_to_read(given)).db).list(OWNER)
    rows = [note_row(note) for note in found if every or note.state in ("kept", "waits")]
    if rows:
        echo("\n".join(table([HEAD, *rows], screen().columns * sys.stdout.isatty())))
    else:
        rest = "" if every or not found else " that counts; --all lists the rest"
        echo(f"Nothing is remembered{rest}. Say “remember that …” in a conversation.", err=True)
    return 0


@notes.command("show")
@_NUMBER
@settings_options
def show_note(number: int, **given: Any) -> int:
    """Show why a note is believed. That is the message it rests on, what else was in view, and what became of it."""
    return asyncio.run(_show(number, given))


async def _show(number: int, given: dict[str, Any]) -> int:
    home = await open_to_read(given)
    note = await note_of(Notes(home.db), OWNER, number)
    echo("\n".join(await explained(home.transcript, note)))
    return 0


@notes.command("history")
@_NUMBER
@settings_options
def note_history(number: int, **given: Any) -> int:
    """Show all that was done to a note, and to those that it replaced."""
    return asyncio.run(_history(number, given))


async def _history(number: int, given: dict[str, Any]) -> int:
    home = await open_to_read(given)
    table_of_notes = Notes(home.db)
    note = await note_of(table_of_notes, OWNER, number)
    echo("\n".join(await history(home.transcript, table_of_notes, OWNER, note)))
    return 0


@notes.command("export")
@settings_options
def export_notes(**given: Any) -> int:
    """Print every note as a line of JSON, the dropped ones too."""
    return asyncio.run(_export(given))


async def _export(given: dict[str, Any]) -> int:
    for note in await Notes((await open_to_read(given)).db).list(OWNER):
        echo_json(msgspec.json.encode({**msgspec.to_builtins(note), "owner": str(note.owner)}))
    return 0


@notes.command("keep")
@_NUMBERS
@settings_options
def keep_notes(numbers: tuple[int, ...], **given: Any) -> int:
    """Let notes count that wait, or that were dropped or replaced."""
    return asyncio.run(_change(numbers, given, lambda app, note: keep(app.transcript, note, OWNER)))


@notes.command("drop")
@_NUMBERS
@settings_options
def drop_notes(numbers: tuple[int, ...], **given: Any) -> int:
    """Let notes no longer count; `keep` brings them back."""
    return asyncio.run(_change(numbers, given, lambda app, note: drop(app.transcript, note, OWNER)))


@notes.command("edit")
@_NUMBER
@click.argument("words", nargs=-1, required=True)
@settings_options
def edit_note(number: int, words: tuple[str, ...], **given: Any) -> int:
    """Replace a note's words by your own. The old ones stay in its history."""
    text = " ".join(words)
    return asyncio.run(_change((number,), given, lambda app, note: edit(app.transcript, app.notes, note, text, OWNER)))


async def _change(
    numbers: tuple[int, ...], given: dict[str, Any], change: Callable[["App", StoredNote], Awaitable[str]]
) -> int:
    app = await open_app(given)
    try:
        for note in [await note_of(app.notes, OWNER, number) for number in numbers]:
            echo(await change(app, note), err=True)
    finally:
        await app.close()
    return 0
