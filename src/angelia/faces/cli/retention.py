"""`angelia retention`: for how long conversations are kept, which go next, and which stay that would."""

import asyncio
import sys
from typing import Any

import click

from angelia.core.counts import counted
from angelia.core.days import DAY_MS
from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.options import Whole, open_app, settings_options
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.retention import Over, Retention


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia retention\n  angelia retention --within 30\n  angelia retention keep 5c8r2n6h"),
)
@click.option("--within", type=Whole(min=0), help="Days to look ahead (default: `retention.warn`).")
@settings_options
@click.pass_context
def retention(ctx: click.Context, /, within: int | None, **given: Any) -> int | None:
    """List which conversations will be erased by the settings (`retention.days`), when, and why others are kept."""
    return asyncio.run(_list(within, given)) if ctx.invoked_subcommand is None else None


async def _list(within: int | None, given: dict[str, Any]) -> int:
    app = await open_app(given)
    ahead = app.retention.settings.warn if within is None else within
    await _show(app.retention, ahead)
    await app.close()
    return 0


async def _show(rule: Retention, ahead: int) -> None:
    if not rule.rules:
        kept = "Every conversation is kept. To erase those that nobody has used for so long: `retention.days` in the "
        echo(f"{kept}settings, or by the door at which they began, `retention.doors`.")
        return
    found = await rule.over(ahead * DAY_MS)
    rows = [_row(one, rule.clock()) for one in found]
    for line in table(rows, screen().columns if sys.stdout.isatty() else 0):
        echo(line)
    if not rows:
        echo(f"Nothing goes {'within ' + counted(ahead, 'day') if ahead else 'now'}.")
    for receipt in (await rule.receipts())[-5:]:
        echo(f"Erased on {when(receipt.at)}: {len(receipt.conversations)}.", err=True)


def _row(one: Over, now: int) -> tuple[str, ...]:
    goes = "is over" if one.goes <= now else f"goes {when(one.goes)}"
    stands = f"stays: {one.stays}" if one.stays else goes
    return short(one.conversation), one.door, f"last {when(one.last_at)}", stands, one.title


@retention.command(epilog=("\b\nExamples:\n  angelia retention run --dry-run\n  angelia retention run"))
@click.option("--dry-run", is_flag=True, help="Say what would be erased now, and erase nothing.")
@settings_options
def run(dry_run: bool, **given: Any) -> int:
    """Erase now what is due, as is done once a day."""
    return asyncio.run(_run(dry_run, given))


async def _run(dry_run: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        if dry_run:
            await _show(app.retention, 0)
        else:
            erased = await app.retention.erase_what_is_over(app.clock())
            many = "1 conversation is" if len(erased) == 1 else f"{len(erased)} conversations are"
            echo(f"{many} erased. `angelia retention` says what stays, and why.")
    finally:
        await app.close()
    return 0


@retention.command(
    epilog=("\b\nExamples:\n  angelia retention keep 5c8r2n6h\n  angelia retention keep 5c8r2n6h --no-longer")
)
@click.argument("conversation", metavar="ID", shell_complete=completion.conversations)
@click.option("--no-longer", is_flag=True, help="Let the settings apply to it again.")
@settings_options
def keep(conversation: str, no_longer: bool, **given: Any) -> int:
    """Keep a conversation, whatever the settings say."""
    return asyncio.run(_keep(conversation, no_longer, given))


async def _keep(part: str, no_longer: bool, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        found = await app.transcript.find(OWNER, part)
        await (app.retention.keep_no_longer(found) if no_longer else app.retention.keep(found))
    finally:
        await app.close()
    echo(f"The settings hold for {short(found)} again." if no_longer else f"{short(found)} is kept.")
    return 0
