"""`angelia browser`: logins that last, by name."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import click

from angelia.core.counts import counted
from angelia.core.errors import BadInput, NotFound
from angelia.faces.cli.options import loaded_from, settings_options
from angelia.faces.words.output import asked, echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.secrets.browser_profiles import BrowserProfiles
from angelia.service.secrets.store import site_origin


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia browser login https://github.com/login\n  angelia browser forget github.com"),
)
@click.pass_context
def browser(ctx: click.Context) -> int | None:
    """Keep logins of the model's browser beyond a conversation: by name, for the sites that you choose."""
    return None if ctx.invoked_subcommand else int(ctx.invoke(profiles))


@browser.command()
@settings_options
def profiles(**given: Any) -> int:
    """List the profiles and the sites that each is for. Of its cookies it says how many, not what is in them."""
    kept = BrowserProfiles(loaded_from(given).home).kept()
    if not kept:
        echo("No logins are kept; `angelia browser add NAME --for SITE` begins a profile.", err=True)
        return 0
    rows = [(name, ", ".join(one.origins), str(len(one.cookies)) if one.cookies else "-") for name, one in kept.items()]
    echo("\n".join(table([("PROFILE", "SITES", "COOKIES"), *rows], screen().columns * sys.stdout.isatty())))
    return 0


@browser.command()
@click.argument("name")
@click.option("--for", "sites", multiple=True, metavar="SITE", required=True, help="A site of it. Repeatable.")
@settings_options
def add(name: str, sites: tuple[str, ...], **given: Any) -> int:
    """Begin a profile, or change which sites it is for. The login itself is made in a conversation that uses it."""
    origins = tuple(dict.fromkeys(site_origin(site) for site in sites))
    new = BrowserProfiles(loaded_from(given).home).add(name, origins)
    echo(f"The profile {name} is {'begun' if new else 'changed'}: for {', '.join(origins)}.", err=True)
    if new:
        echo(f"Have the model log in there once, with the profile {name}; you are asked before it is used.", err=True)
    return 0


@browser.command(epilog=("\b\nExample:\n  angelia browser login https://github.com/login"))
@click.argument("url")
@click.option("--as", "name", default="", metavar="NAME", help="The profile (default: named after the site).")
@click.option("--for", "sites", multiple=True, metavar="SITE", help="A further site of it. Repeatable.")
@settings_options
def login(url: str, name: str, sites: tuple[str, ...], **given: Any) -> int:
    """Log in by hand, in a window on this desktop. The profile keeps the login, and the model uses it from then on."""
    return asyncio.run(_login(url, name, sites, given))


async def _login(url: str, name: str, sites: tuple[str, ...], given: dict[str, Any]) -> int:
    from angelia.browsers.chromium.browser import ChromiumBrowser
    from angelia.browsers.chromium.display import display_of
    from angelia.browsers.chromium.launch import why_not
    from angelia.policy.egress import judge_address, judge_url
    from angelia.service.secrets.login_window import log_in_by_hand
    from angelia.tools.web.fetcher import Fetcher

    display, loaded, first = display_of(), loaded_from(given), site_origin(url)
    if missing := await asyncio.to_thread(why_not, display):
        raise missing  # before a profile is begun
    kept, name = BrowserProfiles(loaded.home), name or (urlsplit(first).hostname or "")
    known = kept.kept().get(name)
    wanted = (*(known.origins if known else ()), first, *map(site_origin, sites))
    kept.add(name, tuple(dict.fromkeys(wanted)))
    ranges = loaded.config.policy.allow_ranges
    reach = Fetcher(judge_url, lambda address: judge_address(address, ranges)).addresses_behind
    browser, done = ChromiumBrowser(reach, display), asyncio.get_running_loop().create_future()
    held = kept.lend(name)
    try:
        echo(f"Log in, in the window that opens. {_ENDS}", err=True)
        with _enter(done):
            fault = await log_in_by_hand(browser, held, url if "://" in url else first, done)
        refused = browser.refused()
    finally:
        held.give_back()
        await browser.close()
    for said in ([fault] if fault else []) + refused:
        echo(said, err=True)
    kept_now = held.logins
    if not kept_now.cookies and not kept_now.storage:
        why = f"Nothing was kept in {name}: no site of it has left a cookie, or stored anything."
        raise NotFound(why, then="Try again, or forget it.")
    echo(f"The profile {name} keeps {counted(len(kept_now.cookies), 'cookie')} of {', '.join(held.origins)}.", err=True)
    return 0


_ENDS = "When you are done, close it" + ", or press Enter here." * sys.stdin.isatty()


@contextmanager
def _enter(done: "asyncio.Future[None]") -> Iterator[None]:
    """Enter on the terminal sets `done`."""
    loop = asyncio.get_running_loop()
    if not sys.stdin.isatty():
        yield
        return

    def pressed() -> None:
        sys.stdin.readline()
        loop.remove_reader(sys.stdin)
        if not done.done():
            done.set_result(None)

    loop.add_reader(sys.stdin, pressed)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)


@browser.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@settings_options
def forget(name: str, yes: bool, **given: Any) -> int:
    """Remove a profile, with all logins in it. The sites are not told; log out there if they should be."""
    kept = BrowserProfiles(loaded_from(given).home)
    if name in kept.kept() and not yes and sys.stdin.isatty():
        answer = asked(f"Forget the logins of {name}? (y/n)", err=True)
        if answer.strip().lower() not in ("y", "yes"):
            raise BadInput("Nothing was forgotten.")
    kept.forget(name)
    echo(f"{name} is forgotten, with its logins.", err=True)
    return 0
