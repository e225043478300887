"""A network namespace of a command's own, with one way out: a socket of ours that listens inside it.

bubblewrap makes the namespace (`--unshare-net`): a loopback and nothing else, so neither this machine's loopback nor
its neighbours, its abstract sockets or a name server can be reached. A socket belongs to the namespace in which it was
made, whoever holds it: a short process of ours (`listen_inside`) enters the namespace while bubblewrap holds the
command back, listens there, and hands the socket out to us. So no program of ours runs inside, nothing lies on the
disk, and what the command sees is a proxy at 127.0.0.1. When we die, by whatever death, the socket goes, and the
namespace with it.

Considered instead: a forwarder inside needs a program that may not be there (socat), or our own Python shown to the
command; making the namespace ourselves and starting bubblewrap in it would fail where AppArmor lets bubblewrap make
namespaces and nobody else (Ubuntu from 23.10 on; entering bubblewrap's should be allowed there, and was not tried).
Where bubblewrap is setuid, the namespace is root's and cannot be entered: then a command has no network, and is told
why. It costs some 15 ms of a command, beside what bubblewrap takes anyway.
"""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from angelia.core.text import clean, one_line
from angelia.sandboxes.local.command import until_dead
from angelia.sandboxes.local.processes import MARK
from angelia.sandboxes.port import AccessRefused

PORT = 808
"""Where the proxy listens inside. Below 1024, so that no command can have wanted it: it may not listen there."""

_SECONDS = 20.0
"""Until the socket must be there; some 20 ms on a calm machine."""


def proxy_variables(port: int) -> Mapping[str, str]:
    """What tells programs of a proxy on the loopback; curl reads `http_proxy` in small letters alone.

    What runs on the command's own loopback is reached directly. Node's own `fetch` needs to be told (from 22.21 on).
    """
    url = f"http://127.0.0.1:{port}"
    variables = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "ALL_PROXY": url, "NO_PROXY": "localhost,127.0.0.1,::1"}
    return {**variables, **{name.lower(): value for name, value in variables.items()}, "NODE_USE_ENV_PROXY": "1"}


class HeldCommand:
    """What bubblewrap needs in order to say who it has started, and to hold that back until this context ends."""

    def __enter__(self) -> "HeldCommand":
        self._info, self._told = os.pipe()
        self._gate, self._release = os.pipe()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for handle in (self._info, self._gate, self._release):
            os.close(handle)
        self.started()

    @property
    def options(self) -> tuple[str, ...]:
        """For bubblewrap."""
        return ("--info-fd", str(self._told), "--block-fd", str(self._gate))

    @property
    def descriptors(self) -> tuple[int, ...]:
        """To be handed on to bubblewrap."""
        return (self._told, self._gate)

    def started(self) -> None:
        """Let go of what bubblewrap has by now: were it open, nobody would learn that it died. Idempotent."""
        if self._told >= 0:
            os.close(self._told)
            self._told = -1

    async def listen(self, mark: str) -> socket.socket:
        """A socket that listens at `PORT` in the command's namespace; `mark` names the command.

        Raises:
            AccessRefused: there is none; says why.
        """
        self.started()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = _listener(self._info, theirs.fileno(), mark)
            try:
                async with asyncio.timeout(_SECONDS):
                    said, handles = await _received(ours)
            except TimeoutError:
                said, handles = f"nothing happened for {_SECONDS:g} seconds".encode(), []
            finally:
                process.kill()
                await asyncio.shield(_reaped(process))
        if handles:
            return socket.socket(fileno=handles[0])
        why = one_line(clean(said.decode(errors="replace"))) or "the program that does it did not run"
        raise AccessRefused(
            f"This command cannot get a network of its own: {why}.",
            "Without one it would reach this machine's loopback and neighbours, so it was not run.",
            "Run it without the network, or outside of the confinement.",
        )


def _listener(info: int, give: int, mark: str) -> subprocess.Popen[bytes]:
    """`listen_inside`, told where to read and where to give."""
    program = str(Path(__file__).with_name("listen_inside.py"))
    return subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-I", "-S", program, str(info), str(give), str(PORT)],
        pass_fds=(info, give),
        env={MARK: mark},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def _received(ours: socket.socket) -> tuple[bytes, list[int]]:
    """One message and the descriptors that came with it."""
    loop = asyncio.get_running_loop()
    ours.setblocking(False)
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(ours, _wake, ready)
    try:
        await ready
    finally:
        loop.remove_reader(ours)
    said, handles, _, _ = socket.recv_fds(ours, 4096, 1)
    return said, handles


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def _reaped(process: subprocess.Popen[bytes]) -> None:
    await until_dead(process)
    process.wait()
