"""A door for webhooks on loopback, as the gateway has one: what comes by HTTP is handed to a channel."""

import asyncio
from types import TracebackType
from typing import Self

from angelia.cancellation import cancel_and_wait
from angelia.channels.webhooks import HasWebhook, WebRequest, WebResponse
from angelia.testing.model.http1 import Answering, read_request


class WebhookDoor:
    """Hands every request to `channel`; without one it answers 503, as before the start and after the end."""

    def __init__(self) -> None:
        self.channel: HasWebhook | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._ended = False

    @property
    def url(self) -> str:
        """Its root."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self._port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._server.close()
        await cancel_and_wait(*self._open)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Known from its first moment: one that comes when all end is ended, too."""
        if self._ended:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._connected(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        task.add_done_callback(lambda _: writer.close())

    async def _answer(self, request: WebRequest) -> WebResponse:
        """As the gateway does: what the head alone decides comes first."""
        if self.channel is None:
            return WebResponse(503)
        admitted = await self.channel.admits(request)
        return admitted if isinstance(admitted, WebResponse) else await self.channel.web(request)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        out = Answering(reader, writer)
        try:
            while (given := await read_request(reader)) is not None:
                request = WebRequest(given.method, given.path, {}, given.headers, given.body)
                answer = await self._answer(request)
                await out.whole(answer.status, answer.body, mime=answer.mime)
        except ConnectionError:
            return
