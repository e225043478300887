"""`angelia bisect`: after which entry of a conversation a check says something else."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

from angelia.core.principal import OWNER
from angelia.core.text import one_line
from angelia.faces.cli import completion
from angelia.faces.cli.options import Amount, open_app, settings_options
from angelia.faces.words.output import echo

if TYPE_CHECKING:
    from angelia.service.replays.bisection import CheckedAt

_REASON = 200


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia bisect 5c8r2n6h --check check.py\n"
        "  angelia bisect 5c8r2n6h --check 'python -m pytest -q tests'"
    )
)
@click.argument("conversation", metavar="ID", shell_complete=completion.conversations)
@click.option("--check", required=True, metavar="FILE", help="A Python file, or a command run in a copy of the folder.")
@click.option("--seconds", type=Amount(min=1), default=300.0, show_default=True, help="Seconds for each check.")
@settings_options
def bisect(conversation: str, check: str, seconds: float, **given: Any) -> int:
    """Find by bisection the entry after which a check begins to fail, or to pass; the folder itself is not touched."""
    return asyncio.run(_bisect(conversation, check, seconds, given))


async def _bisect(part: str, check: str, seconds: float, given: dict[str, Any]) -> int:
    from functools import partial

    from angelia.service.batches.tasks import Task, whole_check
    from angelia.service.replays.bisection import BisectDeps, bisect
    from angelia.service.replays.differences import log_steps
    from angelia.service.replays.own_copies import OwnCopies

    app = await open_app(given)
    try:
        source = await app.transcript.find(OWNER, part)
        entries = await app.transcript.entries(source)
        copies = OwnCopies.of(app.loaded, app.undo, app.transcript)
        lay_out = partial(copies.lay_out, app.transcript, source)
        deps = BisectDeps(app.conversations, app.blobs, lay_out, app.places.end)
        task = Task(id=source, prompt="", check=whole_check(check), check_seconds=seconds)
        found = await bisect(deps, entries, task, _tell)
    finally:
        await app.close()
    for sentence in dict.fromkeys(copies.lost):
        echo(f"angelia: {sentence}", err=True)
    echo(
        f"It says {_verdict(found.before)} to entry {found.before.seq}, {_verdict(found.after)} from {found.after.seq}."
    )
    for step in log_steps(entries[: found.after.seq]):
        if step.seq > found.before.seq:
            echo(f"  {step.seq:>4} {step.by:<7} {one_line(step.what, _REASON)}")
    return 0


def _verdict(one: "CheckedAt") -> str:
    return "yes" if one.passed else "no"


def _tell(one: "CheckedAt") -> None:
    why = f": {one_line(one.came.why, _REASON)}" if one.came.why else ""
    echo(f"angelia: entry {one.seq}: {_verdict(one)}{why}", err=True)
