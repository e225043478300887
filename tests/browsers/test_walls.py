"""Nothing leaves a page but to what was permitted: not by one of the ways that a page has, and not by name."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from angelia.browsers.chromium import launch
from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.cdp import ProtocolError
from angelia.browsers.chromium.display import display_of
from angelia.browsers.chromium.launch import RunningChromium, start_chromium
from angelia.browsers.port import ActFailed
from angelia.core.errors import PolicyDenied
from angelia.sandboxes.egress.namespace import HeldCommand
from angelia.sandboxes.local.processes import bears
from angelia.sandboxes.port import AccessRefused
from tests.browsers.site import Site
from tests.browsers.ways_out import ways_out

pytestmark = [pytest.mark.anyio, pytest.mark.real("chromium")]


class Everywhere(asyncio.DatagramProtocol):
    """A place that nobody may reach: whatever comes there, by TCP or UDP, is written down."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def datagram_received(self, data: bytes, addr: object) -> None:
        """By UDP."""
        self.heard.append(f"udp {data[:20]!r}")

    async def stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """By TCP."""
        line = await reader.readline()
        self.heard.append(line.decode("latin-1").strip() or "tcp")
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()


async def tried(site: Site, *, permit: bool) -> tuple[list[str], set[str]]:
    """What a place heard while pages tried to reach it in every way, and what the proxy was asked for.

    They do so by its name, by its number, and in a frame of another site, which has a process of its own.
    """
    asked = set[str]()

    async def addresses(origin: str, host: str, to: int) -> Sequence[str]:
        asked.add(host)
        if host.endswith("site.example") or permit:
            return ["127.0.0.1"]
        raise PolicyDenied(f"{origin} is not reached.", "It was not permitted.")

    browser = ChromiumBrowser(addresses)
    async with forbidden() as (place, port, udp_port):

        async def tries(at: str, host: str, page: str) -> None:
            site.pages |= ways_out(host, port, udp_port, at)
            tab = await browser.opened("new")
            with suppress(ActFailed):
                await tab.go(page)
            await tab.settled()
            with suppress(ActFailed):  # a navigation is a way out, too
                await tab.go(f"http://{host}:{port}/navigated")

        site.pages["/framed"] = f"<iframe src={site.url('/frame/', 'inner-site.example')}></iframe>"
        try:
            await browser.opened("new")
            await asyncio.gather(
                tries("/name", "forbidden.example", site.url("/name/")),
                tries("/number", "127.0.0.1", site.url("/number/")),
                tries("/frame", "framed.forbidden.example", site.url("/framed")),
            )
        finally:
            await browser.close()
    return place.heard, asked


@asynccontextmanager
async def forbidden() -> AsyncIterator[tuple[Everywhere, int, int]]:
    """A place that nobody may reach, and its ports by TCP and UDP."""
    place = Everywhere()
    listening, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: place, local_addr=("127.0.0.1", 0))
    async with await asyncio.start_server(place.stream, "127.0.0.1", 0) as tcp:
        yield place, tcp.sockets[0].getsockname()[1], listening.get_extra_info("sockname")[1]
    listening.close()


async def test_no_way_leads_out(site: Site) -> None:
    heard, asked = await tried(site, permit=False)
    assert heard == []
    tries = {"forbidden.example", "framed.forbidden.example", "stolen-words.forbidden.example", "127.0.0.1"}
    assert tries <= asked, "it was really tried"


async def test_the_page_really_tries_and_udp_and_names_stay_in_even_where_the_place_is_permitted(site: Site) -> None:
    heard, _ = await tried(site, permit=True)
    ways = {line.split(" ")[1].partition("?")[0] for line in heard if line.startswith(("GET", "POST"))}
    assert len(ways) >= 18, sorted(ways)
    assert {"/fetch", "/ws", "/beacon", "/worker-fetch", "/worker-ws", "/blob-worker", "/redirected-img"} <= ways
    assert not [line for line in heard if line.startswith("udp")]


class Unheld(HeldCommand):
    """Has the proxy listen where nobody asks it."""

    async def listen(self, mark: str) -> socket.socket:
        """Outside, once bubblewrap has started."""
        self.started()
        told = b""
        while b"}" not in told:
            piece = await asyncio.to_thread(os.read, self._info, 4096)
            assert piece, "bubblewrap did not start"
            told += piece
        return socket.create_server(("127.0.0.1", 0))


