"""`angelia acp`: editors talk to Angelia over stdin and stdout."""

import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import Any

import click

from angelia.core.errors import BadInput
from angelia.faces.cli.options import loaded_from, turn_options
from angelia.faces.words.output import echo


@click.command(
    epilog=(
        "\b\nExample:\n  angelia acp --setup zed --write\n\nAn editor starts the command itself; see its settings."
    ),
)
@click.option("--setup", type=click.Choice(["zed", "jetbrains", "neovim"]), help="Print an editor's configuration.")
@click.option("--write", is_flag=True, help="With --setup: put the configuration where the editor reads it.")
@turn_options
def acp(setup: str | None, *, write: bool, **given: Any) -> int:
    """Speak the Agent Client Protocol, so that editors (Zed, JetBrains, Neovim, …) can use Angelia."""
    if setup:
        from angelia.faces.acp.setup import set_up

        echo(set_up(setup, Path.home(), os.environ, write=write))
        return 0
    if write:
        raise BadInput("--write belongs to --setup.", then="Example: angelia acp --setup zed --write")
    if sys.stdin.isatty():
        raise BadInput(
            "This command is started by an editor, and speaks to it over pipes.",
            then="`angelia acp --setup zed` says how to tell Zed; `angelia` talks to you here.",
        )
    gc.enable()
    gc.freeze()
    from angelia.faces.acp.serve import serve
    from angelia.service.own_process import raise_descriptor_limit

    raise_descriptor_limit()
    return asyncio.run(serve(loaded_from(given)))
