"""`angelia signals`: what may begin a turn from outside, and a way to try it."""

import asyncio
import hmac
import sys
import time
from typing import Any

import click

from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import sortable_id
from angelia.core.text import one_line
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.words.output import echo
from angelia.faces.words.widths import table

ACCEPTED = 202
HEAD = ("ON", "HOW", "WHERE", "BEGINS")


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia signals\n  angelia signals send deploys '{\"ok\": false}'"),
)
@settings_options
@click.pass_context
def signals(ctx: click.Context, /, **given: Any) -> int | None:
    """List what may begin a turn from outside, and what begins on it.

    That is `[signals.NAME]`, `[mailboxes.NAME]` and `[folders.NAME]` in the settings.
    """
    return asyncio.run(_list(given)) if ctx.invoked_subcommand is None else None


async def _list(given: dict[str, Any]) -> int:
    from angelia.service.schedule.source_standing import standings

    app = await open_app(given)
    try:
        listen = app.loaded.config.gateway.listen
        found = await standings(app.outside_services, listen)
        rows = [(f"{one.kind} {one.name}", one.how, one.where, one.words) for one in found]
        for line in (
            table([HEAD, *rows])
            if rows
            else ["No signal is set up. angelia config set signals.NAME.secret '{env = \"SECRET\"}' begins one."]
        ):
            echo(line)
        return 0
    finally:
        await app.close()


@signals.command(epilog=('\b\nExample:\n  angelia signals send deploys \'{"version": "1.2"}\''))
@click.argument("name")
@click.argument("body", default="{}")
@settings_options
def send(name: str, body: str, **given: Any) -> int:
    """Send a signal to the gateway that runs here. BODY (`-` for standard input) is signed as its sender would."""
    data = sys.stdin.buffer.read() if body == "-" else body.encode()
    return asyncio.run(_send(name, data, given))


async def _send(name: str, body: bytes, given: dict[str, Any]) -> int:
    from angelia.service.schedule.source_standing import secret_key

    app = await open_app(given)
    try:
        services, listen = app.outside_services, app.loaded.config.gateway.listen
        if name not in services.signals:
            raise NotFound(f"There is no signal {name!r}.", then="`angelia signals` lists them.")
        if not listen:
            raise BadInput("The gateway listens nowhere.", then="`angelia config set gateway.listen 127.0.0.1:8787`")
        headers = _signed(services.signals[name].scheme, await secret_key(services, name), body)
        status, said = await _posted(f"http://{listen}", f"in/{name}", headers, body)
    finally:
        await app.close()
    if status == ACCEPTED:
        echo(
            "Taken in (202). `angelia signals` names what begins on it, `angelia schedule history ID` what came of it."
        )
        return 0
    echo(f"Refused ({status}). {said}".rstrip(), err=True)
    return 1


def _signed(scheme: str, key: bytes, body: bytes) -> dict[str, str]:
    from angelia.service.schedule.signatures import signature

    if scheme == "github":
        return {"X-Hub-Signature-256": f"sha256={hmac.new(key, body, 'sha256').hexdigest()}"}
    message, at = f"msg_{sortable_id()}", str(int(time.time()))
    return {
        "webhook-id": message,
        "webhook-timestamp": at,
        "webhook-signature": signature(key, message, at, body),
    }


async def _posted(base: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str]:
    from angelia.http.client import open_server
    from angelia.http.errors import HttpError

    server = await open_server(base)
    try:
        reply = await server.post(path, headers, body, 5.0)
        said = one_line((await reply.read()).decode("utf-8", "replace"), 300)
        await reply.aclose()
    except HttpError as error:
        raise BadInput(f"Nobody answers at {base}: {error}.", then="Is `angelia gateway` running?") from error
    finally:
        await server.aclose()
    return reply.status, said
