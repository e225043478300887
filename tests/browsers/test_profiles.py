"""Logins that last: kept for their sites alone, lent to one conversation at a time, gone when they are forgotten."""

import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from angelia.browsers.cookies import Cookie
from angelia.browsers.logins import KeptLogins, SiteStorage
from angelia.core.content import CallStatus
from angelia.core.errors import BadInput, ConfigError, NotFound, PolicyDenied
from angelia.faces.cli.main import angelia
from angelia.policy.verdict import FetchUrl, SeePage, SendTo, UseProfile
from angelia.service.secrets.browser_profiles import BrowserProfiles
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from tests.browsers.site import Site

pytestmark = pytest.mark.anyio
LOGIN = "set-cookie: session=k3ks; Path=/; HttpOnly; Max-Age=9000\r\nset-cookie: seen=1; Path=/\r\n"
Begin = Callable[[], Awaitable[None]]


@pytest.fixture
async def again(tools: ToolHarness, site: Site, tmp_path: Path) -> Begin:
    """Ends the conversation of `tools`, and begins another one of the same person, who keeps logins for the site."""
    kept = BrowserProfiles(tmp_path / "home")
    kept.add("shop", (site.url(""),))

    async def begin() -> None:
        await tools.close()
        tools.profiles = kept
        await tools.open()

    await begin()
    return begin


def greeting(site: Site) -> None:
    """A page that knows who is logged in, and others that log in and out."""
    site.pages["/"] = "<a href=/in>In</a><a href=/out>Out</a>"
    site.pages["/in"] = site.pages["/out"] = "<a href=/>Home</a>"
    site.headers["/in"] = LOGIN
    site.headers["/out"] = "set-cookie: session=; Path=/; Max-Age=0\r\n"


@pytest.mark.real("chromium")
async def test_a_login_lasts_beyond_the_conversation_and_a_logout_too(
    tools: ToolHarness, site: Site, tmp_path: Path, again: Begin
) -> None:
    greeting(site)
    origin = site.url("")
    assert f"Logins of the person's for {origin}: shop." in await tools.said("browser_open", url=site.url())
    effects = await tools.effects("browser_open", url=site.url(), profile="shop")
    assert list(effects) == [SeePage(origin), FetchUrl(site.url()), UseProfile("shop", origin)]
    await tools.run("browser_open", url=site.url(), profile="shop")
    await tools.run("browser_open", url=site.url("/in"))
    assert list(await tools.effects("browser_look")) == [SeePage(origin), UseProfile("shop", origin, lent=True)]
    steps = (Step("click", "e1"),)
    effects = await tools.effects("browser_act", steps=steps)
    assert list(effects) == [SeePage(origin), SendTo(origin, "click"), UseProfile("shop", origin, lent=True)]
    (file,) = (tmp_path / "home/browser").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"k3ks" in file.read_bytes(), "it is kept at once, and a kill loses nothing"
    await again()
    await tools.run("browser_open", url=site.url())
    assert site.cookies[-1] == "", "without the profile nobody is logged in"
    await tools.run("browser_open", url=site.url(), profile="shop")
    assert sorted(site.cookies[-1].split("; ")) == ["seen=1", "session=k3ks"]
    await tools.run("browser_open", url=site.url("/out"))
    await again()
    await tools.run("browser_open", url=site.url(), profile="shop")
    assert site.cookies[-1] == "seen=1"


@pytest.mark.real("chromium")
async def test_what_other_sites_set_is_not_kept(tools: ToolHarness, site: Site, tmp_path: Path, again: Begin) -> None:
    greeting(site)
    await tools.run("browser_open", url=site.url(), profile="shop")
    site.headers["/in"] = LOGIN.replace("k3ks", "0ther")
    await tools.run("browser_open", url=site.url("/in", "other.example"))
    await again()
    assert BrowserProfiles(tmp_path / "home").kept()["shop"].cookies == ()


@pytest.mark.real("chromium")
async def test_another_site_a_script_and_another_conversation_do_not_get_logins(
    tools: ToolHarness, site: Site, tmp_path: Path, again: Begin
) -> None:
    greeting(site)
    elsewhere = site.url(host="other.example")
    with pytest.raises(PolicyDenied, match="No profile 'shop' is kept for"):
        await tools.effects("browser_open", url=elsewhere, profile="shop")
    await tools.run("browser_open", url=site.url(), profile="shop")
    scripted = await tools.said("browser_script", CallStatus.ERROR, code="document.cookie")
    assert "could read out" in scripted
    with pytest.raises(BadInput, match="Another conversation has the logins"):
        BrowserProfiles(tmp_path / "home").lend("shop")
    await again()
    await tools.run("browser_open", url=site.url())
    await tools.run("browser_script", code="1")
    refused = await tools.said("browser_open", CallStatus.ERROR, url=site.url(), profile="shop")
    assert "might read logins out" in refused
    BrowserProfiles(tmp_path / "home").lend("shop").give_back()


