"""Claims about the network of a confined command: what it reaches by our proxy, and that there is no other way."""

import asyncio
import os
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest

from angelia.sandboxes.local import sandbox
from angelia.sandboxes.local.process_ledger import reap_leftovers
from angelia.sandboxes.local.processes import PROC
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import AccessRefused, Command, Exit, Reach
from angelia.testing.sandboxes.acts import refused, said

from .conftest import Build
from .egress_world import Names, web

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap"), pytest.mark.real("curl")]

OPEN = "127.0.0.0/8"


async def networked(sandbox: LocalSandbox, line: str, *hosts: str) -> tuple[str, Exit]:
    output, end = await said(sandbox, Command(shell=line, reach=Reach.NETWORK, hosts=hosts))
    return output.decode(), end


def python(code: str) -> str:
    return f"python3 -c '{code}'"


PROGRAMS = {
    "curl": "curl -sS {url}",
    "curl by a tunnel": "curl -sSp {url}",
    "urllib": python('import urllib.request as u; print(u.urlopen("{url}").read().decode())'),
    "git": "git ls-remote {url}",
    "a shell": 'exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}; printf "GET {url} HTTP/1.1\\r\\n\\r\\n" >&3; cat <&3',
}


@pytest.mark.parametrize("program", PROGRAMS)
async def test_programs_reach_public_hosts_through_the_proxy(build: Build, program: str) -> None:
    names = Names(OPEN, a=[["127.0.0.1"]])
    async with web(f"{'0123456789' * 4}\trefs/heads/here\n") as here:
        line = PROGRAMS[program].format(url=f"http://a.example:{here.port}/")
        output, end = await networked(build().judged_by(names.addresses), line)
    assert output.rstrip().endswith("refs/heads/here"), output
    assert (end.status, end.notes) == (0, ())
    assert set(names.asked) == {"a.example"}


async def test_whoever_judges_last_is_asked(build: Build) -> None:
    sandbox, names = build(), Names(OPEN, a=[["127.0.0.1"]])
    async with web("here") as here:
        line = f"curl -sS http://a.example:{here.port}/"
        before, _ = await networked(sandbox, line)
        after, _ = await networked(sandbox.judged_by(names.addresses), line)
    assert "Nobody judges addresses here" in before
    assert after == "here"


@pytest.mark.parametrize(
    "where",
    ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "metadata.google.internal", "inside.example"],
)
async def test_private_places_are_refused_and_it_is_said_why(build: Build, where: str) -> None:
    names = Names(inside=[["192.168.7.7"]], localhost=[["127.0.0.1"]])
    async with web("here") as here:
        line = (
            f"curl -sS --noproxy '' http://{where}:{here.port}/; curl -sS --noproxy '' -p http://{where}:{here.port}/"
        )
        output, end = await networked(build().judged_by(names.addresses), line)
    assert not here.heard
    assert end.status == 56, output  # curl: failure in receiving, for a tunnel that was refused
    assert "is not reached. " in output
    (note,) = end.notes
    assert note.startswith(f"network: http://{where}:{here.port}/ is not reached. ")


DIRECTLY = {
    "TCP": 'socket.create_connection(("127.0.0.1", {tcp}), 5)',
    "TCP by IPv6": 'socket.create_connection(("::1", {tcp6}), 5)',
    "UDP": (
        "[s := socket.socket(type=socket.SOCK_DGRAM), "
        's.connect(("127.0.0.1", {udp})), s.settimeout(60), s.send(b"x"), s.recv(1)]'
    ),
    "an abstract socket": '[s := socket.socket(socket.AF_UNIX), s.connect("\\0{abstract}")]',
    "any address": 'socket.create_connection(("{address}", {tcp}), 5)',
}


