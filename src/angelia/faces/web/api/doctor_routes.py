"""What the page asks about how everything is: each part as soon as it was looked at."""

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from angelia.core.text import clean
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, StreamedResponse
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import event_stream
from angelia.faces.web.conversations.watched_conversation import PageEvent


class CheckedPart(Protocol):
    """What one look found: of what part, how it is (`well`, `broken`, `absent`), what was seen, how it is mended."""

    @property
    def about(self) -> str:
        """The part."""
        ...

    @property
    def state(self) -> str:
        """How it is."""
        ...

    @property
    def seen(self) -> str:
        """What was found."""
        ...

    @property
    def mend(self) -> str:
        """What is to be done; empty for nothing."""
        ...


Look = Callable[[bool], AsyncIterator[CheckedPart]]
"""Looks at every part; offline, if that is true."""


class DoctorRoutes:
    """The handler."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def routes(self) -> list[Route]:
        """One row."""
        return [Route("GET", "/api/doctor", RouteGuard.LOGIN, self._doctor)]

    async def _doctor(self, request: RouteRequest) -> StreamedResponse:
        """`finding` events, then `done`. Models, servers and networks are asked only where `online` is in the query:
        that may cost.
        """
        return event_stream(self._findings(offline="online" not in request.query))

    async def _findings(self, *, offline: bool) -> AsyncIterator[PageEvent]:
        broken = 0
        async for one in self._look(offline):
            told = {"about": one.about, "state": one.state, "seen": one.seen, "mend": one.mend}
            broken += one.state == "broken"
            yield PageEvent("finding", {name: clean(text) for name, text in told.items()})
        yield PageEvent("done", {"broken": broken})
