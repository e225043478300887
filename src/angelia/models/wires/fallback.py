"""A server that has not the route of the newer protocol is asked by the one that every server has.

Many servers call themselves compatible with OpenAI and have Chat Completions alone. Of the Responses route they say 404
or 405, which says that nothing was done: the same request goes to the other route at once, and where that answers, the
server is remembered by its address. Where neither route is there, the first refusal counts: the address is wrong.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from angelia.context.request import ModelRequest
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.models.port import Credential, Piece, Reply
from angelia.models.wires.wire import HttpProvider, HttpProviderSession

_NO_ROUTE = (404, 405)
"""Not found; found, and not for POST (RFC 9110, 15.5.5 and 15.5.6)."""


class RouteMemory(Protocol):
    """Which routes an address does not have, kept from one start to the next."""

    async def lacks(self) -> bool:
        """Whether the newer route is known to be missing."""
        ...

    async def learn(self) -> None:
        """It is missing, and the other one answered."""
        ...


class FallbackProvider:
    """Two providers of one model at one server: the second is asked where the first one's route is missing."""

    def __init__(self, first: HttpProvider, second: HttpProvider, memory: RouteMemory) -> None:
        self._first, self._second = first, second
        self._memory = memory

    def session(self) -> "FallbackSession":
        """See `Provider.session`."""
        return FallbackSession(self._first.session(), self._second.session(), self._memory)


class FallbackSession:
    """One conversation's requests to whichever route is there."""

    def __init__(self, first: HttpProviderSession, second: HttpProviderSession, memory: RouteMemory) -> None:
        self._first, self._second = first, second
        self._memory = memory

    async def ask(self, request: ModelRequest, credential: Credential) -> AsyncGenerator[Piece]:
        """See `ProviderSession.ask`."""
        if await self._memory.lacks():
            asked = self._second.ask(request, credential)
        else:
            asked = self._whichever(request, credential)
        async with aclosing(asked) as pieces:
            async for piece in pieces:
                yield piece

    async def _whichever(self, request: ModelRequest, credential: Credential) -> AsyncGenerator[Piece]:
        try:
            async with aclosing(self._first.ask(request, credential)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except ModelError as error:
            if error.failure.kind is not FailureKind.WRONG_ADDRESS or error.failure.status not in _NO_ROUTE:
                raise
            first = error
        try:
            async with aclosing(self._second.ask(request, credential)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Reply):
                        await self._memory.learn()
                    yield piece
        except ModelError as second:
            raise (first if second.failure.kind is FailureKind.WRONG_ADDRESS else second) from second
