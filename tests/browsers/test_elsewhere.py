"""A browser that runs elsewhere: a part of it is ours alone, and each site is asked about and held to that."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from angelia.browsers.address import plain_address, shown_address
from angelia.browsers.chromium import request_rules
from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.live import PointerPressed
from angelia.browsers.logins import KeptLogins
from angelia.browsers.port import ActFailed, BrowserGone, BrowserMissing
from angelia.core.content import CallStatus
from angelia.core.errors import PolicyDenied
from angelia.policy.verdict import OpenOrigin
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.service.browser_address import remote_browser
from angelia.service.settings.config import BrowserSettings, Config, Loaded
from angelia.service.settings.secret_refs import SecretRefs
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from angelia.tools.browser.toolset import BrowserTools
from tests.browsers.desktop import DesktopHand
from tests.browsers.elsewhere import opened_by_its_person, started_elsewhere
from tests.browsers.site import Site
from tests.browsers.test_walls import forbidden
from tests.browsers.ways_out import ways_out
from tests.web.elsewhere import write_certificate

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]


@pytest.fixture(scope="module")
async def port(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[int]:
    """Of somebody's browser, for all tests of the file."""
    async with started_elsewhere(tmp_path_factory.mktemp("theirs")) as found:
        await until_open(found, "Their own tab")
        yield found


async def addresses(origin: str, host: str, _port: int) -> Sequence[str]:
    """What may be reached: names of example sites."""
    if not host.endswith(".example") or "forbidden" in host:
        raise PolicyDenied(f"{origin} is not reached.", "No such place was permitted.")
    return ["127.0.0.1"]


def joined(port: int) -> ChromiumBrowser:
    """Ours, in the browser of that port."""
    return ChromiumBrowser(addresses, remote=plain_address(f"http://127.0.0.1:{port}"))


@pytest.fixture
async def tools(site: Site, port: int, tmp_path: Path) -> AsyncIterator[ToolHarness]:
    """The tools, over that browser."""
    (tmp_path / "w").mkdir()
    sandbox = LocalSandbox(tmp_path / "w", home=tmp_path / "home", state=tmp_path / "state")
    harness = ToolHarness(tmp_path / "w", sandbox, [BrowserTools(plain_address(f"http://127.0.0.1:{port}"))])
    harness.addresses = addresses
    await harness.open()
    yield harness
    await harness.close()


