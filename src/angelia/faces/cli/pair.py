"""`angelia pair`: who else may talk to Angelia in chats."""

import asyncio
import sys
from typing import Any

import click

from angelia.core.errors import BadInput, NotFound
from angelia.core.moment import when
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
from angelia.core.unambiguous import claimed, unambiguous_line
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.words.output import chosen, echo
from angelia.faces.words.widths import table
from angelia.service.chats.people import owners_among, settings_of
from angelia.service.people.admission import may_do
from angelia.store.tables.pairings import Paired


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia pair\n  angelia pair approve 7KQ2M9XD\n  angelia pair forget telegram 4711"),
)
@settings_options
@click.pass_context
def pair(ctx: click.Context, /, **given: Any) -> int | None:
    """List who was let in and who asks to be. Whoever writes and is not known gets a code; you confirm it here."""
    return asyncio.run(_list(given)) if ctx.invoked_subcommand is None else None


async def _list(given: dict[str, Any]) -> int:
    app = await open_app(given)
    admitted, waiting = await app.admission.pairings.list(OWNER), await app.admission.pairings.waiting(OWNER)
    rows = [_row(one, f"{one.role}, let in by {one.approved_by}") for one in admitted]
    rows += [_row(one, f"asks since {when(one.asked_at)}") for one in waiting]
    for line in table(rows) or ["Nobody was let in with a code, and nobody asks."]:
        echo(line)
    await app.close()
    return 0


def _row(one: Paired, stands: str) -> tuple[str, str, str, str]:
    return (one.principal.door, unambiguous_line(one.principal.id), claimed(one.name), stands)


@pair.command(epilog=("\b\nExamples:\n  angelia pair approve 7KQ2M9XD\n  angelia pair approve 7KQ2M9XD --as owner"))
@click.argument("code")
@click.option(
    "--as",
    "role",
    type=click.Choice([one.value for one in PersonRole]),
    help="As yourself (owner), or as somebody else; says what each may do.",
)
@settings_options
def approve(code: str, role: str | None, **given: Any) -> int:
    """Let in whoever was told this code, and say what they may do. The first of a channel may be you yourself."""
    return asyncio.run(_approve(code, role, given))


async def _approve(code: str, role: str | None, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        asks = await app.admission.pairings.find(code)
        door = asks.principal.door
        first = not owners_among(await app.admission.roles.at(door, settings_of(app.loaded.config, door)))
        one = await app.admission.approve(code, PersonRole(role) if role else _who(asks, first=first))
    finally:
        await app.close()
    echo(f"{_called(one)} may talk to Angelia from now on. {may_do(one.role)}")
    echo(f"Taken back with: angelia pair forget {one.principal.door} {unambiguous_line(one.principal.id)}")
    return 0


def _who(asks: Paired, *, first: bool) -> PersonRole:
    """You, or somebody else? Asked once for a channel: while it has no owner.

    Raises:
        BadInput: nobody is there to be asked.
    """
    if not first:
        return PersonRole.GUEST
    if not sys.stdin.isatty():
        raise BadInput(
            f"{_called(asks)} would be the first of {asks.principal.door}. Is that you, or somebody else?",
            why="An owner's yes counts for everything; nobody else's for anything.",
            then="Add --as owner, or --as admin, member or guest. The code is still good.",
        )
    words = f"{_called(asks)} asks. Is that you, or somebody else?"
    return PersonRole.OWNER if chosen(words, ("you", "else")) == "you" else PersonRole.GUEST


def _called(one: Paired) -> str:
    return f"“{claimed(one.name)}” ({unambiguous_line(one.principal.door)}:{claimed(one.principal.id, 60)})"


@pair.command(epilog=("\b\nExample:\n  angelia pair forget telegram 4711"))
@click.argument("channel")
@click.argument("person")
@settings_options
def forget(channel: str, person: str, **given: Any) -> int:
    """Let somebody in no more. Their conversations stay."""
    return asyncio.run(_forget(channel, person, given))


async def _forget(channel: str, person: str, given: dict[str, Any]) -> int:
    app = await open_app(given)
    who = Principal.parse(f"{channel}:{person}")
    if not await app.admission.shut_out(who):
        raise NotFound(f"{channel}:{person} was not let in with a code.", then="`angelia pair` lists those who were.")
    echo(f"{channel}:{person} is not let in any more.")
    await app.close()
    return 0
