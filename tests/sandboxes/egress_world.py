"""A small internet on loopback: servers, names that lead to them, and the policy that judges both."""

import asyncio
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from angelia.policy.egress import judge_address, judge_url
from angelia.tools.web.fetcher import Fetcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Web:
    """An HTTP server that answers with its name, keeps what it was asked, and takes chunks as they come."""

    def __init__(self, name: str, location: str = "") -> None:
        self.name, self.location = name, location
        self.heard: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int((head.lower().partition(b"content-length:")[2].split() or [b"0"])[0])
                body = await reader.readexactly(length)
                if b"chunked" in head.lower():
                    body = await reader.readuntil(b"0\r\n\r\n")
                self.heard.append(head + body)
                status = f"302 Found\r\nLocation: {self.location}" if self.location else "200 OK"
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(self.name)}\r\n\r\n{self.name}".encode())
                await writer.drain()
                if b"connection: close" in head.lower():
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def web(name: str, *, host: str = "127.0.0.1", port: int = 0, location: str = "") -> "AsyncIterator[Web]":
    """It serves until the context ends."""
    one = Web(name, location)
    listener = await asyncio.start_server(one.serve, host, port)
    one.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield one


class Names:
    """A name server: `known` are the answers that a name gives, one after the other; the last one stays."""

    def __init__(self, *open_ranges: str, **known: list[list[str]]) -> None:
        self.known, self.ranges = known, open_ranges
        self.asked: list[str] = []

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        if host.partition(".")[0] not in self.known:
            return (host,) if host.replace(".", "").isdigit() or ":" in host else ()
        answers = self.known[host.partition(".")[0]]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def addresses(self, origin: str, host: str, port: int) -> Sequence[str]:
        """What a sandbox is handed: the policy's own judgement, with `open_ranges` allowed."""
        fetcher = Fetcher(judge_url, lambda address: judge_address(address, self.ranges), resolve=self.resolve)
        return await fetcher.addresses_behind(origin, host, port)