@pytest.mark.parametrize("way", DIRECTLY)
async def test_past_the_proxy_there_is_nothing(build: Build, way: str) -> None:
    loop, abstract = asyncio.get_running_loop(), f"angelia-test-{os.getpid()}"

    class Echo(asyncio.DatagramProtocol):
        """Gives back what comes."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._transport = cast("asyncio.DatagramTransport", transport)

        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            self._transport.sendto(data, addr)

    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("", 0)))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(f"\0{abstract}")
        unix.listen()
        numbers = {"tcp": tcp.getsockname()[1], "abstract": abstract, "address": _own_address(), "tcp6": 0}
        if socket.has_ipv6 and "6" in way:
            six = stack.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6))
            numbers["tcp6"] = six.getsockname()[1]
        echo, _ = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", 0))
        stack.callback(echo.close)
        numbers["udp"] = echo.get_extra_info("sockname")[1]
        sandbox = build().judged_by(Names(OPEN).addresses)
        attempt = python(f"import socket; {DIRECTLY[way].format(**numbers)}").replace("\0", "\\0")
        for reach, reached in ((Reach.OUTSIDE, True), (Reach.NETWORK, False), (Reach.CONFINED, False)):
            output, end = await said(sandbox, Command(shell=attempt, reach=reach))
            assert (end.status == 0) is reached, (reach, output)


def _own_address() -> str:
    """The one that this machine has on a network, if it has one; no packet is sent."""
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


async def test_no_name_is_looked_up_inside(build: Build) -> None:
    output, _ = await networked(build(), "getent ahosts example.org; echo $?; cat /proc/net/dev | tail -n +3 | wc -l")
    assert output.split() == ["2", "1"]  # not found; the loopback is the only interface


async def test_a_commands_own_loopback_is_its_own(build: Build) -> None:
    serve = "python3 -um http.server --bind 127.0.0.1 8099 >log 2>&1 & "
    line = "for i in $(seq 200); do curl -sS http://127.0.0.1:8099/log 2>/dev/null && break; read -t 0.05 <> <(:); done"
    names = Names()
    output, end = await networked(build().judged_by(names.addresses), f"{serve}{line}")
    assert "Serving HTTP" in output
    assert (names.asked, end.notes) == ([], ())


async def test_hosts_that_were_granted_are_reached_and_no_other(build: Build) -> None:
    names = Names(OPEN, a=[["127.0.0.1"]], b=[["127.0.0.1"]], c=[["127.0.0.1"]])
    async with web("first") as first, web("away", location=f"http://c.example:{first.port}/") as away:
        line = f"curl -sS http://a.example:{first.port}; echo; curl -sSL http://b.example:{away.port}"
        output, end = await networked(build().judged_by(names.addresses), line, "a.example", "b.example")
    assert output.splitlines()[0] == "first"
    assert "c.example is not among the hosts that this command was granted: a.example, b.example." in output
    assert end.notes[0].startswith("network: c.example is not among the hosts")
    assert "Name it in `hosts` as well" in end.notes[0]
    assert names.asked == ["a.example", "b.example"]


async def test_two_commands_at_once_have_their_own_hosts(build: Build) -> None:
    names = Names(OPEN, a=[["127.0.0.1"]], b=[["127.0.0.1"]])
    sandbox = build().judged_by(names.addresses)
    async with web("here") as here:
        line = f"curl -sS http://a.example:{here.port}/; echo; curl -sS http://b.example:{here.port}/"
        (one, _), (other, _) = await asyncio.gather(
            networked(sandbox, line, "a.example"), networked(sandbox, line, "b.example")
        )
    for output, at, refusal in ((one, 0, "b.example is not among"), (other, -1, "a.example is not among")):
        assert output.splitlines()[at] == "here"
        assert refusal in output


async def test_its_connections_end_with_a_command_and_with_the_sandbox(build: Build) -> None:
    ends: asyncio.Queue[bytes] = asyncio.Queue()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"held\n")
        ends.put_nowait(await reader.read())
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    line = f'exec 3<>/dev/tcp/127.0.0.1/808; printf "CONNECT a.example:{port} HTTP/1.1\\r\\n\\r\\n" >&3; cat <&3'
    sandbox = build().judged_by(Names(OPEN, a=[["127.0.0.1"]]).addresses)
    async with server:
        for end in (lambda running: running.kill(), lambda _: sandbox.close()):
            running = await sandbox.start(Command(shell=line, reach=Reach.NETWORK))
            heard = b""
            async for chunk in running.output():
                heard += chunk
                if heard.endswith(b"held\n"):
                    break
            await end(running)
            assert await asyncio.wait_for(ends.get(), 60) == b""


LIFE = """
import asyncio, os, pathlib, sys
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Reach

async def main(folder):
    sandbox = LocalSandbox(folder / "work", home=folder / "own", state=folder / "own/run")
    await sandbox.start(Command(shell="readlink /proc/self/ns/net > net; sleep 1000", reach=Reach.NETWORK))
    while not (folder / "work/net").exists() or not (folder / "work/net").read_text().endswith("\\n"):
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), 9)

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


async def test_a_killed_life_leaves_neither_command_nor_namespace(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    life = await asyncio.create_subprocess_exec(sys.executable, "-c", LIFE, str(tmp_path))
    assert await life.wait() == -signal.SIGKILL
    await reap_leftovers(tmp_path / "own/run")
    network = (tmp_path / "work/net").read_text().strip()
    left = [path.parent.parent.name for path in PROC.glob("[0-9]*/ns/net") if _leads_to(path) == network]
    assert network.startswith("net:[")
    assert not left
    assert not list((tmp_path / "own/run").iterdir())


def _leads_to(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # gone, or somebody else's
        return ""


async def test_a_command_without_a_network_of_its_own_does_not_run(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = tmp_path / "bwrap"  # a bubblewrap that leaves this machine's network to its command
    shares.write_text('#!/bin/bash\nexec bwrap "${@:1:6}" --share-net "${@:7}"\n')
    shares.chmod(0o755)
    monkeypatch.setattr(sandbox, "bubblewrap_program", lambda: str(shares))
    command = Command(shell="touch ran", reach=Reach.NETWORK)
    error = await refused(build(tmp_path / "work").start(command), AccessRefused)
    assert "cannot get a network of its own: the command has no network of its own" in str(error)
    assert not (tmp_path / "work/ran").exists()


async def test_the_network_leaves_no_descriptor_and_no_child(build: Build) -> None:
    sandbox = build()
    await networked(sandbox, "true")
    held, children = len(os.listdir("/proc/self/fd")), _children()  # noqa: PTH208
    for _ in range(5):
        await networked(sandbox, "curl -sS http://a.example/")
    assert len(os.listdir("/proc/self/fd")) <= held  # noqa: PTH208
    assert _children() <= children


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
