"""What the fakes of painters share: real HTTP on loopback for the length of an `async with`, and forms taken apart."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from email import message_from_bytes
from email.message import Message
from types import TracebackType
from typing import Self

from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from angelia.testing.model.received import ReceivedMedia
from angelia.testing.networks.loopback_server import LoopbackServer


class PainterServer(ABC):
    """A server for the length of an `async with`."""

    @property
    def url(self) -> str:
        """Where it is, without a path."""
        return f"http://127.0.0.1:{self._server.port}"

    @abstractmethod
    async def answer(self, given: HttpRequest, out: Answering) -> None:
        """Answer one request."""

    async def __aenter__(self) -> Self:
        self._server = LoopbackServer(self._serve)
        self._server.up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, out: Answering) -> None:
        while (given := await read_request(reader)) is not None:
            await self.answer(given, out)


def form_parts(given: HttpRequest) -> Sequence[tuple[str, ReceivedMedia | None, bytes]]:
    """The parts of a form: name, the file if it is one, bytes."""
    head = f"content-type: {given.headers['content-type']}\r\n\r\n".encode("latin-1")
    found: list[tuple[str, ReceivedMedia | None, bytes]] = []
    for part in message_from_bytes(head + given.body).get_payload():
        assert isinstance(part, Message)
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        file = part.get_filename()
        media = ReceivedMedia(part.get_content_type(), data, file) if file else None
        found.append((str(part.get_param("name", header="content-disposition")), media, data))
    return found
