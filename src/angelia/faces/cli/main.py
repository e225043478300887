"""The commands there are; each is loaded when it is called."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import StringIO

import click

from angelia.core.version import PACKAGE_VERSION
from angelia.faces.words.output import echo, sure

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Talk": {
        "chat": ("chat.command:chat", "Open a conversation (this is what plain `angelia` does)."),
        "ask": ("ask:ask", "Ask one question; the answer goes to stdout."),
        "web": ("web:web", "Open the page: conversations, what waits for you, what was sent."),
        "acp": ("acp:acp", "Let an editor use Angelia (Agent Client Protocol)."),
        "setup": ("setup.command:setup", "Set everything up by answering a few questions."),
    },
    "Conversations": {
        "sessions": ("history:sessions", "List conversations."),
        "show": ("show:show", "Show a conversation."),
        "search": ("history:search", "Find words in all conversations."),
        "tree": ("tree:tree", "Show a conversation and its helpers: tasks, state, cost."),
        "receipts": ("history:receipts", "Show what was delivered, and what became of it."),
        "undo": ("undo:undo", "Take back what a turn changed in the workspace."),
        "fork": ("fork:fork", "Begin a new conversation with the past of another."),
        "export": ("show:export", "Write a conversation as Markdown or JSON lines."),
        "diff": ("diff:diff", "Compare two conversations."),
        "replay": ("replay:replay", "Say the same again, and see where the course differs."),
        "bisect": ("bisecting:bisect", "Find the entry after which a check begins to fail, or to pass."),
        "delete": ("history:delete", "Erase a conversation for good."),
        "retention": ("retention:retention", "Show how long conversations are kept, and which go next."),
    },
    "Work without you": {
        "schedule": ("schedule:schedule", "Have things done at set times: add, list, pause, look at."),
        "clock": ("schedule:clock", "Begin what is scheduled, where no gateway does."),
        "signals": ("signals:signals", "List what may begin a turn from outside, or send a signal."),
        "batch": ("batch.command:batch", "Run many tasks, check what came of each, and count."),
    },
    "Chats and people": {
        "gateway": ("gateway:gateway", "Keep Angelia reachable in chat networks."),
        "channels": ("channels:channels", "List, add and test chat networks."),
        "pair": ("pair:pair", "Say who else may talk to Angelia in chats."),
        "people": ("people:people", "List whom Angelia knows; export or erase what is stored of them."),
        "audit": ("audit:audit", "Show who approved, changed or erased what, and who let whom in."),
        "cluster": ("cluster:cluster", "List the machines that share a log, or take one out of work."),
    },
    "What it works with": {
        "models": ("models:models", "List models, or say which one would be used."),
        "tools": ("models:tools", "List the tools a model can call."),
        "mcp": ("mcp:mcp", "List, add and test MCP servers, or be one (`serve`)."),
        "skills": ("skills:skills", "List skills, look into them, say which the model may use."),
        "notes": ("notes:notes", "Show what is remembered, and why; keep, drop or edit it."),
        "sandbox": ("sandbox:sandbox", "List, enter or end the places where conversations work."),
        "browser": ("browser_profiles:browser", "Keep logins of the model's browser, by name."),
        "paint": ("painting:paint", "Make a picture from words, or change one."),
        "voices": ("voices:voices", "List voices, and hear what they sound like."),
    },
    "Settings and permissions": {
        "config": ("settings:config", "Show every setting and where its value came from, or change one."),
        "trust": ("trust:trust", "Say which folders' instructions (AGENTS.md) the model may follow."),
        "grants": ("settings:grants", "List remembered permissions, or take one back."),
        "secrets": ("kept_secrets:secrets", "Keep passwords, keys and codes; none is ever shown again."),
    },
    "Upkeep": {
        "doctor": ("doctor:doctor", "Check model, store and sandbox, and say how to mend them."),
        "docs": ("docs:docs", "Read the documents of this version."),
        "backup": ("backup:backup", "Put everything into one checked file, while Angelia works."),
        "restore": ("backup:restore", "Make a home from a backup."),
        "store": ("upkeep:store", "Verify, rebuild, copy or salvage the store."),
        "import": ("importing:import_", "Take over what another agent kept: Hermes, OpenClaw, Claude Code."),
        "update": ("update:update", "Install another version; if it does not come up, go back."),
        "uninstall": ("update:uninstall", "Say how Angelia is removed, and what stays."),
    },
    "For developers": {
        "new": ("new_package.command:new", "Begin a package with a tool, channel or model, or a skill."),
        "test-kit": ("test_kit:test_kit", "Check a channel, sandbox, model or store against its port."),
    },
}
"""What is listed under which heading: where each command is, and what it is for."""

COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
_WIDEST = max(map(len, COMMANDS))


_SENTENCE = 4
"""Words that are no command of ours with a few arguments, but what somebody wants to say."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, and named without being imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What begins with an option of a conversation opens one, as plain `angelia` does."""
        first = args[0] if args else ""
        talks = first.startswith("-") and first not in ("-", "--", "-h", "--help", "-V", "--version")
        return super().parse_args(ctx, ["chat", *args] if talks else args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"angelia.faces.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say of an unknown command which one is like it; of what reads like a sentence, how to ask it."""
        name, sentence = args[0], " ".join(args)
        if name not in COMMANDS and not name.startswith("-"):
            if len(sentence.split()) >= _SENTENCE or " " in name:
                import shlex

                words = f"{name!r} is no command. To ask it: angelia ask {shlex.quote(sentence)}"
                raise click.exceptions.NoSuchCommand(name, words, ctx=ctx)
            raise click.exceptions.NoSuchCommand(name, None, COMMANDS, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The lists in `--help`, from the table alone; all of them have the same columns."""
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(_WIDEST), text) for name, (_, text) in commands.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia\n"
        "  angelia ask 'What is in this folder?'\n"
        "  angelia ask --file report.pdf 'Sum it up'\n"
        "  angelia doctor\n"
        "\n"
        "\b\n"
        "Completion in bash, and likewise in zsh and fish:\n"
        '  eval "$(_ANGELIA_COMPLETE=bash_source angelia)"'
    ),
)
@click.version_option(PACKAGE_VERSION, "--version", "-V", message="angelia %(version)s")
@click.pass_context
def angelia(ctx: click.Context) -> int | None:
    """Angelia: a self-hosted agent. Nothing is lost and nothing is silent."""
    if ctx.invoked_subcommand is not None:
        return None
    if _first_start() and sure("Angelia is new here. Set it up now, by a few questions?", usual=True):
        ended = _invoked(ctx, "setup")
        if ended or _has_channels():
            return ended
    return _invoked(ctx, "chat")


def _invoked(ctx: click.Context, name: str) -> int:
    command = angelia.get_command(ctx, name)
    assert command is not None
    return int(ctx.invoke(command))


def _has_channels() -> bool:
    from angelia.service.settings.config import home_folder, load

    return bool(load(home_folder(), os.environ).config.channels)


def _first_start() -> bool:
    """Whether somebody sits before a home in which nothing was ever said or set."""
    from angelia.service.settings.config import home_folder

    home = home_folder()
    new = not (home / "config.toml").exists() and not (home / "angelia.db").exists()
    return new and sys.stdin.isatty() and sys.stdout.isatty()


_KEPT: list[BaseException] = []
"""What ended a command, and by its frames all that was half made then: an event loop, its first task. Python lets go
of these with the error, and complains of them on the terminal; a process that leaves need not.
"""


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code. An error is a sentence on stderr, never a stack trace."""
    _have_home()
    try:
        result = angelia.main(args=list(arguments), prog_name="angelia", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (click.Abort, KeyboardInterrupt) as left:
        stopped = isinstance(left.__context__ or left, KeyboardInterrupt)  # click makes an Abort of Ctrl-C, too
        if not stopped and not sys.stdin.isatty():
            echo("\nangelia: This was asked, and nobody is here to answer. Nothing more was done.", err=True)
        elif stopped and sys.stderr.isatty():
            echo("", err=True)  # what the shell says next is on a line of its own
        _KEPT.append(left)
        return 130
    except Exception as error:  # noqa: BLE001 - the last line of defence: a person gets a sentence and a code
        return _told(error)
    return result if isinstance(result, int) else 0


def _have_home() -> None:
    """A user without a home, such as a number that a container runs under, has one in which there is nothing."""
    if os.path.expanduser("~").startswith("~"):  # noqa: PTH111 - a version is told without importing pathlib
        os.environ["HOME"] = "/nonexistent"


def _told(error: Exception) -> int:
    """Say what went wrong; returns the exit code. What knows of errors is loaded when there is one."""
    from angelia.core.errors import AngeliaError, BadInput
    from angelia.faces.cli import exits

    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:  # a library ran it among tasks of its own
        error = error.exceptions[0]
    match error:
        case click.ClickException():
            told = StringIO()
            error.show(told)
            echo(told.getvalue(), err=True, end="")
            return exits.USAGE
        case BrokenPipeError():
            return exits.FAILED
        case FileNotFoundError() if _is_nowhere():
            echo("angelia: The folder in which this began is not there any more. Go to one that is: cd", err=True)
            return exits.USAGE
        case AngeliaError():
            echo(f"angelia: {error}", err=True)
            return exits.USAGE if isinstance(error, BadInput) else exits.FAILED
        case _:
            return _fault(error)


def _is_nowhere() -> bool:
    """Whether the folder in which this process is was removed."""
    try:
        os.getcwd()  # noqa: PTH109 - told without importing pathlib
    except FileNotFoundError:
        return True
    return False


def _fault(error: Exception) -> int:
    """Write the trace to the log file, and a sentence with its code to the person."""
    import logging

    from angelia.core.ids import sortable_id
    from angelia.faces.cli import exits
    from angelia.service.logs import log_file, log_to

    if not logging.getLogger("angelia").handlers:  # no home was opened yet
        log_file(os.environ).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log_to(log_file(os.environ), str)
    code = sortable_id()[-8:]
    logging.getLogger("angelia").error("fault %s", code, exc_info=error)
    echo(
        f"angelia: Something went wrong inside Angelia ({code}). Nothing that was acknowledged is lost. "
        f"The details are in {log_file(os.environ)}.",
        err=True,
    )
    return exits.FAULT
