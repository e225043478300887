"""The program's own help as Markdown: each command's `--help`, and the commands and keys of a conversation."""

from collections.abc import Iterator

import click

from angelia.faces.cli.chat.commands import KEYS
from angelia.faces.cli.main import COMMANDS, angelia
from angelia.service.command_port import CommandPlace, CommandRight
from angelia.service.commands import COMMANDS as TALK
from angelia.service.commands import TerminalCommand, usage
from docs.markdown import table

COLUMNS = 100


def commands() -> Iterator[str]:
    """`angelia --help`, then that of each command and of each command beneath it."""
    yield _help(angelia, "angelia", None)
    with _context(angelia, "angelia", None) as top:
        for name in COMMANDS:
            command = angelia.get_command(top, name)
            assert command is not None
            yield from _with_inner(command, name, top)


def _with_inner(command: click.Command, name: str, outer: click.Context) -> Iterator[str]:
    yield _help(command, name, outer)
    if isinstance(command, click.Group):
        with _context(command, name, outer) as here:
            for inner, one in command.commands.items():
                yield _help(one, inner, here)


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return command.context_class(
        command,
        parent=parent,
        info_name=name,
        terminal_width=COLUMNS,
        max_content_width=COLUMNS,
        resilient_parsing=True,
        **command.context_settings,
    )


def _help(command: click.Command, name: str, parent: click.Context | None) -> str:
    with _context(command, name, parent) as context:
        return f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```"


def talk() -> Iterator[str]:
    """What can be typed after a slash and where, who may, and which keys do something."""
    yield "## Commands"
    rows = [
        (f"`{usage(one, CommandPlace.TERMINAL)}`", one.help, *(_shown(one, place) for place in CommandPlace), _who(one))
        for one in TALK
    ]
    yield table(("type", "and it will", *CommandPlace, "who may"), rows)
    yield "At the terminal a text that begins with a space, or names a file that exists, is no command."
    yield "## Not everywhere"
    absent = [(f"`/{one.name}`", place.value, why) for one in TALK for place, why in one.absent.items()]
    yield table(("command", "not in", "since"), absent)
    yield "## Keys of the terminal"
    yield table(("press", "and it will"), [(keys, does) for keys, does in KEYS])


def _shown(command: TerminalCommand, place: CommandPlace) -> str:
    return "" if place in command.absent else "✔"


def _who(command: TerminalCommand) -> str:
    if command.who_with is CommandRight.EVERYBODY:
        return command.who.value
    return f"{command.who.value}; to change it: {command.who_with.value}"
