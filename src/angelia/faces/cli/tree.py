"""`angelia tree`: a conversation and its helpers, who works on what, since when, for how much."""

import asyncio
import sys
from typing import Any

import click
import msgspec

from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.open_conversation import last_conversation
from angelia.faces.cli.options import open_to_read, settings_options
from angelia.faces.words.output import echo, echo_json
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.delegation.tree import HEAD, shown_rows, tree_of


@click.command(epilog=("\b\nExamples:\n  angelia tree\n  angelia tree 5c8r2n6h --json"))
@click.argument("conversation", required=False, metavar="[ID]", shell_complete=completion.conversations)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line for each.")
@settings_options
def tree(conversation: str | None, as_json: bool, **given: Any) -> int:
    """Show a conversation (the last one, if none is named) and its helpers: state, model calls, cost, task."""
    return asyncio.run(_tree(conversation, as_json, given))


async def _tree(part: str | None, as_json: bool, given: dict[str, Any]) -> int:
    transcript = (await open_to_read(given)).transcript
    found = await transcript.find(OWNER, part) if part else await last_conversation(transcript)
    rows = await tree_of(transcript, found, (await transcript.summary(OWNER, found)).title)
    for row in rows if as_json else ():
        echo_json(msgspec.json.encode(row))
    if not as_json:
        echo("\n".join(table([HEAD, *shown_rows(rows, when)], screen().columns * sys.stdout.isatty())))
    return 0
