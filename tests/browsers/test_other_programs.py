"""Pages of a browser without a wall of ours call no other program, such as the one for mail."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.browsers.address import RemoteAddress, plain_address
from angelia.browsers.chromium import request_rules
from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.tab import Tab
from angelia.browsers.port import ActFailed
from tests.browsers.elsewhere import started_elsewhere
from tests.browsers.site import Site

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium"), pytest.mark.real("window")]

APART = "content-security-policy: sandbox allow-scripts\r\n"
TAMPERS = "Event.prototype.preventDefault = String.prototype.startsWith = () => true; Reflect.apply = () => 0"
OF_ITS_OWN = {
    "script": "<button onclick=\"location = 'mailto:script'\">Go</button>",
    "link": "<a href=mailto:link>Go</a>",
    "window": "<a target=_blank href=mailto:window>Go</a>",
    "form": "<form action=mailto:form method=post><button>Go</button></form>",
    "tampered": f"<script>{TAMPERS}</script><button onclick=\"location = 'mailto:tampered'\">Go</button>",
}
REDIRECTED = {"redirect": "<a href=/redirect/to>Go</a>"}
OF_NO_ORIGIN = {"apart": "<button onclick=\"location = 'mailto:apart'\">Go</button>"}
FRAMED = {
    "frame": "<button onclick=\"f.src = 'mailto:frame'\">Go</button><iframe id=f></iframe>",
    "top": "<iframe src=//inner.example:PORT/top/in></iframe>",
    "data": "<iframe src=\"data:text/html,<button onclick=top.location='mailto:data'>Go</button>\"></iframe>",
}


@pytest.fixture
async def remote(tmp_path: Path) -> AsyncIterator[RemoteAddress]:
    """A browser whose mail program writes down with what it was called."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("xdg-open", "xdg-email"):
        (programs / name).write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/called\n')
        (programs / name).chmod(0o755)
    async with started_elsewhere(tmp_path / "theirs", whole=True, path=str(programs)) as port:
        yield plain_address(f"http://127.0.0.1:{port}")


async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
    """Any site."""
    return ["127.0.0.1"]


async def visited(site: Site, remote: RemoteAddress, *paths: str, until: Path | None = None) -> list[str]:
    """Open each of these pages, press what is there, and return what was refused. With `until` the last ones are left
    once the mail program was called by each, as that folder says.
    """
    site.pages |= {f"/{name}": page for name, page in (OF_ITS_OWN | REDIRECTED | OF_NO_ORIGIN).items()}
    site.pages |= {f"/{name}": page.replace("PORT", str(site.port)) for name, page in FRAMED.items()}
    site.pages |= {"/redirect/to": "→mailto:redirect", "/control": OF_ITS_OWN["script"].replace("script'", "control'")}
    site.pages["/top/in"] = "<button onclick=\"top.location = 'mailto:top'\">Go</button>"
    site.headers["/apart"] = APART
    browser, refused = ChromiumBrowser(addresses, remote=remote), list[str]()
    try:
        tab = await browser.opened()
        browser.permit(site.url(""))
        for path in paths:
            with suppress(ActFailed):
                await tab.go(site.url(f"/{path}"))
                await pressed(tab)
            refused += browser.refused()
            if until:
                await until_called(until, path)
    finally:
        await browser.close()
    return refused


async def pressed(tab: Tab) -> None:
    """Press what goes out, which may be in a frame that is not there yet."""
    async with asyncio.timeout(30):
        while not (found := re.search(r'"Go" \[(\w+)\]', (await tab.look()).words())):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)
    await tab.click(found[1])
    await tab.settled()


def called(folder: Path) -> list[str]:
    """With what the mail program was called."""
    said = folder / "called"
    return said.read_text().split() if said.exists() else []


async def until_called(folder: Path, name: str) -> None:
    """Wait until it was called by this page."""
    async with asyncio.timeout(30):
        while not any(said.startswith(f"mailto:{name}") for said in called(folder)):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


@pytest.mark.soak
async def test_no_page_calls_another_program_and_that_it_would_have_is_told(
    site: Site, remote: RemoteAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was called before the last page, to which the rules do not apply, would have been called by then."""
    refused = await visited(site, remote, *OF_ITS_OWN, *REDIRECTED, *OF_NO_ORIGIN, *FRAMED)
    monkeypatch.setattr(request_rules, "_BEFORE", "")
    await visited(site, remote, "control", until=tmp_path)
    assert called(tmp_path) == ["mailto:control"]
    told = {one.partition(": ")[0].removeprefix("mailto:").partition("?")[0] for one in refused}
    assert {*OF_ITS_OWN, *REDIRECTED, "frame"} < told
    assert site.url("/apart") in told, "a page that nothing would hold is not shown"


@pytest.mark.soak
@pytest.mark.parametrize(
    ("part", "instead", "ways"),
    [
        ("_BEFORE", "", ("script", "link", "tampered")),
        ("_is_others", lambda _: False, ("redirect",)),
        ("_is_apart", lambda _: False, ("apart",)),
        ("_POLICY", "sandbox allow-scripts allow-same-origin allow-top-navigation", ("frame", "top", "data")),
    ],
)
async def test_without_a_part_of_the_rules_the_same_pages_call_it(
    site: Site,
    remote: RemoteAddress,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    instead: object,
    ways: tuple[str, ...],
) -> None:
    """So that silence says something, and each part is needed."""
    monkeypatch.setattr(request_rules, part, instead)
    await visited(site, remote, *ways, until=tmp_path)
    assert {said.removeprefix("mailto:").partition("?")[0] for said in called(tmp_path)} >= {*ways}
