"""`angelia undo`: take back what a turn changed in the workspace, after a look."""

import asyncio
import sys
from typing import Any

import click

from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.faces.cli.open_conversation import last_conversation
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.words.output import echo, sure
from angelia.service.conversation.undo import preview, take_back
from angelia.service.conversation.undo_command import heading, listed


@click.command(epilog=("\b\nExamples:\n  angelia undo\n  angelia undo 3\n  angelia undo back\n  angelia undo --list"))
@click.argument("turn", metavar="[TURN]", default="")
@click.option("--in", "part", metavar="ID", default="", help="The conversation (default: the last one).")
@click.option("--list", "only_list", is_flag=True, help="List the turns that can be taken back.")
@click.option("--diff", "only_look", is_flag=True, help="Only show what would be done.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@settings_options
def undo(turn: str, part: str, *, only_list: bool, only_look: bool, yes: bool, **given: Any) -> int:
    """Take back what a turn (the last one, if none is named) changed in the workspace.

    It is shown first. What you have changed since stays as it is, and the older version is put beside it. `angelia undo
    back` restores what was taken back last.
    """
    return asyncio.run(_undo(turn, part, only_list=only_list, only_look=only_look, yes=yes, given=given))


async def _undo(turn: str, part: str, *, only_list: bool, only_look: bool, yes: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    found = await app.transcript.find(OWNER, part) if part else await last_conversation(app.transcript)
    session = await app.conversations.resume(found, door="terminal")
    if only_list:
        echo(await listed(app.undo_services, session))
        return 0
    shown = await preview(app.undo_services, session, turn)
    echo("\n".join([heading(shown), *shown.lines]))
    if shown.empty or only_look:
        return 0
    if not yes and not sys.stdin.isatty():
        raise BadInput("Taking back asks first, and nobody is here to answer.", then="Scripts say --yes.")
    if not yes and not sure("Do this?"):
        echo("Nothing was changed.", err=True)
        return 1
    echo(await take_back(app.undo_services, session, shown, by=OWNER))
    return 0
