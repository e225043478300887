"""What goes to a model: the view, the prompt, the tools and the profile, as one value without bytes of media."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

import msgspec
from msgspec import Struct

from angelia.core.content import CallStatus, Form, Media, ProviderBlock, Text, Thinking, ToolCall
from angelia.core.ids import CallId
from angelia.core.profile import Profile


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Shown(Struct, frozen=True):
    """A medium in the form this model gets; a picture's longer edge is at most `long_edge` pixels (0: as is)."""

    media: Media
    form: Form
    long_edge: int = 0


class Result(Struct, frozen=True):
    """What a tool call came to, as the model reads it. `wire_id` is the provider's name of the call."""

    call: CallId
    name: str
    status: CallStatus
    parts: tuple[Text | Shown, ...]
    wire_id: str = ""


class OpenedBytes(Struct, frozen=True):
    """Bytes to send natively."""

    mime: str
    data: bytes


class OpenedText(Struct, frozen=True):
    """Words to send in place of a medium."""

    text: str


Opened = OpenedBytes | OpenedText

OpenMedia = Callable[[Shown], Awaitable[tuple[Opened, ...]]]
"""Opens a medium in its form. The same argument gives the same result, byte for byte, every time."""

MessagePart = Text | Thinking | Shown | ToolCall | Result | ProviderBlock


class RequestMessage(Struct, frozen=True):
    """One message of a request. `seq` is the entry it comes from; with `ModelRequest.generation` it is a cache key.

    A USER message holds Text and Shown. An ASSISTANT message is one reply, whole and in order.
    A TOOL message holds every Result of the reply before it, in the order of the calls.
    """

    seq: int
    role: Role
    parts: tuple[MessagePart, ...]
    maker: str = ""
    """The vendor that made an ASSISTANT message, empty otherwise: only it gets its native blocks and call ids back."""


class ToolSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One tool as a model sees it. `schema` is the JSON schema of its arguments (an object)."""

    name: str
    description: str
    schema: msgspec.Raw


class ModelRequest(Struct, frozen=True):
    """Everything a provider needs for one request.

    `generation` changes when earlier messages may have changed (a view move or a new setup); within one
    generation, each request's messages extend the last one's, and a message with the same `seq` is the same.
    If the last message is the ASSISTANT's, the model is to go on in place (only where the profile allows prefill).
    `effort` is the thinking effort: "", "low", "medium" or "high". It goes `without` these parameters of its wire.
    `body` is about how many bytes it will be.
    """

    profile: Profile
    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[RequestMessage, ...]
    generation: int
    max_output: int
    effort: str = ""
    cache_hour: bool = False
    without: frozenset[str] = frozenset()
    body: int = 0
