"""A fake network as a command: what you type is said to the bot, and what arrives is printed."""

import asyncio
import hashlib
import sys
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import count
from typing import Protocol

import msgspec

from angelia.channels.capabilities import IncomingKind
from angelia.testing.channels.network import ArrivedMessage, FakeNetwork, Thing


class Reachable(FakeNetwork, Protocol):
    """A network with an address."""

    @property
    def url(self) -> str:
        """What a channel's settings have to say."""
        ...


def main(network: AbstractAsyncContextManager[Reachable]) -> None:
    """Print the URL, then the credentials by their variables, each on a line of its own; serve until the pipe on
    standard input ends. Each line that comes in is a `Thing` as JSON, or words that the friend says in private; each
    that goes out is an `ArrivedMessage` as JSON, with `size` and `sha256` in place of its bytes.
    """
    try:
        asyncio.run(_serve(network))
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve(place: AbstractAsyncContextManager[Reachable]) -> None:
    async with place as network:
        print(network.url, flush=True)
        for name, secret in network.secrets.items():
            print(f"{name}={secret}", flush=True)
        showing = asyncio.create_task(_show(network))
        while line := (await asyncio.to_thread(sys.stdin.readline)):
            if line.strip():
                await network.bring(_thing(line.strip(), network))
        showing.cancel()


def _thing(line: str, network: FakeNetwork) -> Thing:
    if line.startswith("{"):
        return msgspec.json.decode(line, type=Thing)
    return Thing(IncomingKind.COMMAND if line.startswith("/") else IncomingKind.TEXT, network.here, line)


async def _show(network: FakeNetwork) -> None:
    for at in count():
        await network.when(partial(_arrived_beyond, network, at))
        print(_told(network.arrived[at]), flush=True)


def _arrived_beyond(network: FakeNetwork, at: int) -> bool:
    return len(network.arrived) > at


def _told(arrived: ArrivedMessage) -> str:
    hashed = hashlib.sha256(arrived.data).hexdigest() if arrived.data else ""
    about = {"size": len(arrived.data), "sha256": hashed}
    told = {name: value for name, value in msgspec.to_builtins(arrived).items() if name != "data" and value}
    return msgspec.json.encode(told | (about if hashed else {})).decode()
