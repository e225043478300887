"""`angelia web password`: what somebody elsewhere has to know to get in to the page."""

import asyncio
import sys
from typing import Any

import click

from angelia.core.entry import AdminAct
from angelia.core.errors import BadInput, ConfigError
from angelia.core.principal import OWNER
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.words.output import asked, echo


@click.command(epilog=("\b\nExamples:\n  angelia web password\n  pass show angelia | angelia web password"))
@click.option("--remove", is_flag=True, help="Have no password from now on.")
@settings_options
def password(remove: bool, **given: Any) -> int:
    """Set the page's password. It is asked for twice and not shown, or read from standard input. Only its hash is
    stored. Whoever is logged in is logged out.
    """
    return asyncio.run(_remove(given) if remove else _set(_typed(), given))


def _typed() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip("\r\n")
    first = asked("The page's password, which is not shown", hidden=True, err=True)
    if asked("Once more", hidden=True, err=True) != first:
        raise BadInput("The two are not the same.", "Nothing was changed.", "Try it again.")
    return first


async def _set(typed: str, given: dict[str, Any]) -> int:
    from angelia.faces.web.access.login_routes import LoginWays
    from angelia.faces.web.access.password import demand_not_simple

    demand_not_simple(typed)
    app = await open_app(given)
    try:
        ways = LoginWays(app.key_value, app.clock)
        before = await ways.password.since()
        await app.audit.record(AdminAct.PASSWORD_SET, OWNER)
        await ways.password.set(typed)
        ended = await ways.logins.log_everybody_out()
    finally:
        await app.close()
    echo(f"The page's password is {'changed' if before else 'set'}. Logins that were ended: {ended}.", err=True)
    return 0


async def _remove(given: dict[str, Any]) -> int:
    from angelia.faces.web.access.exposure import exposure
    from angelia.faces.web.access.login_routes import LoginWays

    app = await open_app(given)
    try:
        ways, web = LoginWays(app.key_value, app.clock), app.loaded.config.web
        origin = exposure(web, web.listen).origin
        if origin and not await ways.passkeys.at(origin):
            raise ConfigError(
                f"The page is reached at {origin}, and there is no passkey for it.",
                "Without a password nobody could log in there, and it would not be served.",
                "Make a passkey on the page first, or take web.origin out of the settings.",
            )
        if was := bool(await ways.password.since()):
            await app.audit.record(AdminAct.PASSWORD_REMOVED, OWNER)
            await ways.password.remove()
    finally:
        await app.close()
    echo("The password is removed. Who is logged in stays so." if was else "There is no password.", err=True)
    return 0
