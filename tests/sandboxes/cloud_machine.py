"""A machine as clouds have them: metadata addresses and an abstract socket that answer, and who reaches them.

Run with a kind of sandbox and a folder; it prints JSON. In a namespace of its own, since it takes those addresses.
"""

import asyncio
import errno
import fcntl
import ipaddress
import json
import os
import shlex
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from angelia.policy.egress import judge_address, judge_url
from angelia.sandboxes.apptainer.sandbox import ApptainerSandbox
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Reach, Sandbox
from angelia.testing.sandboxes.acts import said
from angelia.tools.web.fetcher import Fetcher

from .apptainer import images
from .daemon import IMAGE, daemon

METADATA = ("169.254.169.254", "fd00:ec2::254")
"""Where clouds hand out credentials (docs.aws.amazon.com, "Instance metadata"; others use the first as well)."""
PORT = 80
ABSTRACT = "\0neighbour"
HELLO = b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nthe secret"
TRY = f"""
import socket
def tried(way, family, to):
    try:
        with socket.socket(family) as one:
            one.settimeout(20)
            one.connect(to)
            one.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            print(way, b"secret" in one.recv(1000))
    except OSError:
        print(way, False)
tried("169.254.169.254", socket.AF_INET, ("169.254.169.254", {PORT}))
tried("fd00:ec2::254", socket.AF_INET6, ("fd00:ec2::254", {PORT}))
tried("abstract", socket.AF_UNIX, "\\0neighbour")
"""
BY_PROXY = "for one in 169.254.169.254 '[fd00:ec2::254]'; do curl -sS --noproxy '' \"http://$one/\"; done"
_SIOCSIFADDR, _SIOCSIFFLAGS, _UP = 0x8916, 0x8914, 0x1 | 0x40
"""linux/sockios.h, linux/if.h"""
FOLDERS = tuple(f"{folder}:{folder}" for folder in ("/usr", "/lib", "/lib64") if os.path.exists(folder))  # noqa: PTH110


def take_addresses() -> None:
    """Loopback is up, and has them."""
    with socket.socket() as four, socket.socket(socket.AF_INET6) as six:
        fcntl.ioctl(four, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP))
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(METADATA[0]))
        fcntl.ioctl(four, _SIOCSIFADDR, address)
        number = socket.if_nametoindex("lo")
        fcntl.ioctl(six, _SIOCSIFADDR, struct.pack("16sii", ipaddress.ip_address(METADATA[1]).packed, 128, number))


async def _answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")  # what is closed with something unread is reset
    writer.write(HELLO)
    writer.close()


async def _server(address: str) -> asyncio.Server:
    """Its own, as soon as the kernel has looked that nobody else has it (RFC 4862, 5.4)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    async with asyncio.timeout(60):
        while True:
            try:
                at = socket.create_server((address, PORT), family=family)  # asyncio's own hides the number of the error
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                await asyncio.sleep(0.05)
            else:
                return await asyncio.start_server(_answers, sock=at)


@asynccontextmanager
async def _local(folder: Path) -> AsyncIterator[Sandbox]:
    fetcher = Fetcher(judge_url, judge_address)
    yield LocalSandbox(folder / "work", home=folder / "own", state=folder / "own/run").judged_by(
        fetcher.addresses_behind
    )


@asynccontextmanager
async def _docker(folder: Path) -> AsyncIterator[Sandbox]:
    place = SandboxContext("one", str(folder / "work"), folder / "own", folder / "own/run")
    with daemon() as one:
        sandbox = DockerSandbox(IMAGE, place, settings=DockerSettings(volumes=FOLDERS), socket=one.socket)
        yield sandbox
        await sandbox.close()


@asynccontextmanager
async def _apptainer(folder: Path) -> AsyncIterator[Sandbox]:
    place = SandboxContext("one", str(folder / "work"), folder / "own", folder / "own/run")
    with images() as both:
        sandbox = ApptainerSandbox(str(both.folder), place, settings=ApptainerSettings(volumes=FOLDERS))
        yield sandbox
        await sandbox.close()


KINDS: dict[str, Callable[[Path], AbstractAsyncContextManager[Sandbox]]] = {
    "local": _local,
    "docker": _docker,
    "apptainer": _apptainer,
}


async def _main(kind: str, folder: Path) -> None:
    (folder / "work").mkdir()
    (folder / "own").mkdir()
    take_addresses()
    line = f"/usr/bin/python3 -c {shlex.quote(TRY)}"
    async with AsyncExitStack() as stack:
        for address in METADATA:
            await stack.enter_async_context(await _server(address))
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(ABSTRACT)
        await stack.enter_async_context(await asyncio.start_unix_server(_answers, sock=unix))
        sandbox = await stack.enter_async_context(KINDS[kind](folder))
        outside = await asyncio.to_thread(subprocess.run, line, shell=True, capture_output=True, check=True)
        found = {"outside": outside.stdout.decode(), "inside": (await said(sandbox, Command(shell=line)))[0].decode()}
        if kind == "local":
            networked, _ = await said(sandbox, Command(shell=f"{line}; {BY_PROXY}", reach=Reach.NETWORK))
            found["networked"] = networked.decode()
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
