"""`angelia diff`: two conversations beside each other, from the first step to where they part, and on."""

import asyncio
from typing import Any

import click

from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.options import open_to_read, settings_options
from angelia.faces.words.difference_lines import difference_lines
from angelia.faces.words.output import echo


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia diff 5c8r2n6h 77abk2q4\n"
        "  angelia diff 5c8r2n6h 77abk2q4 --whole\n"
        "\n"
        "\b\n"
        "Exit codes:\n"
        "  0   alike\n"
        "  1   they differ"
    )
)
@click.argument("one", metavar="ID", shell_complete=completion.conversations)
@click.argument("other", metavar="ID", shell_complete=completion.conversations)
@click.option("--whole", is_flag=True, help="Show every step in full instead of its first words.")
@settings_options
def diff(one: str, other: str, whole: bool, **given: Any) -> int:
    """Compare two conversations: what was said, the calls and their results, and how turns ended, not times and ids."""
    return asyncio.run(_diff(one, other, given, whole=whole))


async def _diff(one: str, other: str, given: dict[str, Any], *, whole: bool) -> int:
    from angelia.service.replays.differences import compared, departure

    home = await open_to_read(given)
    ids = [await home.transcript.find(OWNER, part) for part in (one, other)]
    left, right = [await home.transcript.entries(found) for found in ids]
    ranges = compared(left, right)
    echo(f"--- {short(ids[0])}\n+++ {short(ids[1])}")
    for line in difference_lines(ranges, **({"most": 0} if whole else {})):
        echo(line)
    parted = departure(ranges)
    if parted is None:
        echo("angelia: they are alike, but for times and ids.", err=True)
    return 0 if parted is None else 1
