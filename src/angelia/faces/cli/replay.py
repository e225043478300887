"""`angelia replay`: asks the same again, and shows where what came of it departs."""

import asyncio
from typing import Any

import click

from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.options import Amount, Whole, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.difference_lines import difference_lines
from angelia.faces.words.output import echo


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia replay 5c8r2n6h\n"
        "  angelia replay 5c8r2n6h --model ollama:qwen3 --from 42\n"
        "\n"
        "\b\n"
        "Exit codes:\n"
        "  0   alike\n"
        "  1   it departed"
    )
)
@click.argument("conversation", metavar="ID", shell_complete=completion.conversations)
@click.option("--model", metavar="VENDOR:NAME", help="Another model (default: the one that answered).")
@click.option("--from", "since", type=Whole(min=1), default=1, help="The first entry to ask again.")
@click.option("--max-cost", type=Amount(min=0), help="US dollars for one turn, at most.")
@settings_options
def replay(conversation: str, since: int, **given: Any) -> int:
    """Say the same again, in a copy of the folder as it was, and show where the course differs. Nobody is asked
    anything.
    """
    return asyncio.run(_replay(conversation, since, given))


async def _replay(part: str, since: int, given: dict[str, Any]) -> int:
    from angelia.core import entry as e
    from angelia.service.models.choice import choose
    from angelia.service.replays.differences import compared, departure
    from angelia.service.replays.own_copies import OwnCopies
    from angelia.service.replays.replay import ReplayDeps, replay

    app = await open_app(given)
    try:
        source = await app.transcript.find(OWNER, part)
        entries = await app.transcript.entries(source)
        answered = next((one.fact.model for one in reversed(entries) if isinstance(one.fact, e.ModelSaid)), "")
        model = given["model"] or answered
        if not model:
            model = (await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)).spec
        copies = OwnCopies.of(app.loaded, app.undo, app.transcript)
        deps = ReplayDeps(app.conversations, app.transcript, app.clock, copies.lay_out_or_beside)
        with working(f"asking {model} again"):
            made = await replay(deps, source, model, since)
        again = await app.transcript.entries(made)
    finally:
        await app.close()
    ranges = compared(entries, again)
    for sentence in copies.lost:
        echo(f"angelia: {sentence}", err=True)
    echo(f"--- {short(source)} {answered}\n+++ {short(made)} {model}".rstrip())
    for line in difference_lines(ranges):
        echo(line)
    parted = departure(ranges)
    said = "it came to the same" if parted is None else "it departed, as shown"
    echo(f"angelia: {said}; angelia chat --resume {short(made)} goes on with it.", err=True)
    return 0 if parted is None else 1
