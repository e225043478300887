"""The two streams of a server's connection, as the library reads and writes them: its names for them are private."""

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage


class ReadStream(Protocol):
    """What comes from the server."""

    async def receive(self) -> "SessionMessage | Exception": ...
    async def aclose(self) -> None: ...
    def __aiter__(self) -> "ReadStream": ...
    async def __anext__(self) -> "SessionMessage | Exception": ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...


class WriteStream(Protocol):
    """What goes to the server."""

    async def send(self, item: "SessionMessage", /) -> None: ...
    async def aclose(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...


TransportStreams = tuple[ReadStream, WriteStream]
