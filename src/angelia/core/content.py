"""What a message is made of."""

from enum import StrEnum

import msgspec
from msgspec import Struct

from angelia.core.ids import CallId


class BlobRef(Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes in the blob store: SHA-256 in hex, size in bytes, MIME type as sniffed from the content."""

    sha256: str
    size: int
    mime: str


class MediaKind(StrEnum):
    """What a person would call it."""

    IMAGE = "image"
    AUDIO = "audio"
    VOICE = "voice"
    VIDEO = "video"
    DOCUMENT = "document"


class Form(StrEnum):
    """In which form a medium goes to a model."""

    NATIVE = "native"
    """The bytes themselves, as a picture, document or sound of the wire; pictures at the size that is asked for."""
    TEXT = "text"
    """The text in it: a text file's content, or what can be extracted from a document."""
    TEXT_OR_PAGES = "text_or_pages"
    """The text in it, or a picture per page where there is no text."""


class Part(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag=str.lower,
):
    """One piece of a message."""


class ProviderBlock(Part, frozen=True):
    """A provider's own block, byte for byte, for that provider alone.

    `maker` is the vendor that made it (`anthropic`, `openai`, …); any other vendor never sees it.
    As a part of its own it has no meaning for us (encrypted reasoning, redacted thinking);
    as the `native` of a part it is the form in which that vendor wants the part back.
    """

    maker: str
    raw: msgspec.Raw


class Text(Part, frozen=True):
    """Words. Never holds a lone surrogate: text is cleaned where it enters (`core.text.clean`)."""

    text: str
    native: ProviderBlock | None = None


class Thinking(Part, frozen=True):
    """A model's thinking, as far as the provider shows it."""

    text: str
    native: ProviderBlock | None = None


class Media(Part, frozen=True):
    """A picture, voice message, film or file; its bytes are in the blob store.

    `width` and `height` are pixels, `pages` counts a document's pages, `seconds` is a recording's length;
    each is 0 when unknown or meaningless. `as_is` says that the person wants a picture sent at its own size, whatever
    the model prefers. `origin` is the absolute path from which the person gave it, on their machine; empty where it
    came without one. `peaks` is how a recording's loudness goes, a byte for each stretch of it, and `words` is
    what is said in it; both are empty where that is not known beforehand.
    """

    blob: BlobRef
    media: MediaKind
    name: str = ""
    width: int = 0
    height: int = 0
    pages: int = 0
    seconds: float = 0.0
    as_is: bool = False
    origin: str = ""
    peaks: bytes = b""
    words: str = ""


class ToolCall(Part, frozen=True):
    """A model's wish to run a tool. `arguments` is JSON text exactly as the model wrote it.

    `wire_id` is what the provider called it; `native.maker` (or the reply's vendor) knows it by that name.
    """

    id: CallId
    name: str
    arguments: str
    wire_id: str = ""
    native: ProviderBlock | None = None


Content = Text | Media
"""What people and tools can say."""

ReplyPart = Text | Thinking | ToolCall | ProviderBlock
"""What models can say."""


class CallStatus(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    BAD_CALL = "bad_call"
    """Never run: unknown tool, or arguments that are not valid for it."""
    REFUSED = "refused"
    """Never run: the policy or a person said no."""
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """Started in a life that ended; it may or may not have taken effect."""