@pytest.mark.soak
async def test_without_the_namespace_and_the_proxy_the_page_gets_out(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that silence says something. Every name is this machine's loopback to it: nothing goes further."""
    walls = ("--proxy", "--force-webrtc", "--disable-quic", "--disable-features")
    flags = [flag for flag in launch._FLAGS if not flag.startswith(walls)]
    flags += ["--host-resolver-rules=MAP * 127.0.0.1", "--disable-features=WebRtcHideLocalIpsWithMdns"]
    argv = launch._argv

    def without(*given: Any) -> list[str]:
        words = argv(*given)
        words.insert(words.index("--unshare-all") + 1, "--share-net")
        return words

    monkeypatch.setattr(launch, "_FLAGS", tuple(flags))
    monkeypatch.setattr(launch, "_argv", without)
    monkeypatch.setattr(launch, "HeldCommand", Unheld)
    heard, asked = await tried(site, permit=False)
    assert asked == set(), "nothing came by the proxy"
    ways = {line.split(" ")[1].partition("?")[0] for line in heard if line.startswith(("GET", "POST"))}
    assert len(ways) >= 18, sorted(ways)
    assert [line for line in heard if line.startswith("udp")]


def _walled(running: RunningChromium) -> str:
    """What it has mounted, which is nothing of this machine's people; and it is nobody, in a network of its own."""
    inner = _chromium_of(running._process.pid)
    mounts = Path(f"/proc/{inner}/mountinfo").read_text()
    assert not any(f" {place} " in mounts for place in ("/root", "/home/", str(Path.home()), "/var", "/etc"))
    assert Path(f"/proc/{inner}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
    status = Path(f"/proc/{inner}/status").read_text()
    assert int(status.partition("Uid:")[2].split()[0]) == (os.geteuid() or 65534)
    return mounts


def _sockets_of_desktops(mounts: str) -> list[str]:
    places = (line.split()[4] for line in mounts.splitlines())
    return [place for place in places if "X11" in place or "wayland" in place]


@pytest.mark.real("window")
async def test_a_window_for_a_person_has_the_same_wall_and_the_one_socket_that_draws_it(screen: str) -> None:
    async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
        raise PolicyDenied("No.", "Nothing is permitted.")

    running = await start_chromium(addresses, display_of({"DISPLAY": screen}))
    try:
        assert _sockets_of_desktops(_walled(running)) == [f"/tmp/.X11-unix/X{screen.removeprefix(':')}"]
    finally:
        await running.close()


async def test_it_sees_nothing_of_this_machine_and_is_nobody(site: Site) -> None:
    async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
        raise PolicyDenied("No.", "Nothing is permitted.")

    running = await start_chromium(addresses)
    try:
        assert bears(running._process.pid, f"{running.folders.mark}\0"), (
            "who ends what a killed life left knows it by it"
        )
        assert _sockets_of_desktops(_walled(running)) == []
        for url in ("file:///etc/passwd", "chrome://version", "view-source:file:///etc/passwd"):
            told = await running.cdp.call("Target.createTarget", {"url": url})
            asked = {"targetId": told["targetId"], "flatten": True}
            session = (await running.cdp.call("Target.attachToTarget", asked))["sessionId"]
            read = {"expression": "document.documentElement.innerText"}
            said = None
            async with asyncio.timeout(15):
                while said is None:
                    with suppress(ProtocolError):  # it has no document yet
                        said = await running.cdp.call("Runtime.evaluate", read, session=session)
            assert "root:" not in str(said)
    finally:
        await running.close()


def _chromium_of(pid: int) -> int:
    """The browser's own process, below those that put it behind its wall."""
    while not Path(f"/proc/{pid}/comm").read_text().startswith("chromium"):
        pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    return pid


async def test_a_start_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five times, since the inner one of the two that confine it may have come far enough to end with the outer one."""
    begun, begin = list[int](), launch._begun

    def beginning(*given: Any) -> "subprocess.Popen[bytes]":
        begun.append((process := begin(*given)).pid)
        return process

    async def no_network(self: HeldCommand, mark: str) -> socket.socket:
        while not Path(f"/proc/{begun[-1]}/task/{begun[-1]}/children").read_text():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)  # until there are two
        raise AccessRefused("There is no network.")

    async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
        return []

    monkeypatch.setattr(launch, "_begun", beginning)
    monkeypatch.setattr(HeldCommand, "listen", no_network)
    for _ in range(5):
        with pytest.raises(AccessRefused):
            await start_chromium(addresses)
    async with asyncio.timeout(20):
        for group in begun:
            with suppress(ProcessLookupError):
                while True:
                    os.killpg(group, 0)
                    await asyncio.sleep(0.01)


STARTS = """
import asyncio, sys
from angelia.browsers.chromium.display import display_of
from angelia.browsers.chromium.launch import RunningChromium, start_chromium
async def addresses(origin, host, port):
    return []
async def main():
    running = await start_chromium(addresses)
    print(running._process.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_whoever_kills_us_leaves_no_browser(site: Site) -> None:
    ours = await asyncio.create_subprocess_exec(sys.executable, "-c", STARTS, stdout=subprocess.PIPE)
    assert ours.stdout is not None
    wrapper = int(await ours.stdout.readline())
    inner = _chromium_of(wrapper)
    handles = [os.pidfd_open(wrapper), os.pidfd_open(inner)]
    ours.send_signal(signal.SIGKILL)
    await ours.wait()
    loop = asyncio.get_running_loop()
    for handle in handles:
        dead: asyncio.Future[None] = loop.create_future()
        loop.add_reader(handle, partial(_wake, dead))
        async with asyncio.timeout(20):
            await dead
        loop.remove_reader(handle)
        os.close(handle)


def _wake(dead: asyncio.Future[None]) -> None:
    if not dead.done():
        dead.set_result(None)
