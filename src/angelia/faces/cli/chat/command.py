"""`angelia chat`: a conversation in the terminal."""

import asyncio
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from angelia.core.errors import BadInput
from angelia.core.ids import short
from angelia.faces.cli.open_conversation import conversation_options
from angelia.faces.cli.options import turn_options
from angelia.faces.words.output import echo
from angelia.service.settings.config import home_folder

if TYPE_CHECKING:
    from angelia.faces.cli.chat.app import ChatApp
    from angelia.faces.cli.chat.input import Input


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia\n"
        "  angelia chat --continue\n"
        "  angelia chat --model ollama:qwen3\n"
        "\n"
        "Within it, /help lists commands and keys."
    )
)
@conversation_options
@turn_options
@click.option("--plain", is_flag=True, help="Plain text, line after line: for screen readers and simple terminals.")
def chat(*, plain: bool, **given: Any) -> int:
    """Open a conversation. Enter sends, Alt-Enter begins a new line, Esc stops the turn, Ctrl-D leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            "A conversation needs a terminal, and this is none.",
            then="Use `angelia ask`: angelia ask 'What is in this folder?'; it also takes piped text.",
        )
    gc.enable()
    return asyncio.run(_chat(given, plain=plain or os.environ.get("TERM", "dumb") in ("dumb", "unknown")))


async def _chat(given: dict[str, Any], *, plain: bool) -> int:
    """The prompt is there first; what takes longer to load comes while the person begins to type."""
    from angelia.faces.cli.chat.app import ChatApp
    from angelia.faces.cli.chat.commands import TerminalCommandPort
    from angelia.faces.cli.chat.screen import Screen
    from angelia.faces.words.paint import Paint
    from angelia.faces.words.paint import screen as paint_for_screen

    chat = ChatApp(given, Screen(Paint.in_words() if plain else paint_for_screen()), TerminalCommandPort)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, chat.leave)  # the terminal is left as it was found
    try:
        await chat.run(_input(chat, plain=plain))
        if chat.opened.is_set() and chat.session.log.entries:
            _farewell(chat.session.conversation, unfinished=bool(chat.session.turn.opened))
    finally:
        await chat.close()
    return 0


def _input(chat: "ChatApp", *, plain: bool) -> "Input":
    from angelia.faces.cli.chat.prompt_frame import prompt_frame

    if plain:
        from angelia.faces.cli.chat.lines import Lines

        return Lines(prompt_frame(chat), chat.hear)
    from angelia.faces.cli.chat.commands import completions
    from angelia.faces.cli.chat.prompt import Prompt

    return Prompt(home_folder() / "history", completions(chat), prompt_frame(chat), chat.hear)


def _farewell(conversation: str, *, unfinished: bool) -> None:
    more = "The turn is not finished; it goes on when you open the conversation again. " if unfinished else ""
    echo(f"\n{more}To go on: angelia chat --resume {short(conversation)}")
