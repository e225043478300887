"""A person logs in by hand in a window; a profile keeps it for its sites, and for conversations to come."""

import asyncio
import os
import pty
import socket
import sys
from pathlib import Path

import pytest

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.display import Display, display_of
from angelia.browsers.port import BrowserMissing
from angelia.service.secrets.browser_profiles import BrowserProfiles
from angelia.service.secrets.login_window import log_in_by_hand
from tests.browsers.site import Site

pytestmark = pytest.mark.anyio

LOGIN = "set-cookie: session=k3ks; Path=/; HttpOnly; Max-Age=9000\r\n"


def bank(site: Site) -> None:
    site.pages["/"] = "<form action=/in method=post><input name=who aria-label=Name><button>Log in</button></form>"
    site.pages["/in"] = "<h1>Welcome</h1>"
    site.headers["/in"] = LOGIN


@pytest.mark.real("chromium")
@pytest.mark.parametrize("end", ["says so", "closes the window", "ends the browser"])
async def test_what_a_person_logs_in_to_is_kept_however_they_end_it(
    running: ChromiumBrowser, site: Site, tmp_path: Path, end: str
) -> None:
    bank(site)
    kept = BrowserProfiles(tmp_path)
    kept.add("bank", (site.url(""),))
    held = kept.lend("bank")
    done = asyncio.get_running_loop().create_future()
    window = asyncio.ensure_future(log_in_by_hand(running, held, site.url(), done))
    async with asyncio.timeout(30):
        while not site.asked:
            await asyncio.wait([window], timeout=0.01)
        tab = running.tab()
        await tab.wait_for("Log in", 10)
        await tab.look()
        await tab.fill("e1", "ann")
        await tab.click("e2")
        await tab.wait_for("Welcome", 10)
        while not held.logins.cookies:  # it is kept while the window is open
            await asyncio.wait([window], timeout=0.01)
        if end == "says so":
            done.set_result(None)
        elif end == "closes the window":
            await running.close_tab(tab.name)
        else:
            await running.close()
        assert await window == ""
    held.give_back()
    assert [one.value for one in kept.kept()["bank"].cookies] == ["k3ks"]
    await running.close()


@pytest.mark.soak
@pytest.mark.real("window")
async def test_the_command_opens_a_window_and_enter_ends_it(site: Site, tmp_path: Path, screen: str) -> None:
    """The page is one with bars above it, which a headless browser has not, and does what the person would."""
    site.pages["/"] = "<body><script>document.location = '/in'</script>"
    site.pages["/in"] = (
        "<script>setInterval(() => { if (outerHeight - innerHeight > 50) fetch('/shown') }, 50)</script>"
    )
    site.pages["/shown"] = ""
    site.headers["/in"] = LOGIN
    (tmp_path / "config.toml").write_text('[policy]\nallow_ranges = ["127.0.0.0/8"]\n')
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "angelia", "browser", "login", site.url(host="127.0.0.1"), "--as", "bank"]
    env = {**os.environ, "ANGELIA_HOME": str(tmp_path), "DISPLAY": screen, "HOME": str(tmp_path)}
    process = await asyncio.create_subprocess_exec(*argv, env=env, stdin=theirs, stderr=asyncio.subprocess.PIPE)
    os.close(theirs)
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while "GET /shown HTTP/1.1" not in site.asked:
                assert process.returncode is None, await process.stderr.read()
                await asyncio.sleep(0.01)
            os.write(ours, b"\n")
            said = (await process.stderr.read()).decode()
            assert await process.wait() == 0, said
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)
    assert "press Enter here" in said
    assert f"The profile bank keeps 1 cookie of {site.url('', '127.0.0.1')}" in said
    assert [one.value for one in BrowserProfiles(tmp_path).kept()["bank"].cookies] == ["k3ks"]


NOWHERE = {
    "nothing is said": ({}, "are not set"),
    "over SSH": ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "over SSH"),
    "a desktop that SSH forwards": ({"DISPLAY": "localhost:10.0"}, "localhost:10.0 is not on this machine"),
    "an X server that is not there": ({"DISPLAY": ":65001"}, ":65001 is not on this machine"),
    "a compositor that is not there": ({"WAYLAND_DISPLAY": "wayland-65001"}, "wayland-65001 is not"),
}


@pytest.mark.parametrize("case", NOWHERE)
def test_where_there_is_no_desktop_it_is_said_what_to_do(case: str) -> None:
    env, why = NOWHERE[case]
    with pytest.raises(BrowserMissing) as told:
        display_of(env)
    assert why in str(told.value)
    assert "hands the page over to you" in str(told.value)


def test_a_compositor_is_found_by_its_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "wayland-0"))
        env = {"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path)}
        assert display_of(env) == Display("wayland-0", tmp_path / "wayland-0", "wayland")
