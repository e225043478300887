"""What a wire of the scripted server is: how it reads requests, speaks replies and fails."""

import hashlib
import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.content import ToolCall
from angelia.core.entry import Usage
from angelia.testing.model.received import ReceivedRequestBody
from angelia.testing.model.steps import Fail, Speak


class Weight(Enum):
    """What an event of a stream is to the reply."""

    FRAME = "frame"
    CONTENT = "content"
    """It carries some of the reply."""
    FINISH = "finish"
    """It, or what comes after it, says that the reply is whole."""


class StreamEvent(Struct, frozen=True):
    """One event of a stream, as bytes."""

    data: bytes
    weight: Weight = Weight.FRAME


class About(Struct, frozen=True):
    """What a reply tells about itself: `number` is the request's, and makes the ids."""

    number: int
    model: str
    usage: Usage
    usage_wanted: bool = True


class ErrorBody(Struct, frozen=True):
    """An error response."""

    status: int
    body: bytes


class ServerWire(Struct, frozen=True):
    """One protocol. `hear` raises `Complaint` or `MediaTrouble`; `error_event` is an error within a stream."""

    name: str
    path: str
    hear: Callable[[dict[str, Any]], ReceivedRequestBody]
    stream: Callable[[Speak, About], Iterator[StreamEvent]]
    whole: Callable[[Speak, About], bytes]
    refuse: Callable[[Fail, str], ErrorBody]
    error_event: Callable[[], StreamEvent]


def words(text: str) -> list[str]:
    """`text` in the pieces in which it is streamed: word by word, nothing lost.

    >>> words(" one two")
    [' one', ' two']
    """
    return re.findall(r"\s*\S+|\s+$", text)


def bites(text: str, size: int = 12) -> list[str]:
    """`text` in pieces of `size` characters, as arguments are streamed."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def sse(value: object, weight: Weight = Weight.FRAME, *, event: str = "") -> StreamEvent:
    """A server-sent event with a JSON value."""
    head = f"event: {event}\n".encode() if event else b""
    return StreamEvent(head + b"data: " + msgspec.json.encode(value) + b"\n\n", weight)


def call_name(call: ToolCall, about: About, index: int, prefix: str) -> str:
    """What the provider calls a tool call: as scripted, or new for each call."""
    return call.wire_id or f"{prefix}{about.number}x{index}"


def seal(*words_: str) -> str:
    """A signature that only the server can have made; what comes back is checked against it."""
    return "sealed-" + hashlib.sha256("\0".join(words_).encode()).hexdigest()