async def targets(port: int) -> list[dict[str, Any]]:
    """What the browser has open, as its own server says it."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        listed: list[dict[str, Any]] = (await client.get(f"http://127.0.0.1:{port}/json/list")).json()
        return listed


async def until_open(port: int, *titles: str) -> None:
    """Wait until this is what the browser has open."""
    async with asyncio.timeout(60):
        while sorted(one["title"] for one in await targets(port)) != sorted(titles):  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.05)


async def test_a_page_is_opened_read_and_acted_on_elsewhere_after_a_yes_to_its_site(
    tools: ToolHarness, site: Site, port: int
) -> None:
    site.pages["/"] = "<title>Shop</title><input aria-label=Name><button onclick='this.remove()'>Buy</button>"
    (effect,) = await tools.effects("browser_open", url=site.url())
    assert effect == OpenOrigin(site.url(), f"http://127.0.0.1:{port}")
    assert 'textbox "Name" [e1]' in await tools.said("browser_open", url=site.url())
    acted = await tools.said("browser_act", steps=(Step("fill", "e1", "Anna"), Step("click", "e2")))
    assert "1. fill e1: done\n2. click e2: done" in acted
    assert "Buy" not in acted


async def test_the_persons_own_tabs_are_neither_listed_nor_touched_and_ours_end_with_us(
    tools: ToolHarness, site: Site, port: int
) -> None:
    before = await targets(port)
    site.pages["/"] = "<title>Ours</title>Words"
    opened = await tools.said("browser_open", url=site.url())
    assert "Their own tab" not in opened
    gone = await tools.said("browser_look", CallStatus.ERROR, tab="t2")
    assert "There are t1." in gone
    await until_open(port, "Their own tab", "Ours")
    await tools.close()
    await until_open(port, "Their own tab")
    assert await targets(port) == before, "it is the very tab, where it was"


async def test_a_browser_elsewhere_keeps_nothing_of_us_when_our_connection_breaks(site: Site, port: int) -> None:
    browser = joined(port)
    site.pages["/"] = "<title>Ours</title>"
    tab = await browser.opened()
    browser.permit(f"http://site.example:{site.port}")
    await tab.go(site.url())
    await until_open(port, "Their own tab", "Ours")
    assert browser._running is not None
    browser._running.cdp.close()  # as a process that is killed: nothing is said before
    await until_open(port, "Their own tab")
    with pytest.raises(BrowserGone):
        await browser.logins((), KeptLogins())
    await browser.close()


async def test_what_was_kept_in_one_conversation_is_in_no_other_and_not_in_the_persons_profile(
    site: Site, port: int
) -> None:
    site.pages["/"] = "<script>document.cookie = 'who=anna'</script>Words"
    for _ in range(2):
        browser = joined(port)
        try:
            tab = await browser.opened()
            browser.permit(f"http://site.example:{site.port}")
            await tab.go(site.url())
        finally:
            await browser.close()
    assert site.cookies == ["", ""]


async def test_a_tab_goes_to_no_site_to_which_nobody_said_yes(tools: ToolHarness, site: Site) -> None:
    """Not by a link, not by a redirect, not by its own script; after a yes the same link leads there."""
    there = site.url("/there", "other.example")
    site.pages["/"] = f"<a href='{there}' target=_blank>Over</a>"
    site.pages["/there"] = "<title>There</title>Other words"
    site.pages["/led"] = f"→{there}"
    site.pages["/moves"] = f"<script>location = '{there}'</script>"
    await tools.said("browser_open", url=site.url())
    acted = await tools.said("browser_act", steps=(Step("click", "e1"),))
    assert "nobody has said yes to http://other.example" in acted
    led = await tools.said("browser_open", CallStatus.ERROR, url=site.url("/led"))
    assert "could not be loaded" in led
    await tools.said("browser_open", url=site.url("/moves"))
    assert not [line for line in site.asked if "/there" in line]
    await tools.said("browser_open", url=there)
    found = re.search(r"\[(e\d+)\]", await tools.said("browser_open", url=site.url()))
    assert found
    await tools.said("browser_act", steps=(Step("click", found[1]),))
    assert len([line for line in site.asked if "/there" in line]) == 2


async def tried(site: Site, browser: ChromiumBrowser, *paths: str) -> tuple[set[str], list[str]]:
    """The ways by which a place heard of us to which nobody may go, while a page and a frame of another site tried to
    reach it; and what was refused.
    """
    async with forbidden() as (place, at, udp):
        for name, host in (("/name", "forbidden.example"), ("/frame", "127.0.0.1"), ("/stays", "127.0.0.1")):
            site.pages |= ways_out(host, at, udp, name)
        # A download from elsewhere is a navigation, which ends the page before its other ways are through.
        site.pages["/stays/"] = site.pages["/stays/"].replace("way('download', () => d.click());", "")
        site.pages["/framed"] = f"<iframe src={site.url('/frame/', 'inner-site.example')}></iframe>"
        try:
            for path in paths:
                tab = await browser.opened("new")
                browser.permit(f"http://site.example:{site.port}")
                with suppress(ActFailed):
                    await tab.go(site.url(path))
                with suppress(ActFailed):
                    await tab.go(f"http://forbidden.example:{at}/navigated")
            refused = browser.refused()
        finally:
            await browser.close()
    heard = {line.split(" ")[1].partition("?")[0] if " /" in line else line.split(" ")[0] for line in place.heard}
    return heard, refused


async def test_no_way_that_a_page_elsewhere_has_leads_to_where_it_may_not_go(site: Site, port: int) -> None:
    heard, refused = await tried(site, joined(port), "/name/", "/framed", "/stays/")
    assert heard == set()
    assert any("not reached" in one for one in refused), "it was really tried"


@pytest.mark.soak
@pytest.mark.parametrize(
    ("part", "instead", "ways"),
    [
        (
            "_PATTERNS",
            [{"urlPattern": "http://nowhere.example/"}],
            {"/img", "/fetch", "/beacon", "/frame", "/navigated"},
        ),
        ("_is_inert", lambda _: True, {"/ws", "/popup"}),
        ("_BEFORE", "", {"udp", "/speculated"}),
    ],
)
async def test_without_a_part_of_the_rules_the_same_page_gets_out(
    site: Site, port: int, monkeypatch: pytest.MonkeyPatch, part: str, instead: object, ways: set[str]
) -> None:
    """So that silence says something, and each part is needed."""
    monkeypatch.setattr(request_rules, part, instead)
    heard, _ = await tried(site, joined(port), "/stays/")
    assert ways <= heard


async def test_a_page_elsewhere_is_taken_over_and_logins_are_kept_of_it_and_used_there(site: Site, port: int) -> None:
    site.pages["/"] = """<body onmousedown="document.cookie = 'who=anna; max-age=900'; out.textContent = 'Hello, Ann'">
        <p id=out>Log in"""
    at = f"http://site.example:{site.port}"
    browser = joined(port)
    try:
        tab = await browser.opened()
        browser.permit(at)
        await tab.go(site.url())
        live = await browser.watch()
        async with asyncio.timeout(20):
            while (sight := await live.see()).frame is None:
                assert sight.state.site == at
        assert sight.frame.jpeg[:3] == b"\xff\xd8\xff"
        await live.take_over()
        await live.send(PointerPressed(300, 300))
        await tab.wait_for("Hello, Ann", 10)
        await live.close()
        kept = await browser.logins((at,), KeptLogins())
    finally:
        await browser.close()
    again = joined(port)
    try:
        await again.opened()
        again.permit(at)
        await again.log_in((at,), kept)
        await again.tab().go(site.url())
    finally:
        await again.close()
    assert site.cookies == ["", "who=anna"]


async def test_a_browser_behind_tls_is_used_if_its_certificate_is_known_and_not_else(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a service's is: `wss`, and at a path of its own."""
    certificate, key = write_certificate(tmp_path / "tls", "localhost")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with httpx2.AsyncClient(trust_env=False) as client:
        said = (await client.get(f"http://127.0.0.1:{port}/json/version")).json()["webSocketDebuggerUrl"]

    async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(carried(reader, far_writer), carried(far_reader, writer), return_exceptions=True)

    async with await asyncio.start_server(through, "127.0.0.1", 0, ssl=context) as listening:
        at = listening.sockets[0].getsockname()[1]
        remote = plain_address(f"wss://localhost:{at}{urlsplit(said).path}")
        unknown = ChromiumBrowser(addresses, remote=remote)
        with pytest.raises(BrowserMissing, match="CERTIFICATE_VERIFY_FAILED"):
            await unknown.opened()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        browser = ChromiumBrowser(addresses, remote=remote)
        assert (await browser.opened()).url == "about:blank"
        await browser.close()


