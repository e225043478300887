"""`angelia fork`: a conversation that begins with the past of another one."""

import asyncio
from typing import Any

import click

from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.words.output import echo


@click.command(epilog="Examples:  angelia fork 5c8r2n6h  ·  angelia fork 5c8r2n6h --at 42")
@click.argument("conversation", metavar="ID")
@click.option("--at", type=click.IntRange(min=1), default=None, help="The last entry that it has (see show --json).")
@settings_options
def fork(conversation: str, at: int | None, **given: Any) -> int:
    """Begin a conversation with the past of another; both go on, each by itself. Prints its id."""
    return asyncio.run(_fork(conversation, at or 0, given))


async def _fork(part: str, at: int, given: dict[str, Any]) -> int:
    from angelia.service.conversation.forks import fork_conversation

    app = await open_app(given)
    try:
        source = await app.transcript.find(OWNER, part)
        made = await fork_conversation(app.transcript, source, at, app.clock)
        summary = await app.transcript.summary(OWNER, made)
    finally:
        await app.close()
    echo(made)
    where = f"{summary.sandbox}, {summary.workspace}"
    echo(
        f"angelia: it has {summary.last_seq} entries and works in {where}; angelia chat --resume {short(made)}",
        err=True,
    )
    return 0
