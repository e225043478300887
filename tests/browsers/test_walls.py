"""Nothing leaves a page but to what was permitted: not by one of the ways that a page has, and not by name."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.cdp import ProtocolError
from angelia.browsers.chromium.launch import start_chromium
from angelia.browsers.port import ActFailed
from angelia.core.errors import PolicyDenied
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
    """What a place heard while a page tried to reach it in every way, and what the proxy was asked for."""
    place, asked = Everywhere(), set[str]()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp_port = udp.getsockname()[1]
    loop = asyncio.get_running_loop()
    listening, _ = await loop.create_datagram_endpoint(lambda: place, sock=udp)
    async with await asyncio.start_server(place.stream, "127.0.0.1", 0) as tcp:
        port = tcp.sockets[0].getsockname()[1]

        async def addresses(origin: str, host: str, to: int) -> Sequence[str]:
            asked.add(host)
            if host == "site.example" or permit:
                return ["127.0.0.1"]
            raise PolicyDenied(f"{origin} is not reached.", "It was not permitted.")

        browser = ChromiumBrowser(addresses)
        try:
            for host in ("forbidden.example", "127.0.0.1"):
                site.pages = ways_out(host, port, udp_port)
                tab = await browser.opened("new")
                with suppress(ActFailed):
                    await tab.go(site.url())
                for _ in range(3):
                    await tab.settled()
                with suppress(ActFailed):  # a navigation is a way out, too
                    await tab.go(f"http://{host}:{port}/navigated")
        finally:
            await browser.close()
    listening.close()
    return place.heard, asked


async def test_no_way_leads_out(site: Site) -> None:
    heard, asked = await tried(site, permit=False)
    assert heard == []
    assert {"forbidden.example", "stolen-words.forbidden.example", "127.0.0.1"} <= asked, "it was really tried"


async def test_the_page_really_tries_and_udp_and_names_stay_in_even_where_the_place_is_permitted(site: Site) -> None:
    heard, _ = await tried(site, permit=True)
    ways = {line.split(" ")[1].partition("?")[0] for line in heard if line.startswith(("GET", "POST"))}
    assert len(ways) >= 18, sorted(ways)
    assert {"/fetch", "/ws", "/beacon", "/worker-fetch", "/worker-ws", "/blob-worker", "/redirected-img"} <= ways
    assert not [line for line in heard if line.startswith("udp")]


async def test_it_sees_nothing_of_this_machine_and_is_nobody(site: Site) -> None:
    async def addresses(origin: str, host: str, port: int) -> Sequence[str]:
        raise PolicyDenied("No.", "Nothing is permitted.")

    running = await start_chromium(addresses)
    try:
        inner = _child_of(running._process.pid)
        mounts = Path(f"/proc/{inner}/mountinfo").read_text()
        assert not any(f" {place} " in mounts for place in ("/root", "/home/", str(Path.home()), "/var", "/etc"))
        assert Path(f"/proc/{inner}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        status = Path(f"/proc/{inner}/status").read_text()
        uid = int(status.partition("Uid:")[2].split()[0])
        assert uid == (os.geteuid() or 65534)
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


def _child_of(pid: int) -> int:
    """The innermost process of a chain of single children."""
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


STARTS = """
import asyncio, sys
from angelia.browsers.chromium.launch import start_chromium
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
    inner = _child_of(wrapper)
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