async def carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What comes in, to where it goes, until one of both ends."""
    try:
        while said := await reader.read(65_536):
            writer.write(said)
            await writer.drain()
    finally:
        writer.close()


@pytest.mark.real("window")
async def test_a_browser_whose_person_is_asked_is_used_after_their_yes(
    site: Site, tmp_path: Path, screen: str, hand: DesktopHand
) -> None:
    """Chrome's own question, pressed in its window; its HTTP server says nothing of a debugger then."""
    site.pages["/"] = "<title>Ours</title><h1>Words of a page</h1>"
    async with opened_by_its_person(tmp_path / "theirs", screen) as at:
        browser = ChromiumBrowser(addresses, remote=plain_address(f"http://127.0.0.1:{at}"))
        opening = asyncio.create_task(browser.opened())
        try:
            async with asyncio.timeout(60):
                while not opening.done():
                    await asyncio.wait([opening], timeout=1)
                    if hand.windows():
                        hand.presses("Tab")  # from Cancel to Allow
                        hand.presses("Enter")
            browser.permit(f"http://site.example:{site.port}")
            await (await opening).go(site.url())
            assert "Words of a page" in (await browser.tab().look()).words()
        finally:
            await browser.close()


async def test_secrets_in_its_address_are_read_when_it_is_used_and_shown_nowhere(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("hidden-key-0123")
    key.chmod(0o600)
    loaded = Loaded(tmp_path, Config(browser=BrowserSettings(f"ws://127.0.0.1:9/?token=${{file:{key}}}")), {})
    refs = SecretRefs({})
    remote = remote_browser(loaded, lambda: refs)
    assert remote is not None
    assert await remote.read() == "ws://127.0.0.1:9/?token=hidden-key-0123"
    assert "hidden-key-0123" in refs.known()
    assert remote.shown == "ws://127.0.0.1:9"


SUMS = """const given = event.target.files[0]; given.arrayBuffer().then((bytes) => { let sum = 0;
for (const one of new Uint8Array(bytes)) sum = (sum * 31 + one) % 1000003;
seen.textContent = `${given.name} ${given.type} ${given.size} ${sum}` })"""
THERE = f"<input type=file aria-label=CV onchange='{SUMS}'><p id=seen></p>"
NEVER_THERE = f"""<button onclick='const one = document.createElement("input"); one.type = "file";
one.onchange = (event) => {{ {SUMS} }}; one.click()'>Attach</button><p id=seen></p>"""


@pytest.mark.parametrize("page", [THERE, NEVER_THERE])
async def test_an_upload_reaches_a_page_elsewhere_whole(
    tools: ToolHarness, site: Site, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = bytes(range(256)) * 10_000
    (tools.root / "cv.txt").write_bytes(words)
    site.pages["/"] = page
    await tools.said("browser_open", url=site.url())
    total = 0
    for one in words:
        total = (total * 31 + one) % 1_000_003
    told = f"cv.txt text/plain {len(words)} {total}"
    acted = await tools.said("browser_act", steps=(Step("upload", "e1", "cv.txt"), Step("wait", text=told)))
    assert "1. upload e1: done, cv.txt (2.6 MB)" in acted
    monkeypatch.setattr("angelia.browsers.chromium.browser.MOST_ELSEWHERE", 1_000_000)
    refused = await tools.said("browser_act", CallStatus.ERROR, steps=(Step("upload", "e1", "cv.txt"),))
    assert "cv.txt is 3 MB, and a browser that runs elsewhere" in refused


async def test_where_no_browser_answers_it_is_said_where_and_without_what_follows_the_host() -> None:
    browser = ChromiumBrowser(addresses, remote=plain_address("ws://127.0.0.1:9/?token=hidden"))
    with pytest.raises(BrowserMissing) as found:
        await browser.opened()
    assert "ws://127.0.0.1:9" in str(found.value)
    assert "hidden" not in str(found.value)
    assert shown_address("wss://me:hidden@browsers.example/a?token=hidden") == "wss://browsers.example"
