"""`angelia people`: whom a home knows, and as what; one of them taken out into a file, or erased."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from angelia.context.usage_meter import money
from angelia.core.counts import counted
from angelia.core.entry import AdminAct
from angelia.core.errors import BadInput, NotFound
from angelia.core.moment import when
from angelia.core.person_role import PersonRole
from angelia.core.principal import KEY, OWNER, Principal
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import asked, echo, sure
from angelia.faces.words.widths import table
from angelia.service.app import App
from angelia.service.chats.people import settings_of
from angelia.service.people.admission import an, may_do
from angelia.service.people.budgets import budgets_of
from angelia.service.people.erasure import is_of
from angelia.service.people.found import Counts
from angelia.store.tables.people import KnownPeople

_WHO = click.argument("principal", metavar="PRINCIPAL")


@click.group(
    invoke_without_command=True,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia people\n"
        "  angelia people export telegram:4711 -o ann.zip\n"
        "  angelia people erase telegram:4711 --dry-run"
    ),
)
@settings_options
@click.pass_context
def people(ctx: click.Context, /, **given: Any) -> int | None:
    """List whom this home knows, with their roles, and who was erased. `angelia pair` lets somebody in."""
    return asyncio.run(_list(given)) if ctx.invoked_subcommand is None else None


async def _list(given: dict[str, Any]) -> int:
    app = await open_app(given)
    roles = await _roles(app)
    known = await KnownPeople(app.db).known()
    rows = [
        (
            str(one.principal),
            f"{counted(one.conversations, 'conversation')}, last {when(one.last_at)}",
            roles.get(one.principal, ""),
            await _spent(app, one.principal),
        )
        for one in known
    ]
    there = {one.principal for one in known}
    rows += [(str(who), "no conversation", role, "") for who, role in sorted(roles.items()) if who not in there]
    erasure = app.person_erasure
    rows += [(str(who), "is being erased", f"go on: angelia people erase {who}", "") for who in await erasure.begun()]
    rows += [("(erased)", f"{when(one.at)}, by {one.by}", _counted(one.counts), "") for one in await erasure.receipts()]
    for line in table(rows) or ["Nobody has spoken here yet."]:
        echo(line)
    await app.close()
    return 0


async def _spent(app: App, who: Principal) -> str:
    """What they have cost today of what they may; empty without a cap of theirs."""
    told = []
    for budget in budgets_of(app.loaded.config, who):
        cost = await app.budgets.today(budget)
        of = "" if budget.of == (who,) else f" ({budget.name.removesuffix(' today')})"
        told.append(f"{money(cost)} of ${budget.most / 1e6:g} today{of}")
    return ", ".join(told)


async def _roles(app: App) -> dict[Principal, str]:
    """Everybody who has a role at a channel."""
    found: dict[Principal, str] = {}
    let_in = {one.principal.door for one in await app.admission.pairings.list(OWNER)}
    named = {Principal.parse(name).door for name in app.loaded.config.people}
    for door in {*let_in, *named, *app.loaded.config.channels}:
        found |= await app.admission.roles.at(door, settings_of(app.loaded.config, door))
    return found


@people.command(epilog=("\b\nExample:\n  angelia people role telegram:4711 member"))
@_WHO
@click.argument("role", type=click.Choice([one.value for one in PersonRole]))
@settings_options
def role(principal: str, role: str, **given: Any) -> int:
    """Set the role of somebody who was let in. It says what they may do."""
    return asyncio.run(_change(Principal.parse(principal), PersonRole(role), given))


async def _change(who: Principal, role: PersonRole, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        await app.admission.change(who, role)
    finally:
        await app.close()
    echo(f"{who} is {an(role)} from now on. {may_do(role)}")
    return 0


@people.command(epilog=("\b\nExample:\n  angelia people export telegram:4711 -o ann.zip"))
@_WHO
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The zip to write."
)
@settings_options
def export(principal: str, output: Path, **given: Any) -> int:
    """Write all that is stored of somebody into one file. It holds conversations, files, notes, grants and spending."""
    return asyncio.run(_export(Principal.parse(principal), output, given))


async def _export(who: Principal, output: Path, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        with working("looking through the log"):
            await app.audit.record(AdminAct.PERSON_EXPORTED, OWNER, person=who)
            exported = await app.person_export.write(who, output.expanduser())
    finally:
        await app.close()
    conversations = counted(exported.conversations, "conversation")
    echo(
        f"{output}: {conversations}, {counted(exported.entries, 'entry')}, {counted(exported.files, 'file')} of {who}."
    )
    if exported.missing:
        echo(
            f"{counted(len(exported.missing), 'file')} they refer to are not there any more; `person.json` names them."
        )
    return 0


@people.command(
    epilog=("\b\nExamples:\n  angelia people erase telegram:4711 --dry-run\n  angelia people erase telegram:4711")
)
@_WHO
@click.option("--dry-run", is_flag=True, help="Say what would be erased, and erase nothing.")
@click.option("--yes-really", is_flag=True, help="Ask nothing; for scripts.")
@settings_options
def erase(principal: str, dry_run: bool, yes_really: bool, **given: Any) -> int:
    """Erase somebody for good. That is their conversations, what they said in others', and what is kept under their
    name.

    Nobody may work in this home meanwhile: end the gateway first. Whatever cuts it short, a loss of power too, the same
    command goes on where it stopped.
    """
    return asyncio.run(_erase(Principal.parse(principal), (dry_run, yes_really), given))


async def _erase(who: Principal, how: tuple[bool, bool], given: dict[str, Any]) -> int:
    dry_run, yes_really = how
    app = await open_app(given)
    try:
        with working("looking through the log"):
            counts = (await app.person_erasure.preview(who)).counts
        echo(f"Of {who} there is: {_counted(counts)}.", err=not dry_run)
        if counts.mixed:
            turns = counted(counts.mixed, "turn")
            echo(f"In {turns} others were heard, too: what was answered there stays.", err=not dry_run)
        if dry_run:
            return 0
        if not yes_really and not _sure(who):
            echo("Nothing was erased.", err=True)
            return 1
        return await _erased(app, who)
    finally:
        await app.close()


async def _erased(app: App, who: Principal) -> int:
    erasure = app.person_erasure
    try:
        with working("erasing"):
            receipt, left = await erasure.erase(who, OWNER)
    except NotFound:
        earlier = [one for one in await erasure.receipts() if is_of(one, who)]
        if not earlier:
            raise
        echo(f"{who} was erased on {when(earlier[-1].at)}, and nothing has come of them since.")
        return 0
    if who.door == KEY:
        from angelia.faces.web.api_keys import ApiKeys  # the page's parts, for whom a program was let in by a key

        with suppress(NotFound):
            keys = ApiKeys(app.key_value, app.clock)
            await keys.require(who.id)
            await app.audit.record(AdminAct.API_KEY_REMOVED, OWNER)
            await keys.remove(who.id)
    echo(f"{who} is erased: {_counted(receipt.counts)}. The receipt stays: angelia people")
    for sentence in left:
        echo(sentence, err=True)
    section = app.loaded.config.channels.get(who.door, {})
    if any(who.id in map(str, section.get(name, ())) for name in ("allow", "owners")):
        echo(f"[channels.{who.door}] of the settings still names {who.id}: they may write again.", err=True)
    if str(who) in app.loaded.config.people:
        echo(f'[people."{who}"] of the settings is still there.', err=True)
    return int(bool(left))


def _counted(counts: Counts) -> str:
    own = f"{counted(counts.own, 'conversation')} of their own ({counted(counts.entries, 'entry')})"
    return f"{own}, {counted(counts.said + counts.answered, 'entry')} in {counts.shared} of others"


def _sure(who: Principal) -> bool:
    if not sys.stdin.isatty():
        raise BadInput("Erasing somebody asks twice, and nobody is here to answer.", then="Scripts say --yes-really.")
    if not sure(f"Erase all that {who} said, and what is kept under their name? This cannot be undone."):
        return False
    return asked(f"To be sure, type {who}", err=True).strip() == str(who)
