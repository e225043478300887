"""`angelia fork`: a conversation that begins with the past of another one."""

import asyncio
from typing import Any

import click

from angelia.core.counts import counted
from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.options import Whole, open_app, settings_options
from angelia.faces.words.output import echo


@click.command(epilog=("\b\nExamples:\n  angelia fork 5c8r2n6h\n  angelia fork 5c8r2n6h --at 42 --files"))
@click.argument("conversation", metavar="ID", shell_complete=completion.conversations)
@click.option("--at", type=Whole(min=1), default=None, help="The last entry to take over (see `show --json`).")
@click.option("--files", is_flag=True, help="Work in a copy of the folder, as it was at that entry.")
@settings_options
def fork(conversation: str, at: int | None, files: bool, **given: Any) -> int:
    """Begin a new conversation with the past of another; both go on, each by itself. Prints its id."""
    return asyncio.run(_fork(conversation, at or 0, given, files=files))


async def _fork(part: str, at: int, given: dict[str, Any], *, files: bool) -> int:
    from angelia.service.conversation.forks import fork_conversation, same_folder
    from angelia.service.replays.own_copies import OwnCopies

    app = await open_app(given)
    try:
        source = await app.transcript.find(OWNER, part)
        copies = OwnCopies.of(app.loaded, app.undo, app.transcript)
        lay_out = copies.lay_out if files else same_folder
        made = await fork_conversation(app.transcript, source, at, app.clock, lay_out)
        summary = await app.transcript.summary(OWNER, made)
    finally:
        await app.close()
    for sentence in copies.lost:
        echo(f"angelia: {sentence}", err=True)
    echo(made)
    where = f"{summary.sandbox}, {summary.workspace}"
    entries = counted(summary.last_seq, "entry")
    echo(f"angelia: it has {entries} and works in {where}; angelia chat --resume {short(made)}", err=True)
    return 0
