"""The program's own help as Markdown: each command's `--help`, and the commands and keys of a conversation."""

from collections.abc import Iterator

import click

from angelia.faces.cli.chat.commands import COMMANDS as TALK
from angelia.faces.cli.chat.commands import KEYS
from angelia.faces.cli.main import COMMANDS, angelia
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
    """What can be typed after a slash, and which keys do something."""
    yield "## Commands"
    rows = [(f"`{name} {command.takes}`".replace(" `", "`"), command.help) for name, command in TALK.items()]
    yield table(("type", "and it will"), rows)
    yield "A text that begins with a space, or names a file that exists, is no command."
    yield "## Keys"
    yield table(("press", "and it will"), [(keys, does) for keys, does in KEYS])
