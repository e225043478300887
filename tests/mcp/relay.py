"""A line to a site that can be cut, as by a proxy or a network between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

from angelia.cancellation import cancel_and_wait


class Relay:
    """Carries bytes both ways. While it is `away` it lets nobody in, and counts who is `turned_away`; who sends `word`,
    once there is one, is cut off.
    """

    def __init__(self, site: str) -> None:
        self._to = urlsplit(site)
        self.url, self.word = "", b""
        self.away, self.turned_away = False, 0
        self._open: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Every connection breaks."""
        for writer in self._open:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        if self.away:
            self.turned_away += 1
            writer.transport.abort()
            return
        there, to = await asyncio.open_connection(self._to.hostname, self._to.port)
        self._open |= {writer, to}
        back = asyncio.create_task(self._pump(there, writer))
        try:
            await self._pump(reader, to)
        finally:
            await cancel_and_wait(back)
            for end in (writer, to):
                end.transport.abort()
            self._open -= {writer, to}

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                if self.word and self.word in data:
                    self.word = b""
                    return
                sink.write(data)
                await sink.drain()


@asynccontextmanager
async def relayed(site: str) -> AsyncIterator[Relay]:
    """A relay to a site's address; its own is `url`."""
    relay = Relay(site)
    listening = await asyncio.start_server(relay.carry, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        relay.url = urlunsplit(urlsplit(site)._replace(netloc=f"127.0.0.1:{port}"))
        yield relay
        relay.cut()
