"""`angelia pair`: who else may talk to Angelia in chats."""

import asyncio
from typing import Any

import click

from angelia.core.errors import NotFound
from angelia.core.visible import visible_line
from angelia.faces.cli.history import when
from angelia.faces.cli.options import open_house, settings_options
from angelia.faces.cli.output import echo
from angelia.faces.cli.widths import table


@click.group(
    invoke_without_command=True,
    epilog="Examples:  angelia pair  ·  angelia pair approve 7KQ2M9XD  ·  angelia pair forget telegram 4711",
)
@settings_options
@click.pass_context
def pair(ctx: click.Context, /, **given: Any) -> int | None:
    """List who was let in and who asks to be. Somebody unknown who writes is told a code; you confirm it here."""
    return asyncio.run(_list(given)) if ctx.invoked_subcommand is None else None


async def _list(given: dict[str, Any]) -> int:
    house = await open_house(given)
    admitted, waiting = await house.pairings.list(), await house.pairings.waiting()
    rows = [(one.door, one.person, one.name, f"let in by {one.approved_by}") for one in admitted]
    rows += [(one.door, one.person, one.name, f"asks since {when(one.asked_at)}") for one in waiting]
    for line in table(rows) or ["Nobody was let in with a code, and nobody asks."]:
        echo(line)
    await house.close()
    return 0


@pair.command(epilog="Example: angelia pair approve 7KQ2M9XD")
@click.argument("code")
@settings_options
def approve(code: str, **given: Any) -> int:
    """Let in whoever was told this code."""
    return asyncio.run(_approve(code, given))


async def _approve(code: str, given: dict[str, Any]) -> int:
    house = await open_house(given)
    one = await house.pairings.approve(code, by="owner")
    echo(f"{visible_line(one.name or one.person)} ({one.door}:{one.person}) may talk to Angelia from now on.")
    await house.close()
    return 0


@pair.command(epilog="Example: angelia pair forget telegram 4711")
@click.argument("channel")
@click.argument("person")
@settings_options
def forget(channel: str, person: str, **given: Any) -> int:
    """Let somebody in no longer. Their conversations stay."""
    return asyncio.run(_forget(channel, person, given))


async def _forget(channel: str, person: str, given: dict[str, Any]) -> int:
    house = await open_house(given)
    if not await house.pairings.forget(channel, person):
        raise NotFound(f"{channel}:{person} was not let in with a code.", then="`angelia pair` lists those who were.")
    echo(f"{channel}:{person} is not let in any more.")
    await house.close()
    return 0
