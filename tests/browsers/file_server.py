"""A server of files that says byte by byte what it is told to, however wrong that is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_PAGE = "content-type: text/html"
_PIECE = 64_000


def measured(body: bytes, *heads: str) -> bytes:
    """An answer that says its length; a page, if no `heads` say what it is."""
    said = "\r\n".join(["HTTP/1.1 200 OK", *(heads or (_PAGE,)), f"content-length: {len(body)}", "", ""])
    return said.encode() + body


def chunked(body: bytes, *heads: str) -> bytes:
    """An answer that says no length, and its end by an empty chunk."""
    pieces = [body[at : at + _PIECE] for at in range(0, len(body), _PIECE)]
    said = "\r\n".join(["HTTP/1.1 200 OK", *heads, "transfer-encoding: chunked", "", ""])
    return said.encode() + b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"


@dataclass
class FileServer:
    """Whole answers by path; what is not there is a 404. `asked` has the paths of all requests.

    What is in `held` is sent and then not ended; what is in `waits` is answered after its event.
    """

    port: int = 0
    answers: dict[str, bytes] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    waits: dict[str, asyncio.Event] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    @asynccontextmanager
    async def started(cls) -> AsyncIterator["FileServer"]:
        """One that listens; what it holds ends with it."""
        made = cls()
        async with await asyncio.start_server(made._serve, "127.0.0.1", 0) as listening:
            made.port = listening.sockets[0].getsockname()[1]
            yield made
            made._over.set()

    def url(self, path: str = "/") -> str:
        """Where something is."""
        return f"http://site.example:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split(" ")[1]
            self.asked.append(path)
            if path in self.waits:
                await self.waits[path].wait()
            writer.write(self.answers.get(path, b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"))
            await writer.drain()
            if path in self.held:
                await self._over.wait()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # a browser opens connections that it does not use
        finally:
            writer.close()
