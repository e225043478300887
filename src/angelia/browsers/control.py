"""Who acts in a browser's pages: the agent or a person, never both at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from angelia.browsers.port import ActFailed, ActOutcome


class PageControl:
    """That of one browser. Whoever takes it over is told apart by who it is, so that nobody gives back another's."""

    def __init__(self) -> None:
        self._acting = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._holder: object | None = None

    @property
    def held(self) -> bool:
        """Whether a person has the pages in hand."""
        return self._holder is not None

    def held_by(self, holder: object) -> bool:
        """Whether it is this one who has them."""
        return self._holder is holder

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[None]:
        """While the agent looks or acts.

        Raises:
            ActFailed: a person has the pages in hand.
        """
        if self.held:
            why = "The user has taken the browser over: nothing was done, and nothing looked at."
            raise ActFailed(ActOutcome.REFUSED, f"{why} Go on when they have handed it back; ask them if need be.")
        self._acting += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._acting -= 1
            if not self._acting:
                self._idle.set()

    async def take(self, holder: object, *, seconds: float) -> None:
        """Take the pages over, as soon as what the agent does now is done.

        Raises:
            ActFailed: somebody else has them, or the agent's act goes on for longer.
        """
        try:
            async with asyncio.timeout(seconds):
                while self._acting:
                    await self._idle.wait()
        except TimeoutError:
            why = f"The agent has been acting on the page for {seconds:g} s and more. Try again, or stop it first."
            raise ActFailed(ActOutcome.TIMED_OUT, why) from None
        if self._holder not in (None, holder):
            why = "Somebody has taken the browser over elsewhere, and has to hand it back there first."
            raise ActFailed(ActOutcome.REFUSED, why)
        self._holder = holder

    def give_back(self, holder: object) -> None:
        """Hand the pages back to the agent, if it was this one who had them. Idempotent."""
        if self._holder is holder:
            self._holder = None

    def handed_back(self) -> None:
        """The person has said that they are done, by whichever way."""
        self._holder = None
