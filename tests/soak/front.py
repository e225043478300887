"""What stands between us and a server, and fails on command: it reads requests and hands them on."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from enum import StrEnum
from types import TracebackType
from typing import Self

from angelia.testing.model.http1 import Answering, HttpRequest, read_request

DRIP, DRIP_S = 40, 0.02
"""Bytes that come at once where answers drip, and the seconds between two such drops."""

PAGE = b"<html><head><title>Sign in</title></head><body><h1>Bad Gateway</h1></body></html>"


class Weather(StrEnum):
    """How the network is."""

    WELL = "well"
    HTML_502 = "a gateway answers 502 with a page"
    HTML_200 = "a portal answers 200 with a page"
    CUT = "the request arrives, and the connection is cut before any answer"
    HALF = "an answer is cut after its first part"
    HANG = "nothing is ever answered"
    DRIP = "answers come drop by drop"
    REFUSED = "every connection is reset"


class Front:
    """Hands on to `port` for the length of an `async with`, as the `weather` is; `met` counts requests by it."""

    def __init__(self, port: int) -> None:
        self.weather = Weather.WELL
        self.met: Counter[Weather] = Counter()
        self._target = port
        self._open: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def change(self, weather: Weather) -> None:
        """From now on it is so; what hung before is cut, as when a line comes back."""
        self.weather = weather
        if weather is Weather.WELL:
            for task in self._open:
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        out = Answering(reader, writer)
        try:
            while (request := await read_request(reader)) is not None:
                self.met[self.weather] += 1
                if not await self._answer(request, out):
                    break
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
        except asyncio.CancelledError:
            out.reset()
        finally:
            self._open.discard(task)

    async def _answer(self, request: HttpRequest, out: Answering) -> bool:
        """Answer one request; whether the connection goes on."""
        weather = self.weather
        match weather:
            case Weather.HTML_502 | Weather.HTML_200:
                await out.whole(502 if weather is Weather.HTML_502 else 200, PAGE, mime="text/html")
                return True
            case Weather.REFUSED:
                out.reset()
                return False
            case Weather.HANG:
                await out.silence()
                return False
            case _:
                return await self._hand_on(request, out, weather)

    async def _hand_on(self, request: HttpRequest, out: Answering, weather: Weather) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            writer.write(_bytes_of(request))
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            if weather is Weather.CUT:
                out.reset()
                return False
            await out.raw(head)
            async for part in _parts(reader, head):
                if weather is Weather.DRIP:
                    for at in range(0, len(part), DRIP):
                        await out.raw(part[at : at + DRIP])
                        await asyncio.sleep(DRIP_S)
                    continue
                await out.raw(part[: len(part) // 2] if weather is Weather.HALF else part)
                if weather is Weather.HALF:
                    out.reset()
                    return False
            return True
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _bytes_of(request: HttpRequest) -> bytes:
    query = f"?{request.query}" if request.query else ""
    framing = ("transfer-encoding", "content-length")
    kept = {name: value for name, value in request.headers.items() if name not in framing}
    lines = [f"{request.method} {request.path}{query} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in (kept | {"content-length": str(len(request.body))}).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


async def _parts(reader: asyncio.StreamReader, head: bytes) -> AsyncIterator[bytes]:
    """The body of an answer as it comes, framing included."""
    fields = head.decode("latin-1").lower()
    if "transfer-encoding: chunked" in fields:
        while True:
            line = await reader.readuntil(b"\r\n")
            data = await reader.readexactly(int(line.split(b";")[0], 16) + 2)
            yield line + data
            if line.split(b";")[0].strip() == b"0":
                return
    left = int(fields.partition("content-length:")[2].split("\r\n")[0] or 0)
    while left > 0:
        part = await reader.read(min(left, 65536))
        if not part:
            raise ConnectionResetError
        left -= len(part)
        yield part
