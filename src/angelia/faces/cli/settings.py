"""`angelia config` and `grants`: what is set, how it is changed, and what was permitted."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from angelia.core.entry import AdminAct
from angelia.core.errors import BadInput
from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli import completion
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.words.output import echo, sure
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.settings.config import home_folder, listed
from angelia.store.tables.grants import Grant

if TYPE_CHECKING:
    from angelia.service.settings.config_file import ConfigFile


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia config\n  angelia config set limits.max_steps 20\n  angelia config edit"),
)
@settings_options
@click.pass_context
def config(ctx: click.Context, /, **given: Any) -> int | None:
    """Show every setting and where its value came from, never a key; or change one."""
    return _show("", given) if ctx.invoked_subcommand is None else None


@config.command(epilog=("\b\nExamples:\n  angelia config show\n  angelia config show limits"))
@click.argument("key", default="", shell_complete=completion.settings)
@settings_options
def show(key: str, **given: Any) -> int:
    """Show the settings whose names begin with KEY. Without KEY, all of them; each with where its value came from."""
    return _show(key, given)


def _show(key: str, given: dict[str, Any]) -> int:
    loaded = loaded_from(given)
    every = [
        (name, origin.replace(f"{loaded.home}/", ""), msgspec.json.encode(value).decode())
        for name, value, origin in listed(loaded)
    ]
    rows = [row for row in every if not key or f"{row[0]}.".startswith(f"{key}.")]
    if not rows:
        from angelia.service.settings.faults import like

        raise BadInput(f"There is no setting {key!r}.", like(key, [row[0] for row in every]))
    columns = screen().columns if sys.stdout.isatty() else 0
    echo("\n".join(table([("SETTING", "FROM", "VALUE"), *rows], columns)))
    return 0


@config.command(
    "set",
    epilog=("\b\nExamples:\n  angelia config set policy.mode ask\n  angelia config set fallback ollama:qwen3"),
    context_settings={"ignore_unknown_options": True},  # a number below zero is no option
)
@click.argument("key", shell_complete=completion.settings)
@click.argument("value")
def set_value(key: str, value: str) -> int:
    """Change one setting in config.toml. A value that does not fit is refused, and nothing is changed."""
    file = _file()
    stored = file.set(key, value)
    echo(f"{key} is {msgspec.json.encode(stored).decode()} now, in {file.path}.")
    return 0


@config.command(epilog=("\b\nExample:\n  angelia config unset limits.max_steps"))
@click.argument("key", shell_complete=completion.settings)
def unset(key: str) -> int:
    """Remove a setting, or a group, from config.toml. The default applies again."""
    file = _file()
    if not file.unset(key):
        raise BadInput(
            f"{key} does not stand in {file.path}.", then="`angelia config show` says where values come from."
        )
    echo(f"{key} is taken out of {file.path}.")
    return 0


@config.command(epilog=("\b\nExample:\n  EDITOR=nano angelia config edit"))
def edit() -> int:
    """Edit config.toml in your editor ($VISUAL, $EDITOR). It is put in place only if nothing in it is wrong."""
    from angelia.service.settings.private_file import write_private

    file = _file()
    before = file.text()
    draft = file.path.with_name("config.draft.toml")
    write_private(draft, before)
    try:
        return _edited(file, draft, before)
    finally:
        draft.unlink(missing_ok=True)


def _edited(file: "ConfigFile", draft: Path, before: str) -> int:
    while True:
        try:
            click.edit(filename=str(draft))
        except click.ClickException as failed:
            what = f"The editor could not be used: {failed.message.rstrip('.')}. Nothing was changed."
            raise BadInput(what, then="Name another in VISUAL or EDITOR, such as EDITOR=nano.") from failed
        text = draft.read_text("utf-8")
        if text == before:
            echo("Nothing was changed.")
            return 0
        try:
            file.replace(text)
        except BadInput as wrong:
            echo(str(wrong), err=True)
            if sys.stdin.isatty() and sure("Open it again? Otherwise what you wrote is thrown away."):
                continue
            return 2
        echo(f"{file.path} is changed.")
        return 0


@config.command()
def path() -> int:
    """Print where config.toml is."""
    echo(home_folder() / "config.toml")
    return 0


def _file() -> "ConfigFile":
    from angelia.service.settings.config_file import ConfigFile

    return ConfigFile(home_folder())


@click.command(epilog=("\b\nExamples:\n  angelia grants\n  angelia grants revoke 3"))
@click.argument("what", metavar="[revoke N]", nargs=-1)
@settings_options
def grants(what: tuple[str, ...], **given: Any) -> int:
    """List remembered permissions, or take one back."""
    match what:
        case ():
            return asyncio.run(_grants(given))
        case ("revoke", number) if number.isdecimal():
            return asyncio.run(_revoke(int(number), given))
        case _:
            raise BadInput(f"grants does not take {' '.join(what)!r}.", then="Example: angelia grants revoke 3")


async def _grants(given: dict[str, Any]) -> int:
    app = await open_app(given)
    rows = [_row(grant) for grant in await app.grants.list(OWNER)]
    if not rows:
        echo("Nothing is permitted beyond what the mode allows.", err=True)
        return 0
    head = ("N", "WHAT", "WHERE", "GIVEN", "UNTIL")
    echo("\n".join(table([head, *rows], screen().columns if sys.stdout.isatty() else 0)))
    return 0


def _row(grant: Grant) -> tuple[str, ...]:
    scope = f"conversation {short(grant.conversation)}" if grant.conversation else grant.workspace
    until = when(grant.until) if grant.until else "no end"
    return (str(grant.id), grant.pattern, scope, when(grant.given_at), until)


async def _revoke(number: int, given: dict[str, Any]) -> int:
    app = await open_app(given)
    await app.grants.require(OWNER, number)
    await app.audit.record(AdminAct.GRANT_REVOKED, OWNER, str(number))
    await app.grants.revoke(OWNER, number)
    echo(f"Grant {number} is taken back.", err=True)
    return 0
