"""`angelia mcp`: the servers of the settings, and what each of them brings."""

import asyncio
import sys
import time
from typing import Any

import click
from msgspec.structs import replace

from angelia.core.errors import BadInput, ConfigError
from angelia.core.text import one_line
from angelia.faces.cli.open_conversation import folder_here
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.policy.approvers import nobody
from angelia.policy.verdict import Trust
from angelia.sandboxes.port import Reach, SandboxError
from angelia.service.app import App
from angelia.service.conversation.servers import configured
from angelia.service.settings.secret_refs import SecretRefs
from angelia.tools.mcp.server import SandboxProgram, Server, ServerProgram, Site
from angelia.tools.mcp.servers import trouble
from angelia.tools.registry import Registry, made


@click.command(epilog="Examples:  angelia mcp list  ·  angelia mcp test github")
@click.argument("what", metavar="[list | test NAME]", nargs=-1)
@settings_options
def mcp(what: tuple[str, ...], **given: Any) -> int:
    """List the MCP servers of the settings, or connect to one and list its tools."""
    match what:
        case () | ("list",):
            return _list(given)
        case ("test", name):
            return asyncio.run(_test(name, given))
        case _:
            raise BadInput(f"mcp does not take {' '.join(what)!r}.", then="Example: angelia mcp test github")


def _list(given: dict[str, Any]) -> int:
    settings = loaded_from(given).config.mcp.servers
    if not settings:
        echo("There are no servers. Write [mcp.servers.NAME] into config.toml, with a command or a url.", err=True)
        return 0
    rows = []
    for name, server in settings.items():
        try:
            known = configured(name, server, SecretRefs({}))
        except ConfigError as error:
            rows.append((name, str(error), "", ""))
            continue
        trusted = "unasked" if known.trust is Trust.ALLOWED else "asks once"
        rows.append((name, one_line(known.shown, 300), _where(known), trusted))
    head = ("NAME", "SERVER", "WHERE", "ITS TOOLS")
    echo("\n".join(table([head, *rows], screen().columns if sys.stdout.isatty() else 0)))
    return 0


def _where(server: Server) -> str:
    match server.way:
        case Site():
            return "a site"
        case ServerProgram():
            return "this machine"
        case SandboxProgram(reach=Reach.NETWORK):
            return "the sandbox, with network"
        case SandboxProgram():
            return "the sandbox"


async def _test(name: str, given: dict[str, Any]) -> int:
    app = await open_app(given)
    if name not in app.loaded.config.mcp.servers:
        known = ", ".join(app.loaded.config.mcp.servers) or "none"
        raise BadInput(f"There is no server {name!r} in the settings.", then=f"There are: {known}.")
    with working(f"connecting to {name}"):
        lines, well = await look_at_server(app, name)
    echo("\n".join([f"{name} {lines[0]}.", *lines[1:]] if well else lines), err=not well)
    return 0 if well else 1


async def look_at_server(app: App, name: str) -> tuple[list[str], bool]:
    """Connect to a server of the settings: what came of it, then a line for each tool; whether it is well."""
    session = app.conversations.begin(door="terminal", workspace=folder_here(app, lambda text: echo(text, err=True)))
    settings = app.loaded.config.mcp.servers[name]
    only = replace(app.mcp_sources, settings=replace(app.loaded.config.mcp, servers={name: settings}))
    mcp_tools = app.conversations.servers(session, only, lambda: Registry.of(made(app.toolsets)[0]).names)
    try:
        if settings.where == "sandbox":
            app.conversations.open_workplace(session, approvers=nobody)
        mcp_tools.begin()
        began = time.monotonic()
        await mcp_tools.servers.settled()
        connection = mcp_tools.servers.get(name)
        if connection is None or trouble(connection):
            return mcp_tools.news(), False
        took = time.monotonic() - began
        lines = [f"answers after {took:.1f} s and brings {len(connection.tools)} tools"]
        lines += [f"{tool.name}\n    {tool.description}" for tool in mcp_tools.tools()]
        return [*lines, *mcp_tools.news()], True
    except SandboxError as error:
        return [f"The MCP server {name} cannot be used: {error}"], False
    finally:
        await mcp_tools.close()
        await app.conversations.leave(session)
