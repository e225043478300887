"""A scripted server behind real HTTP on loopback, whatever it answers."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Self

from angelia.cancellation import cancel_and_wait
from angelia.testing.model.http1 import Answering, HttpRequest, read_request


class ScriptedHttpServer(ABC):
    """A server for the length of an `async with`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """As OpenAI's base URL is written."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await cancel_and_wait(*self._tasks)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        out = Answering(reader, writer)
        try:
            while (given := await read_request(reader)) is not None:
                await self.answer(given, out)
        except ConnectionError:
            return
        finally:
            self._tasks.discard(task)
            with suppress(asyncio.CancelledError):
                await out.close()

    @abstractmethod
    async def answer(self, given: HttpRequest, out: Answering) -> None:
        """Answer one request."""
        ...
