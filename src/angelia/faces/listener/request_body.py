"""The body of one request as it arrives, and the rest of it that nobody reads any more."""

import asyncio
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any

from angelia.faces.listener.unfinished import Receive


class RequestBody:
    """What ASGI's `receive` is, and whether the body has come to its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._over = False

    async def receive(self) -> MutableMapping[str, Any]:
        """The next message."""
        message = await self._receive()
        self._over = message["type"] != "http.request" or not message.get("more_body")
        return message

    async def let_pass(self, seconds: float) -> None:
        """Take in what is left of it, for so long at most, and throw it away.

        A connection that is closed while more of a body arrives is reset, and takes with it what was answered and is
        not read yet (RFC 9112, 9.6): whoever brought a file would hear that the connection broke, and not why.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._over:
                    await self.receive()