TOKEN = """<p id=out></p><button onclick="localStorage.token = 'k3ks'">In</button>
<button onclick="localStorage.clear()">Out</button>
<script>out.textContent = 'token ' + (localStorage.token || 'none')</script>"""


@pytest.mark.soak
@pytest.mark.real("chromium")
async def test_a_login_that_a_site_keeps_in_its_storage_lasts_too(
    tools: ToolHarness, site: Site, tmp_path: Path, again: Begin
) -> None:
    """It is there before the site's first script, nobody is asked for it, and a logout lasts as well."""
    site.pages["/"] = TOKEN
    assert "token none" in await tools.said("browser_open", url=site.url(), profile="shop")
    steps = (Step("click", "e1"),)
    await tools.effects("browser_act", steps=steps)
    await tools.run("browser_act", steps=steps)
    (kept,) = BrowserProfiles(tmp_path / "home").kept()["shop"].storage
    assert (kept.origin, kept.items) == (site.url(""), (("token", "k3ks"),))
    await again()
    asked = len(site.asked)
    assert "token none" in await tools.said("browser_open", url=site.url())
    assert "token k3ks" in await tools.said("browser_open", url=site.url(), profile="shop")
    assert site.asked[asked:] == ["GET / HTTP/1.1"] * 2
    steps = (Step("click", "e4"),)
    await tools.effects("browser_act", steps=steps)
    await tools.run("browser_act", steps=steps)
    await again()
    assert "token none" in await tools.said("browser_open", url=site.url(), profile="shop")
    assert BrowserProfiles(tmp_path / "home").kept()["shop"].storage == ()


DATABASE = """<p id=out>asking</p><button onclick="put()">In</button><button onclick="gone()">Out</button><script>
const asked = indexedDB.open('auth', 3), of = (mode) => db.transaction('users', mode).objectStore('users');
const said = (user) => { out.textContent = !user ? 'token none'
  : `token ${user.token} of ${user.since.getUTCFullYear()}, `
  + `${[...user.key].join(' ')}, ${user.of.get('a').size}, ${user.none} ${user.list[1].length}`; };
asked.onupgradeneeded = () => asked.result.createObjectStore('users', { keyPath: 'id', autoIncrement: true })
  .createIndex('by', 'name', { unique: true });
asked.onsuccess = () => { db = asked.result; db.onversionchange = () => {};
  of('readonly').index('by').get('ann').onsuccess = (got) => said(got.target.result); };
const ann = { name: 'ann', token: 'k3ks', since: new Date(0), key: new Uint8Array([7, 0, 255]),
  of: new Map([['a', new Set([1, NaN])]]), none: undefined, list: [1n, []] };
const put = () => { of('readwrite').put(ann).onsuccess = () => out.textContent = 'it is in'; };
const gone = () => { of('readwrite').clear().onsuccess = () => out.textContent = 'it is out'; };
</script>"""


@pytest.mark.soak
@pytest.mark.real("chromium")
async def test_a_login_that_a_site_keeps_in_a_database_lasts_too(
    tools: ToolHarness, site: Site, tmp_path: Path, again: Begin
) -> None:
    """Values of every kind; also where a page of the site has made its database already, and has it open."""

    async def act(*steps: Step) -> str:
        await tools.said("browser_act", steps=steps)
        return await tools.said("browser_look")

    site.pages["/"] = DATABASE
    told = "token k3ks of 1970, 7 0 255, 2, undefined 0"
    await tools.run("browser_open", url=site.url(), profile="shop")
    await act(Step("wait", "", "token none"), Step("click", "e1"), Step("wait", "", "it is in"))
    (kept,) = BrowserProfiles(tmp_path / "home").kept()["shop"].storage
    assert "k3ks" in kept.databases, "it is kept at once, and a kill loses nothing"
    await again()
    await tools.run("browser_open", url=site.url(), profile="shop")
    assert told in await act(Step("wait", "", "token k3ks"))
    await again()
    await tools.run("browser_open", url=site.url())
    await act(Step("wait", "", "token none"))
    await tools.run("browser_open", url=site.url(), profile="shop")
    assert told in await act(Step("wait", "", "token k3ks"))
    await act(Step("click", "e4"), Step("wait", "", "it is out"))
    await again()
    assert BrowserProfiles(tmp_path / "home").kept()["shop"].storage == ()


@pytest.mark.real("chromium")
async def test_a_page_that_holds_another_version_of_a_database_is_to_be_closed_first(
    tools: ToolHarness, site: Site, tmp_path: Path, again: Begin
) -> None:
    site.pages["/"] = """<p id=out></p><script>const asked = indexedDB.open('auth', 4);
        asked.onsuccess = () => { out.textContent = 'open'; asked.result.onversionchange = () => {}; }</script>"""
    database = '[{"name":"auth","version":3,"stores":[]}]'
    held = BrowserProfiles(tmp_path / "home").lend("shop")
    held.keep(KeptLogins(storage=(SiteStorage(site.url(""), (), database),)))
    held.give_back()
    await tools.run("browser_open", url=site.url())
    await tools.said("browser_act", steps=(Step("wait", "", "open"),))
    refused = await tools.said("browser_open", CallStatus.ERROR, url=site.url(), profile="shop")
    assert "a page of the site has it open. Close the tabs that show this site, then open it again." in refused
    BrowserProfiles(tmp_path / "home").lend("shop").give_back()


