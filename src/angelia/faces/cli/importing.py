"""`angelia import`: what another agent kept, taken over from its home."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
import msgspec

from angelia.core.counts import counted
from angelia.core.ids import wall_clock
from angelia.core.unambiguous import unambiguous_line
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo, echo_json
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.imports.account import FileVerdict, ImportAccount, account_rows
from angelia.service.imports.agents import AGENTS
from angelia.service.imports.beginning import beginnings
from angelia.service.imports.home_import import HomeImport
from angelia.service.imports.old_home import OldHome
from angelia.service.imports.port import OldAgent
from angelia.service.imports.taking import ImportTarget

_MOST_TIMERS = 20
"""Old timers that are named one by one."""


@click.command(
    "import",
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia import hermes ~/.hermes --dry-run\n"
        "  angelia import openclaw ./old-home --me telegram:4711\n"
        "  angelia import claude ~/.claude"
    ),
)
@click.argument("agent", type=click.Choice(list(AGENTS)))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", "dry", is_flag=True, help="Say what would be taken, and take nothing.")
@click.option("--me", "mine", multiple=True, metavar="NETWORK:ID", help="You, as that agent knew you in a chat.")
@click.option("--people", is_flag=True, help="Take over other people's conversations too, as theirs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line for each file.")
@click.option(
    "-C",
    "--workspace",
    type=click.Path(path_type=Path),
    help="Where conversations go on whose own folder is not here (default: the current one).",
)
@settings_options
def import_(agent: str, path: Path, as_json: bool, **given: Any) -> int:
    """Take over what another agent kept in its home, PATH. Nothing there is changed, and every file is accounted for.

    Conversations go on as conversations. Notes wait for your yes, skills for your review, and schedules are paused. A
    second run takes what is new.
    """
    return asyncio.run(_import(AGENTS[agent], path, as_json, given))


async def _import(agent: OldAgent, path: Path, as_json: bool, given: dict[str, Any]) -> int:
    home = OldHome(path, wall_clock())
    app = await open_app(given)
    try:
        target = ImportTarget(
            home=app.loaded.home,
            transcript=app.transcript,
            db=app.db,
            notes=app.notes,
            blobs=app.blobs,
            intake=app.intake,
            secrets=app.secrets,
            audit=app.audit,
            opened=beginnings(app.loaded, given["workspace"] or Path.cwd()),
            redact=app.redaction.text,
            mine=frozenset(given["mine"]),
            people=given["people"],
            dry=given["dry"],
        )
        with working(f"reading {home.path}"):
            account = await HomeImport(agent, home, target).run()
    finally:
        await app.close()
    if as_json:
        for file in account.files:
            echo_json(msgspec.json.encode(file))
        return 0
    counts = Counter(file.verdict for file in account.files)
    taken = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in FileVerdict)
    echo(f"{agent.title}, {unambiguous_line(str(home.path))}: {counted(len(account.files), 'file')}, {taken}\n")
    echo("\n".join(table(account_rows(account.files), screen().columns * sys.stdout.isatty())))
    echo("\n" + "\n".join(_next(agent, account, dry=given["dry"])))
    return 0


def _next(agent: OldAgent, account: ImportAccount, *, dry: bool) -> list[str]:
    """What is to be done now."""
    lines = []
    if account.conversations:
        lines.append("Conversations are searched when you ask, and listed by `angelia sessions`.")
    if account.waiting:
        lines.append(f"{_waits(account.waiting, 'note')} for your yes: `angelia notes`, then `angelia notes keep N …`.")
    if account.unseen:
        lines.append(f"{_waits(account.unseen, 'skill')} for your look: `angelia skills review`.")
    if account.helpers:
        lines.append(
            f"Comments in the settings hold {counted(account.helpers, 'helper preset')}: `angelia config edit`, and "
            "take the # from what you have read and want."
        )
    if account.paused:
        lines.append("What was scheduled is paused: `angelia schedule list`. First stop the old timers:")
        lines += [f"  {unambiguous_line(timer)}" for timer in account.timers[:_MOST_TIMERS]]
        if len(account.timers) > _MOST_TIMERS:
            lines.append(f"  and {len(account.timers) - _MOST_TIMERS:,} more: {agent.timers}")
    if account.people:
        some = ", ".join(unambiguous_line(one) for one in sorted(account.people)[:5])
        lines.append(
            f"Conversations with others were left ({some}): --me NETWORK:ID says which of them you are, --people takes "
            "the rest as theirs."
        )
    if account.keys:
        lines.append(
            f"{counted(len(account.keys), 'key')} {'is' if len(account.keys) == 1 else 'are'} kept by handle, and used "
            f"by nobody: `angelia secrets` lists them, and a setting names one, such as key_secret = "
            f'"{account.keys[0]}".'
        )
    if dry and lines:
        return ["Nothing was taken. Without --dry-run it is, and then:", *lines]
    return lines or ["There is nothing new."]


def _waits(count: int, what: str) -> str:
    return f"{counted(count, what)} {'waits' if count == 1 else 'wait'}"
