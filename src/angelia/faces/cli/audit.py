"""`angelia audit`: who approved, changed, let in and erased what, out of the log; as it goes on, if that is wanted."""

import asyncio
import sys
from datetime import datetime
from typing import Any

import click
import msgspec

from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.principal import Principal
from angelia.core.text import one_line
from angelia.core.unambiguous import unambiguous_line
from angelia.faces.cli.options import open_to_read, settings_options
from angelia.faces.words.decisions import decider, decision_words
from angelia.faces.words.output import echo, echo_json
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.audit import LOG
from angelia.store.log.audit_trail import AuditQuery, Decided, audit_trail

_QUESTION = 80
"""Characters of a question that a line shows; `angelia show` has all of it."""


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia audit --since 2026-11-01\n"
        "  angelia audit --person telegram:4711\n"
        "  angelia audit --format jsonl --follow >> audit.jsonl"
    )
)
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Only what came after; local time."
)
@click.option("--person", metavar="PRINCIPAL", help="Only what this person decided, or what was done about them.")
@click.option("--format", "form", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
@click.option("--follow", is_flag=True, help="Go on with what is decided from now on, until interrupted.")
@settings_options
def audit(since: datetime | None, person: str | None, form: str, follow: bool, **given: Any) -> int:
    """Show who said yes or no to what, and who changed what: grants, people, keys, settings, schedules, erasures.

    It is a view of the log; its checksums show what was altered or left out (`angelia store verify`). What cannot be
    read has a line that says so.
    """
    moment = int(since.timestamp() * 1000) if since and since.year > 1970 else 0
    wanted = AuditQuery(moment, Principal.parse(person) if person else None)
    return asyncio.run(_audit(wanted, (form == "jsonl", follow), given))


async def _audit(wanted: AuditQuery, how: tuple[bool, bool], given: dict[str, Any]) -> int:
    as_json, follow = how
    home = await open_to_read(given)
    count = 0
    async for found in audit_trail(home.db, wanted):
        count += len(found)
        if not found and not follow:
            break
        _show(found, as_json=as_json)
    if not count:
        echo("Nothing was decided or changed.", err=True)
    return 0


def _show(found: list[Decided], *, as_json: bool) -> None:
    if as_json:
        for one in found:
            echo_json(msgspec.json.encode(_as_told(one)))
    elif found:
        echo("\n".join(table([_row(one) for one in found], screen().columns if sys.stdout.isatty() else 0)))


def _as_told(one: Decided) -> dict[str, Any]:
    place = {"mark": f"{one.place}.{one.conversation}.{one.seq}", "at": one.at}
    return {
        **place,
        "by": decider(one),
        "did": decision_words(one.fact),
        "question": one.question,
        "fact": one.fact,
    }


def _row(one: Decided) -> tuple[str, ...]:
    where = "" if one.conversation == LOG else short(one.conversation)
    did = decision_words(one.fact)
    asked = f"{did}: {unambiguous_line(one_line(one.question, _QUESTION))}" if one.question else did
    return when(one.at), decider(one), where, asked
