"""`angelia mcp login` and `logout`: at servers that want it."""

import asyncio
from typing import Any

import click

from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.faces.cli import completion
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.words.output import echo
from angelia.service.app import App
from angelia.service.conversation.mcp_tools import logged_in_at
from angelia.tools.mcp.logins import RegisteredClient


@click.command(epilog=("\b\nExamples:\n  angelia mcp login linear\n  angelia mcp login linear --paste   (over SSH)"))
@click.argument("name", shell_complete=completion.servers)
@click.option("--no-open", is_flag=True, help="Only print the address.")
@click.option("--paste", is_flag=True, help="The browser runs elsewhere: paste the address at which it ends up.")
@click.option("--client-id", default="", help="The client's id, where you registered Angelia there yourself.")
@click.option("--client-secret", default="", metavar="HANDLE", help="Its secret, as ${NAME} or ${file:PATH}.")
@click.option("--client-document", default="", metavar="URL", help="An https address that describes us (CIMD).")
@settings_options
def login(name: str, **given: Any) -> int:
    """Log in at a server by OAuth, in the browser. The login is kept in a file that only you can read."""
    return asyncio.run(_login(name, given))


async def _login(name: str, given: dict[str, Any]) -> int:
    from angelia.faces.cli.browser_login import browser_person, pasting_person

    app = await open_app(given)
    try:
        secret = await _secret(app, name, given["client_secret"])
        client = RegisteredClient(given["client_id"], secret, given["client_document"])
        if given["paste"]:
            count = await logged_in_at(app.mcp_sources, name, pasting_person(), client)
        else:
            async with browser_person(opens=not given["no_open"]) as person:
                count = await logged_in_at(app.mcp_sources, name, person, client)
        kept = await asyncio.to_thread(app.mcp_sources.logins.read, name)
        if kept is None:
            echo(f"{name} wants no login; it has {counted(count, 'tool')}.")
            return 0
        echo(
            f"Logged in at {name}: {counted(count, 'tool')}. The login is kept in {app.mcp_sources.logins.path(name)}."
        )
    finally:
        await app.close()
    return 0


async def _secret(app: App, name: str, handle: str) -> str:
    """What a handle stands for.

    Raises:
        BadInput: it is none, and would stand in the history of the shell.
    """
    if not handle:
        return ""
    values = await app.secret_refs.late(f"mcp login {name}", {"client_secret": handle})()
    if values["client_secret"] == handle:
        raise BadInput("A secret does not stand in a command line.", then="Give ${NAME} or ${file:PATH}, in quotes.")
    return values["client_secret"]


@click.command(epilog=("\b\nExample:\n  angelia mcp logout linear"))
@click.argument("name", shell_complete=completion.servers)
@settings_options
def logout(name: str, **given: Any) -> int:
    """Forget the login at a server; the server is not told."""
    return asyncio.run(_logout(name, given))


async def _logout(name: str, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        found = await asyncio.to_thread(app.mcp_sources.logins.forget, name)
    finally:
        await app.close()
    echo(f"The login at {name} is forgotten." if found else f"There was no login at {name}.")
    return 0
