"""`angelia web`: the page, in your browser."""

import asyncio
import webbrowser
from typing import Any

import click

from angelia.cancellation import cancel_and_wait
from angelia.core.counts import counted
from angelia.end_signals import asked_to_end
from angelia.faces.cli.api_keys import keys
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.web_password import password
from angelia.faces.words.output import echo


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia web\n  angelia web --no-open\n  angelia web keys add open-webui"),
)
@click.option("--no-open", is_flag=True, help="Only print the link.")
@click.option("--listen", metavar="ADDRESS:PORT", help="Where to listen (default: web.listen).")
@click.option("--log-out", is_flag=True, help="End every login first: no cookie and no link is valid any more.")
@settings_options
@click.pass_context
def web(ctx: click.Context, /, no_open: bool, listen: str | None, log_out: bool, **given: Any) -> int | None:
    """Open the page in your browser, logged in. It is served until Ctrl-C, and to this machine alone unless you set
    more (angelia docs web-from-elsewhere).
    """
    if ctx.invoked_subcommand:
        return None
    return asyncio.run(_web(listen, given, opens=not no_open, log_out=log_out))


async def _web(listen: str | None, given: dict[str, Any], *, opens: bool, log_out: bool) -> int:
    from angelia.faces.cli.doctor import look_through
    from angelia.faces.web.door import WebDoor, link_at, page_of
    from angelia.service.own_process import raise_descriptor_limit

    served = page_of(loaded_from(given).home)
    app = await open_app(given)
    door = WebDoor(app, lambda offline: look_through(app, offline=offline))
    if log_out:
        count = await door.logins.log_everybody_out()
        echo(f"{counted(count, 'login')} ended.", err=True)
    if served:  # by a gateway, or in another terminal: what is missing is a link
        _show(link_at(served.address, await door.logins.new_code()), opens=opens)
        if listen:
            echo("It is served already, there; --listen counts once that has ended.", err=True)
        await app.close()
        return 0
    raise_descriptor_limit()
    ready, ending = asyncio.Event(), asked_to_end()
    serving = asyncio.create_task(door.run(listen or app.loaded.config.web.listen, ready.set))
    tasks = [asyncio.create_task(ready.wait()), asyncio.create_task(ending.wait())]
    try:
        await asyncio.wait([serving, tasks[0]], return_when=asyncio.FIRST_COMPLETED)
        if ready.is_set():
            _show(await door.link(), opens=opens)
            echo("It logs in once, within ten minutes; `angelia web` prints another one. Ctrl-C ends this.", err=True)
            await asyncio.wait([serving, tasks[1]], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        await cancel_and_wait(serving, *tasks)
        await app.close()
    return 0


def _show(link: str, *, opens: bool) -> None:
    echo(link)
    if opens:
        webbrowser.open(link)


web.add_command(keys)
web.add_command(password)
