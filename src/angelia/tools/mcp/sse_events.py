"""Server-sent events: whether a response brings some, and one as it stands in a stream."""

import httpx2

EVENTS = "text/event-stream"


def is_stream(response: httpx2.Response) -> bool:
    """Whether it brings events."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower() == EVENTS


def written(event: httpx2.ServerSentEvent) -> bytes:
    """An event as it stands in a stream."""
    lines = [f"event: {event.event}"]
    if event.id:
        lines.append(f"id: {event.id}")
    if event.retry is not None:
        lines.append(f"retry: {event.retry}")
    lines += [f"data: {line}" for line in event.data.split("\n")] if event.data else []
    return "".join(f"{line}\n" for line in [*lines, ""]).encode()