@pytest.mark.real("chromium")
@pytest.mark.parametrize(
    "value", ["new Blob(['x'])", "{ re: /x/ }", "'x'.repeat(2e6)", "((one) => { one.own = one; return one; })({})"]
)
async def test_a_database_that_cannot_be_kept_whole_is_left_out(
    tools: ToolHarness, site: Site, tmp_path: Path, again: Begin, value: str
) -> None:
    site.pages["/"] = f"""<p id=out></p><script type=module>const value = {value};
        for (const [name, one] of [['odd', value], ['plain', 'k3ks']]) {{
          const asked = indexedDB.open(name);
          asked.onupgradeneeded = () => asked.result.createObjectStore('s').put(one, 1);
          await new Promise((done) => asked.onsuccess = done); }}
        out.textContent = 'made'</script>"""
    await tools.run("browser_open", url=site.url(), profile="shop")
    await tools.run("browser_act", steps=(Step("wait", "", "made"),))
    (kept,) = BrowserProfiles(tmp_path / "home").kept()["shop"].storage
    assert [one["name"] for one in json.loads(kept.databases)] == ["plain"]


@pytest.mark.real("chromium")
async def test_a_conversation_of_somebody_else_has_no_logins(tools: ToolHarness, site: Site) -> None:
    greeting(site)
    assert "Logins" not in await tools.said("browser_open", url=site.url())
    with pytest.raises(BadInput, match="no logins in this conversation"):
        await tools.effects("browser_open", url=site.url(), profile="shop")


@pytest.mark.real("chromium")
async def test_logins_outlive_a_browser_that_crashed(tools: ToolHarness, site: Site, again: Begin) -> None:
    greeting(site)
    await tools.run("browser_open", url=site.url(), profile="shop")
    await tools.run("browser_open", url=site.url("/in"))
    browser = tools.tool("browser_open")._browser  # type: ignore[attr-defined] # whose process is to end
    await browser._running.cdp.call("Browser.close")
    await browser._running.cdp.gone
    await tools.run("browser_open", url=site.url())
    assert "session=k3ks" in site.cookies[-1]


def test_a_profile_is_changed_without_losing_logins_and_forgotten_whole(tmp_path: Path) -> None:
    kept = BrowserProfiles(tmp_path)
    assert kept.add("shop", ("https://shop.example",))
    held = kept.lend("shop")
    held.keep(KeptLogins((Cookie("a", "v4lue", "shop.example"),)))
    with pytest.raises(BadInput, match="Another conversation"):
        kept.forget("shop")
    held.give_back()
    assert not kept.add("shop", ("https://shop.example", "https://pay.example"))
    assert [cookie.value for cookie in kept.kept()["shop"].cookies] == ["v4lue"]
    assert (kept.kept_for("https://pay.example"), kept.kept_for("https://other.example")) == (["shop"], [])
    kept.forget("shop")
    assert not list((tmp_path / "browser").glob("*.json"))
    with pytest.raises(NotFound, match="none at all"):
        kept.lend("shop")


def test_logins_that_others_can_read_are_refused(tmp_path: Path) -> None:
    kept = BrowserProfiles(tmp_path)
    kept.add("shop", ("https://shop.example",))
    (tmp_path / "browser/shop.json").chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        kept.lend("shop")
    (tmp_path / "browser/shop.json").chmod(0o600)
    kept.lend("shop").give_back()


@pytest.mark.parametrize("name", ["", "../a", "a/b", ".a", "x" * 62])
def test_a_name_is_plain_or_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="no name"):
        BrowserProfiles(tmp_path).add(name, ("https://a.example",))
    with pytest.raises(NotFound):
        BrowserProfiles(tmp_path).lend(name)


def test_the_command_begins_lists_and_forgets(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        done = CliRunner(env={"ANGELIA_HOME": str(tmp_path)}).invoke(
            angelia, ["browser", *words], standalone_mode=False
        )
        assert done.exit_code == 0, done.output
        return done.output

    assert "No logins are kept" in run()
    assert "for https://github.com" in run("add", "github", "--for", "github.com")
    held = BrowserProfiles(tmp_path).lend("github")
    held.keep(KeptLogins((Cookie("a", "v4lue", "github.com"),)))
    held.give_back()
    listed = run("profiles")
    assert "https://github.com  1" in listed
    assert "v4lue" not in listed
    assert "is forgotten" in run("forget", "github", "--yes")
    assert "No logins are kept" in run()
