"""`angelia chat`: a conversation in the terminal."""

import asyncio
import gc
import os
import signal
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from angelia.core.errors import BadInput, MissingPart
from angelia.faces.cli.opening import conversation_options, short
from angelia.faces.cli.options import turn_options
from angelia.faces.cli.output import echo
from angelia.service.config import home_folder

if TYPE_CHECKING:
    from angelia.faces.cli.talk.input import Input
    from angelia.faces.cli.talk.talk import Talk


@click.command(
    epilog="Examples:  angelia  ·  angelia chat --continue  ·  angelia chat --model ollama:qwen3.  "
    "Within it, /help lists commands and keys."
)
@conversation_options
@turn_options
def chat(**given: Any) -> int:
    """Talk. Enter sends, Alt-Enter begins a new line, Esc stops the turn, Ctrl-D leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            "A conversation needs a terminal, and this is none.",
            then="Use `angelia ask`: angelia ask 'What is in this folder?'; it also takes piped text.",
        )
    if find_spec("prompt_toolkit") is None:
        raise MissingPart("The conversation in the terminal", "terminal")
    gc.enable()
    return asyncio.run(_chat(given))


async def _chat(given: dict[str, Any]) -> int:
    """The prompt is there first; what takes longer to load comes while the person begins to type."""
    from angelia.faces.cli.paint import screen as paint_for_screen
    from angelia.faces.cli.talk.screen import Screen
    from angelia.faces.cli.talk.talk import Talk

    talk = Talk(given, Screen(paint_for_screen()))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, talk.leave)  # the terminal is left as it was found
    try:
        await talk.run(_input(talk))
        if talk.opened.is_set() and talk.session.log.entries:
            _farewell(talk.session.conversation, unfinished=bool(talk.session.turn.opened))
    finally:
        await talk.close()
    return 0


def _input(talk: "Talk") -> "Input":
    from angelia.faces.cli.talk.around import around

    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        from angelia.faces.cli.talk.lines import Lines

        return Lines(around(talk), talk.hear)
    from angelia.faces.cli.talk.commands import completions
    from angelia.faces.cli.talk.prompt import Prompt

    return Prompt(home_folder() / "history", completions(talk), around(talk), talk.hear)


def _farewell(conversation: str, *, unfinished: bool) -> None:
    more = "The turn is not finished; it goes on when you open the conversation again. " if unfinished else ""
    echo(f"\n{more}To go on: angelia chat --resume {short(conversation)}")
