"""`angelia mcp`: the servers of the settings and what each of them brings; and Angelia as such a server."""

import asyncio
import gc
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from angelia.cancellation import cancel_and_wait
from angelia.core.counts import counted
from angelia.core.errors import BadInput, ConfigError
from angelia.core.text import one_line
from angelia.end_signals import asked_to_end
from angelia.faces.cli import completion
from angelia.faces.cli.mcp_adding import add, remove
from angelia.faces.cli.mcp_login import login, logout
from angelia.faces.cli.open_conversation import folder_here
from angelia.faces.cli.options import loaded_from, open_app, settings_options, turn_options
from angelia.faces.cli.progress import working
from angelia.faces.cli.served_skills import servers_here
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.policy.verdict import Trust
from angelia.sandboxes.port import Reach, SandboxError
from angelia.service.app import App
from angelia.service.conversation.servers import configured
from angelia.service.settings.secret_refs import SecretRefs
from angelia.tools.mcp.server import SandboxProgram, Server, ServerProgram, Site
from angelia.tools.mcp.servers import trouble

if TYPE_CHECKING:
    from angelia.faces.mcp.tools import OfferedTool


@click.group(
    invoke_without_command=True,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia mcp add linear --url https://mcp.linear.app/mcp\n"
        "  angelia mcp login linear\n"
        "  angelia mcp test linear\n"
        "  angelia mcp serve"
    ),
)
@settings_options
@click.pass_context
def mcp(ctx: click.Context, /, **given: Any) -> int | None:
    """List, add and test the MCP servers whose tools the model uses. `serve` lets other programs use Angelia."""
    return _list(given) if ctx.invoked_subcommand is None else None


@mcp.command("list", epilog=("\b\nExample:\n  angelia mcp list"))
@settings_options
def list_servers(**given: Any) -> int:
    """List the servers of the settings, and where they run."""
    return _list(given)


@mcp.command("test", epilog=("\b\nExample:\n  angelia mcp test github"))
@click.argument("name", shell_complete=completion.servers)
@settings_options
def try_server(name: str, **given: Any) -> int:
    """Connect to a server and list its tools."""
    return asyncio.run(_test(name, given))


@mcp.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  angelia mcp serve -C ~/garden   (a program that uses MCP servers starts this itself)\n"
        "  angelia mcp serve --http 127.0.0.1:8790"
    ),
)
@click.option("--tools", "names", metavar="NAME,…", help="Only these tools (default: all).")
@click.option(
    "--http", "listen", metavar="ADDRESS:PORT", help="Listen there, on this machine, for whoever has the key."
)
@turn_options
def serve(names: str | None, listen: str | None, **given: Any) -> int:
    """Let other programs ask Angelia and read what it keeps. They do so over stdin and stdout, or over HTTP."""
    from angelia.faces.mcp.tools import offered

    tools = offered(names)
    if listen is not None:
        return asyncio.run(_listen(listen, tools, given))
    if sys.stdin.isatty():
        raise BadInput(
            "This command is started by a program that uses MCP servers, and speaks to it over pipes.",
            then='Give it there as a command: ["angelia", "mcp", "serve"].',
        )
    gc.enable()
    gc.freeze()
    return asyncio.run(_serve(tools, given))


async def _listen(listen: str, tools: "Sequence[OfferedTool]", given: dict[str, Any]) -> int:
    from angelia.faces.mcp.listener import PATH, key_file, serve_http
    from angelia.service.own_process import raise_descriptor_limit

    app = await open_app(given)
    workspace = given["workspace"] or folder_here(app, lambda text: echo(text, err=True))

    def begun(port: int) -> None:
        host = listen.rpartition(":")[0]
        echo(f"http://{host}:{port}{PATH}")
        echo(
            f"Clients bring the key in {key_file(app.loaded.home)} (Authorization: Bearer …). Ctrl-C ends this.",
            err=True,
        )

    raise_descriptor_limit()
    asked = asyncio.create_task(asked_to_end().wait())
    serving = asyncio.create_task(serve_http(app, workspace, tools, listen, begun))
    try:
        await asyncio.wait([serving, asked], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        await cancel_and_wait(serving, asked)
        await app.close()
    echo("Everything is stored; what is open goes on when it is asked for.", err=True)
    return 0


async def _serve(tools: "Sequence[OfferedTool]", given: dict[str, Any]) -> int:
    from angelia.faces.mcp.stdio import serve_stdio

    app = await open_app(given)
    try:
        await serve_stdio(app, given["workspace"] or folder_here(app, lambda text: echo(text, err=True)), tools)
    finally:
        await app.close()
    return 0


mcp.add_command(add)
mcp.add_command(remove)
mcp.add_command(login)
mcp.add_command(logout)


def _list(given: dict[str, Any]) -> int:
    settings = loaded_from(given).config.mcp.servers
    if not settings:
        echo("There are no servers. `angelia mcp add NAME -- COMMAND`, or --url URL, adds one.", err=True)
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
        known = ", ".join(app.loaded.config.mcp.servers) or "none; `angelia mcp add` adds one"
        raise BadInput(f"There is no server {name!r} in the settings.", then=f"There are: {known}.")
    with working(f"connecting to {name}"):
        lines, well = await look_at_server(app, name)
    echo("\n".join([f"{name} {lines[0]}.", *lines[1:]] if well else lines), err=not well)
    return 0 if well else 1


async def look_at_server(app: App, name: str) -> tuple[list[str], bool]:
    """Connect to a server of the settings: what came of it, then what it brings and serves; whether it is well."""
    began = time.monotonic()
    try:
        async with servers_here(app).reached(name) as found:
            connection = found.servers.get(name)
            if connection is None or trouble(connection):
                return found.news(), False
            took = time.monotonic() - began
            served = await app.served.there(found)
            count = len(served)
            offers = connection.offers
            serving = ((count, "skill"), (len(offers.resources), "resource"), (len(offers.prompts), "prompt"))
            more = [f"a {what}" if number == 1 else f"{number} {what}s" for number, what in serving if number]
            serves = f", and serves {', '.join(more)}" if more else ""
            lines = [f"answers after {took:.1f} s and brings {counted(len(connection.tools), 'tool')}{serves}"]
            lines += [f"{tool.name}\n    {tool.description}" for tool in found.servers.tools(())[0]]
            lines += [f"{skill.name}\n    {skill.fault or skill.description}" for skill in served]
            lines += [resource.line for resource in offers.resources]
            lines += [f"{prompt.usage}\n    {prompt.about}" for prompt in offers.prompts]
            return [*lines, *found.news()], True
    except SandboxError as error:
        return [f"The MCP server {name} cannot be used: {error}"], False
