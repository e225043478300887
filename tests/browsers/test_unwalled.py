"""A browser of a machine that offers no wall: each site is asked about, which says why; its own sandbox stays."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from angelia.browsers.chromium import unwalled, wall
from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.browser_process import start_on_pipe
from angelia.browsers.port import BrowserMissing
from angelia.faces.cli.checkup.browser import look_at_browser
from angelia.faces.cli.checkup.check_result import CheckState
from angelia.faces.cli.main import angelia
from angelia.policy.verdict import FetchUrl, OpenOrigin
from angelia.sandboxes.local.confinement import Confined, Unconfined
from angelia.sandboxes.local.processes import MARK, belonging, everybody
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.browser.act_on_page import Step
from angelia.tools.browser.toolset import BrowserTools
from tests.browsers.site import Site
from tests.browsers.test_elsewhere import addresses, tried

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]

MISSING = Unconfined("bubblewrap is not installed", "install it: apt install bubblewrap")
WHY = f"{MISSING.why}. To mend it, {MISSING.mend}"
EVERY_NAME = ("--host-resolver-rules=MAP * 127.0.0.1", "--disable-features=LocalNetworkAccessChecks")


@pytest.fixture
def no_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without bubblewrap, to whose browser every name is this machine."""
    monkeypatch.setattr("angelia.browsers.chromium.wall.confinement", lambda: MISSING)
    kept = [flag for flag in unwalled._FLAGS if not flag.startswith("--disable-features")]
    monkeypatch.setattr(unwalled, "_FLAGS", (*kept, *EVERY_NAME))


