"""The requests that a listener is answering: when it ends each is answered, with what was asked for or with 503."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

_TOLD_S = 1.0
"""How long one that is not answered by the end may take to hear that."""

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class UnderWay:
    """Those of one ASGI application. The server would call one that is cut off a fault, and say 500."""

    def __init__(self) -> None:
        self._answering = set[asyncio.Task[Any]]()

    async def answer(self, answer: Callable[[Send], Awaitable[None]], send: Send) -> None:
        """One request, in the task that the server made for it. After each piece of an answer the loop goes round, so
        that others have their turn, and whoever has gone is known to have gone: each further piece is a warning.
        """
        own, begun = asyncio.current_task(), False
        assert own is not None

        async def said(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)
            if message.get("more_body"):  # the server's own waits only where its buffer is full
                await asyncio.sleep(0)

        self._answering.add(own)
        try:
            await answer(said)
        except asyncio.CancelledError:  # by `end`
            if not begun:
                head = [(b"content-length", b"0"), (b"connection", b"close")]
                await send({"type": "http.response.start", "status": 503, "headers": head})
                await send({"type": "http.response.body"})
        finally:
            self._answering.discard(own)

    async def end(self, seconds: float) -> None:
        """Nobody comes any more: who is there is answered for so long yet. An answer that has begun ends short then."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=seconds)
        for task in self._answering:
            task.cancel()
        if self._answering:
            await asyncio.wait(self._answering, timeout=_TOLD_S)
