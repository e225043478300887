"""Server-sent events (https://html.spec.whatwg.org, "Server-sent events"): what a stream tells, as bytes."""

from collections.abc import AsyncGenerator, AsyncIterator

import msgspec

from angelia.faces.web.asgi.request import RouteRequest, StreamedResponse
from angelia.faces.web.conversations.watched_conversation import PageEvent

MIME = "text/event-stream"
_AGAIN_MS = 1_000
"""After how long a browser comes back that has lost us."""


def event_stream(events: AsyncIterator[PageEvent]) -> StreamedResponse:
    """The answer that tells these events as they come."""
    return StreamedResponse(_written(events), MIME, headers={"x-accel-buffering": "no"})


async def _written(events: AsyncIterator[PageEvent]) -> AsyncGenerator[bytes, None]:
    yield f"retry: {_AGAIN_MS}\n\n".encode()
    async for event in events:
        yield event_bytes(event)


def event_bytes(event: PageEvent) -> bytes:
    r"""One event; only an entry of a log has an id, by which it is known where to go on.

    >>> event_bytes(PageEvent("entry", {"seq": 7}, 7))
    b'id: 7\nevent: entry\ndata: {"seq":7}\n\n'
    """
    place = f"id: {event.seq}\n" if event.seq else ""
    return f"{place}event: {event.name}\ndata: ".encode() + msgspec.json.encode(event.data) + b"\n\n"


def last_seen(request: RouteRequest) -> int:
    """The number of the last entry that a reader had: as its browser says, or as it was asked for; 0 for none."""
    given = request.headers.get("last-event-id") or request.query.get("after", "")
    return int(given) if given.isdecimal() and len(given) < 16 else 0