def test_a_bubblewrap_that_is_roots_for_whoever_runs_it_is_no_wall(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (program := tmp_path / "bwrap").touch()
    monkeypatch.setattr(wall, "confinement", lambda: Confined("bubblewrap"))
    monkeypatch.setattr(wall, "bubblewrap_program", lambda: str(program))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert wall.no_wall() is None
    program.chmod(0o4755)
    found = wall.no_wall()
    assert found is not None
    assert str(program) in found.mend
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert wall.no_wall() is None, "root enters whatever it makes"


@pytest.fixture
async def tools(site: Site, tmp_path: Path) -> AsyncIterator[ToolHarness]:
    """The tools, over a browser of this machine."""
    (tmp_path / "w").mkdir()
    sandbox = LocalSandbox(tmp_path / "w", home=tmp_path / "home", state=tmp_path / "state")
    harness = ToolHarness(tmp_path / "w", sandbox, [BrowserTools()])
    harness.addresses = addresses
    await harness.open()
    yield harness
    await harness.close()


def of_browser(pid: int, mark: str) -> set[int]:
    """What is alive of the browser whose first process this is, or was."""
    return belonging(pid, mark, everybody())


async def test_each_site_is_asked_about_where_there_is_no_wall_and_the_question_says_why(
    no_wall: None, tools: ToolHarness, site: Site
) -> None:
    there = site.url("/there", "other.example")
    site.pages["/"] = f"<input aria-label=Name><a href='{there}'>Over</a>"
    site.pages["/there"] = "Other words"
    (effect,) = await tools.effects("browser_open", url=site.url())
    assert effect == OpenOrigin(site.url(), "", WHY)
    assert 'textbox "Name" [e1]' in await tools.said("browser_open", url=site.url())
    acted = await tools.said("browser_act", steps=(Step("fill", "e1", "Anna"), Step("click", "e2")))
    assert "1. fill e1: done" in acted
    assert "nobody has said yes to http://other.example" in acted
    assert not [line for line in site.asked if "/there" in line]


async def test_where_there_is_a_wall_a_page_is_asked_about_as_fetching_is(tools: ToolHarness, site: Site) -> None:
    assert list(await tools.effects("browser_open", url=site.url())) == [FetchUrl(site.url())]


async def test_it_keeps_its_own_sandbox_is_not_root_and_leaves_nothing(
    no_wall: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[tuple[int, str]]()

    def beginning(argv: Sequence[str], env: dict[str, str], *given: Any, **more: Any) -> "subprocess.Popen[bytes]":
        process = start_on_pipe(argv, env, *given, **more)
        begun.append((process.pid, env[MARK]))
        return process

    monkeypatch.setattr("angelia.browsers.chromium.unwalled.start_on_pipe", beginning)
    monkeypatch.setenv("OURS", "not for it")
    browser = ChromiumBrowser(addresses)
    await browser.opened()
    told = [
        (Path(f"/proc/{pid}/cmdline").read_bytes(), Path(f"/proc/{pid}/status").read_text(), pid)
        for pid in of_browser(*begun[0])
    ]
    assert not [line for line, _, _ in told if b"--no-sandbox" in line.split(b"\0")]
    pages = [(status, pid) for line, status, pid in told if b"--type=renderer" in line]
    assert pages
    for status, pid in pages:
        assert "Seccomp:\t2" in status
        assert Path(f"/proc/{pid}/ns/user").readlink() != Path("/proc/self/ns/user").readlink()
    assert {int(status.partition("Uid:")[2].split()[0]) for _, status, _ in told} == {os.geteuid() or 65534}
    assert not [pid for _, _, pid in told if b"OURS=" in Path(f"/proc/{pid}/environ").read_bytes()]
    folder = Path(tempfile.gettempdir(), begun[0][1])
    assert (folder / "home/profile").is_dir()
    await browser.close()
    assert not of_browser(*begun[0])
    assert not folder.exists()


STARTS = """
import asyncio
from angelia.browsers.chromium import unwalled
begin = unwalled.start_on_pipe
def beginning(argv, env, *given, **more):
    process = begin(argv, env, *given, **more)
    print(process.pid, env["ANGELIA_COMMAND"], flush=True)
    return process
async def addresses(origin, host, port):
    return []
async def main():
    unwalled.start_on_pipe = beginning
    context = await unwalled.start_unwalled(addresses)
    await context.cdp.call("Target.createTarget", {"url": "about:blank", "browserContextId": context.context})
    print("open", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("when", ["while it starts", "with a page open"])
async def test_whoever_kills_us_leaves_no_browser_without_a_wall(when: str) -> None:
    ours = await asyncio.create_subprocess_exec(sys.executable, "-c", STARTS, stdout=subprocess.PIPE)
    assert ours.stdout is not None
    pid, mark = (await ours.stdout.readline()).decode().split()
    if when == "with a page open":
        assert await ours.stdout.readline() == b"open\n"
        assert len(of_browser(int(pid), mark)) > 1
    ours.send_signal(signal.SIGKILL)
    await ours.wait()
    async with asyncio.timeout(20):
        while of_browser(int(pid), mark):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)
    assert not of_browser(int(pid), mark)


async def test_a_browser_that_can_keep_no_sandbox_of_its_own_is_not_started_and_says_so(
    no_wall: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Really: in a place that has no namespaces to give."""
    bare = ("/usr/bin/bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user")

    def beginning(argv: Sequence[str], *given: Any, **more: Any) -> "subprocess.Popen[bytes]":
        return start_on_pipe([*bare, "--disable-userns", *argv], *given, **more)

    monkeypatch.setattr("angelia.browsers.chromium.unwalled.start_on_pipe", beginning)
    with pytest.raises(BrowserMissing) as found:
        await ChromiumBrowser(addresses).opened()
    assert "can keep no sandbox of its own here, and is not started without one" in str(found.value)
    assert "It says: No usable sandbox!" in str(found.value)


@pytest.mark.soak
async def test_no_way_of_a_page_without_a_wall_leads_to_where_it_may_not_go(no_wall: None, site: Site) -> None:
    heard, refused = await tried(site, ChromiumBrowser(addresses), "/name/", "/framed", "/stays/")
    assert heard == set()
    assert any("not reached" in one for one in refused), "it was really tried"


async def test_a_file_is_taken_from_and_given_to_a_browser_without_a_wall(
    no_wall: None, tools: ToolHarness, site: Site
) -> None:
    (tools.root / "cv.txt").write_text("plum")
    site.pages["/"] = """<a href=/file download=a.txt>Down</a>
        <input type=file aria-label=CV onchange="seen.textContent = 'given ' + this.files[0].size"><p id=seen></p>"""
    site.pages["/file"] = "apple"
    await tools.said("browser_open", url=site.url())
    steps = (Step("download", "e1", "down.txt"), Step("upload", "e2", "cv.txt"), Step("wait", text="given 4"))
    acted = await tools.said("browser_act", steps=steps)
    assert "3. wait: done" in acted, acted
    assert (tools.root / "down.txt").read_text() == "apple"


@pytest.mark.parametrize("starts", [True, False])
async def test_doctor_says_that_there_is_no_wall_and_what_mends_it(
    no_wall: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts: bool
) -> None:
    async def refusing(_: object) -> None:
        raise BrowserMissing("It does not start.")

    if not starts:
        monkeypatch.setattr(unwalled, "start_unwalled", refusing)
    app = await App.open(load(tmp_path / "home", {}), {})
    try:
        (result,) = [one async for one in look_at_browser(app)]
    finally:
        await app.close()
    assert result.mend == MISSING.mend
    if starts:
        assert result.state is CheckState.ABSENT
        assert result.seen == "it runs without a wall, so each site is asked about: bubblewrap is not installed"
    else:
        assert result.state is CheckState.BROKEN
        assert "It does not start." in result.seen


@pytest.mark.real("window")
def test_a_window_to_log_in_is_refused_without_a_wall_before_a_profile_is_begun(no_wall: None, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "wayland-0"))
        env = {"ANGELIA_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-0"}
        runner = CliRunner(env=env | {"DISPLAY": ""})
        refused = runner.invoke(angelia, ["browser", "login", "https://shop.example"])
        listed = runner.invoke(angelia, ["browser", "profiles"])
    assert refused.exit_code != 0
    assert (
        "only opened behind a wall, and this machine has none: bubblewrap is not installed"
        in str(refused.exception) + refused.output
    )
    assert "No logins are kept" in listed.output
