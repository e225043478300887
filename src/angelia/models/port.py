"""The port of model providers: one request in, a stream of pieces and one finished reply out, or a typed failure."""

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

from angelia.context.request import ModelRequest
from angelia.core.content import ReplyPart
from angelia.core.entry import StopReason, Usage


class TextDelta(Struct, frozen=True):
    """Some more of the answer's text."""

    text: str


class ThinkingDelta(Struct, frozen=True):
    """Some more of the thinking."""

    text: str


class CallBegun(Struct, frozen=True):
    """A tool call has begun to arrive; it is not complete and never runs from here."""

    name: str


class Reply(Struct, frozen=True):
    """A whole reply, ended by the provider's own finish event. `ToolCall.id` is left empty: the log names calls."""

    parts: tuple[ReplyPart, ...]
    stop: StopReason
    usage: Usage


class Price(Struct, frozen=True):
    """What a reply cost, in millionths of a US dollar, -1 where nobody knows.

    A worker tells now and then what all since has cost: `covers` is how many replies before this one, each without a
    known price, are paid with it.
    """

    cost: int
    covers: int = 0


Piece = TextDelta | ThinkingDelta | CallBegun | Reply


class Credential(Struct, frozen=True):
    """A secret and the label by which it may be spoken of. The secret never appears in `repr`, logs or errors."""

    label: str
    secret: str

    def __repr__(self) -> str:
        return f"Credential({self.label!r})"


class ProviderSession(Protocol):
    """One conversation's use of a model provider; keeps encoded fragments between requests."""

    def ask(self, request: ModelRequest, credential: Credential) -> AsyncIterator[Piece]:
        """Send one request; yield deltas, then exactly one `Reply`, last.

        Closing the iterator cancels the request. No retry happens here: remedies are the engine's.

        Raises:
            ModelError: carries the typed `Failure`, and what had arrived as `partial`. A stream that ends without
                its finish event is STREAM_CUT, never a reply.
        """
        ...


class Provider(Protocol):
    """One model behind one wire."""

    def session(self) -> ProviderSession:
        """A session with empty caches; cheap."""
        ...
