"""`angelia mcp add` and `remove`: servers of the settings."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from angelia.core.errors import BadInput
from angelia.core.unambiguous import unambiguous_line
from angelia.faces.cli import completion
from angelia.faces.cli.options import loaded_from, settings_options
from angelia.faces.words.output import echo, sure
from angelia.service.conversation.servers import configured
from angelia.service.settings.config_file import ConfigFile
from angelia.service.settings.secret_refs import SecretRefs
from angelia.service.settings.server_logins import ServerLogins
from angelia.tools.mcp.registry_entry import entry_in, settings_of
from angelia.tools.mcp.server import HIDDEN, secretive
from angelia.tools.mcp.settings import ServerSettings

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@click.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
        "  angelia mcp add linear --url https://mcp.linear.app/mcp\n"
        "  angelia mcp add brave --from server.json"
    ),
)
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", default="", help="A site instead of a command.")
@click.option("--sse", is_flag=True, help="The site speaks the older of the two transports.")
@click.option("--from", "file", type=click.Path(path_type=Path), help="A registry's server.json.")
@click.option("--value", "values", multiple=True, metavar="NAME=VALUE", help="What a server.json asks for; repeatable.")
@click.option(
    "--env", "env", multiple=True, metavar="NAME=VALUE", help="A variable for its program; ${NAME} stands for yours."
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VALUE",
    help="A header for its site; ${NAME} stands for a secret of yours.",
)
@click.option("--inside", is_flag=True, help="Its program runs in the conversation's sandbox.")
@click.option("--allow", is_flag=True, help="Its tools may be used without asking.")
@click.option("--yes", is_flag=True, help="Do not ask about what a server.json would set.")
@settings_options
def add(name: str, command: tuple[str, ...], **given: Any) -> int:
    """Add an MCP server to the settings. It is a command to start, a site, or what a server.json describes."""
    file = ConfigFile(loaded_from(given).home)
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name for a server.", then="Take up to 40 of a-z, A-Z, 0-9, _ and -.")
    if name in loaded_from(given).config.mcp.servers:
        raise BadInput(f"There is a server {name} already.", then=f"`angelia mcp remove {name}` takes it away.")
    section = _section(command, given)
    settings = configured(name, _as_settings(section), SecretRefs({}))
    if given["file"] and not given["yes"] and not _meant(settings.shown, section):
        echo("Nothing was added.", err=True)
        return 1
    file.set_all({f"mcp.servers.{name}.{key}": value for key, value in section.items()})
    echo(f"{name} is added: {unambiguous_line(settings.shown)}. `angelia mcp test {name}` tries it.")
    for told in _told(section):
        echo(told, err=True)
    return 0


def _section(command: tuple[str, ...], given: dict[str, Any]) -> dict[str, Any]:
    """What stands in the settings."""
    if given["file"] and (command or given["url"]):
        raise BadInput("A server.json says how the server is reached.", then="Leave the command or --url away.")
    section: dict[str, Any] = {}
    if given["file"]:
        section = settings_of(entry_in(_read(given["file"])), _pairs(given["values"], "--value"))
    elif given["url"]:
        section = {"url": given["url"], **({"transport": "sse"} if given["sse"] else {})}
    if command:
        section["command"] = list(command)
    for key, flag in (("env", "--env"), ("headers", "--header")):
        pairs = _pairs(given["headers" if key == "headers" else "env"], flag)
        if pairs:
            section[key] = {**section.get(key, {}), **pairs}
    more = {"where": "sandbox"} if given["inside"] else {}
    return {**section, **more, **({"allow": True} if given["allow"] else {})}


def _as_settings(section: dict[str, Any]) -> ServerSettings:
    values = {**section, "command": tuple(section.get("command", ()))}
    return ServerSettings(**values)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror or error}.") from error


def _pairs(given: Iterable[str], flag: str) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if bad := next((name for name, equals, _ in pairs if not name or not equals), None):
        raise BadInput(f"{flag} takes NAME=VALUE, and was given {bad!r}.")
    return {name: value for name, _, value in pairs}


def _meant(shown: str, section: dict[str, Any]) -> bool:
    """Whether the person wants what somebody else's file makes of it.

    Raises:
        BadInput: nobody is here to ask.
    """
    words = [f"  {unambiguous_line(shown)}"]
    words += [f"  {key}: {unambiguous_line(', '.join(section[key]))}" for key in ("env", "headers") if key in section]
    echo("\n".join(words), err=True)
    if not sys.stdin.isatty():
        raise BadInput("Nobody is here to say yes to this.", then="Scripts say --yes. Nothing was added.")
    return sure("Add this server? Its program is started without another question.")


def _told(section: dict[str, Any]) -> list[str]:
    """What has to be known of it: which variables it reads, and which values stand in the settings as they are."""
    handed = {**section.get("env", {}), **section.get("headers", {})}
    read = sorted({found for value in handed.values() for found in re.findall(r"\$\{(\w+)\}", value)})
    plain = sorted(name for name, value in handed.items() if secretive(name, value) and "${" not in value)
    told = [f"It reads {', '.join(read)} from your environment when it is reached."] if read else []
    if plain:
        told.append(
            f"The value of {', '.join(plain)} stands in config.toml ({HIDDEN}); ${{NAME}} or ${{file:PATH}} would not."
        )
    return told


@click.command(epilog=("\b\nExample:\n  angelia mcp remove files"))
@click.argument("name", shell_complete=completion.servers)
@settings_options
def remove(name: str, **given: Any) -> int:
    """Remove an MCP server from the settings. The login there is forgotten."""
    loaded = loaded_from(given)
    server = loaded.config.mcp.servers.get(name)
    if server is None or not ConfigFile(loaded.home).unset(f"mcp.servers.{name}"):
        known = ", ".join(loaded.config.mcp.servers) or "none; `angelia mcp add` adds one"
        raise BadInput(f"There is no server {name!r} in the settings of this home.", then=f"There are: {known}.")
    forgotten = ServerLogins(loaded.home, SecretRefs({})).forget(name)
    login = ", and its login is forgotten" if forgotten else ""
    echo(f"{name} is removed{login}. It was: {unambiguous_line(configured(name, server, SecretRefs({})).shown)}")
    return 0
