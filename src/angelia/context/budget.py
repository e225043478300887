"""How large a request is, in tokens and in bytes, before anybody has counted it for us."""

import math
from collections.abc import Sequence

from msgspec import Struct

from angelia.context.media_forms import MOST_PAGES, MOST_TEXT
from angelia.context.request import MessagePart, RequestMessage, Result, Shown, ToolSpec
from angelia.context.tokens import text_tokens
from angelia.core.content import Form, MediaKind, ProviderBlock, Text, Thinking, ToolCall
from angelia.core.profile import ImageLimits, Profile

ASSUMED_WINDOW = 128_000
"""Tokens, where nobody knows a model's window; a refusal teaches the true one."""

_MESSAGE_OVERHEAD = 6
_PAGE_TOKENS = 1_800
"""A PDF page costs 1,500 to 3,000 tokens (Anthropic's PDF support page); text-heavy pages sit near this."""
_PAGE_BYTES = 400_000
"""A scanned page drawn as a picture, encoded, at most about this."""
_AUDIO_TOKENS_PER_SECOND = 32


class Size(Struct, frozen=True):
    """Estimated tokens, and bytes of the encoded body."""

    tokens: int = 0
    bytes: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.tokens + other.tokens, self.bytes + other.bytes)


def total(sizes: Sequence[Size]) -> Size:
    """Their sum, for very many of them."""
    return Size(sum([size.tokens for size in sizes]), sum([size.bytes for size in sizes]))


def image_tokens(width: int, height: int, limits: ImageLimits) -> int:
    """Tokens of a picture by the vendor's formula; an unknown size counts as a large one.

    `tile`: 85 + 170 per 512-pixel tile after fitting into 2048 and 768 (OpenAI, "Images and vision").
    `pixels`: width x height / 750 (Anthropic, "Vision"). `patch`: one per 28-pixel square.
    """
    width, height = width or 1568, height or 1568
    if limits.long_edge:
        scale = min(1.0, limits.long_edge / max(width, height))
        width, height = round(width * scale), round(height * scale)
    match limits.tokens:
        case "tile":
            scale = min(1.0, 2048 / max(width, height))
            scale *= min(1.0, 768 / (min(width, height) * scale))
            return 85 + 170 * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
        case "pixels":
            return math.ceil(width * height / 750)
        case _:
            return math.ceil(width / 28) * math.ceil(height / 28)


def shown_size(shown: Shown, profile: Profile) -> Size:
    """The size of a medium in its form."""
    media = shown.media
    encoded = math.ceil(media.blob.size / 3) * 4
    if media.media is MediaKind.IMAGE and shown.form is Form.NATIVE:
        width, height = media.width, media.height
        long_edge = shown.long_edge
        if long_edge and max(width, height) > long_edge:
            share = long_edge / max(width, height)
            width, height, encoded = round(width * share), round(height * share), math.ceil(encoded * share * share)
        return Size(image_tokens(width, height, profile.image_limits), encoded)
    if media.media in (MediaKind.AUDIO, MediaKind.VOICE) and shown.form is Form.NATIVE:
        return Size(math.ceil(media.seconds * _AUDIO_TOKENS_PER_SECOND), encoded)
    if media.pages and shown.form is Form.NATIVE:
        return Size(media.pages * _PAGE_TOKENS, encoded)
    if media.pages:
        pages = min(media.pages, MOST_PAGES)
        return Size(pages * _PAGE_TOKENS, min(encoded, pages * _PAGE_BYTES))
    text = min(media.blob.size, MOST_TEXT)
    return Size(math.ceil(text / 3), math.ceil(text * 1.1))


def part_size(part: MessagePart, profile: Profile) -> Size:
    """The size of one part of a message."""
    match part:
        case Text(text=text) | Thinking(text=text):
            return _text_size(text) + (part_size(part.native, profile) if part.native else Size())
        case ProviderBlock(raw=raw):
            return Size(math.ceil(len(bytes(raw)) / 4), len(bytes(raw)))
        case ToolCall(name=name, arguments=arguments):
            return _text_size(name + arguments) + Size(12, 80)
        case Result(parts=parts):
            inner = (part_size(p, profile) for p in parts)
            return sum(inner, Size(12, 80))
        case Shown():
            return shown_size(part, profile)


def message_size(message: RequestMessage, profile: Profile) -> Size:
    """The size of one message, with what surrounds it on the wire."""
    return sum((part_size(part, profile) for part in message.parts), Size(_MESSAGE_OVERHEAD, 40))


def fixed_size(system: str, tools: tuple[ToolSpec, ...]) -> Size:
    """What every request carries: the system prompt and the tool schemas."""
    schemas = "".join(f"{tool.name}{tool.description}{bytes(tool.schema).decode()}" for tool in tools)
    return _text_size(system) + _text_size(schemas) + Size(20 * len(tools), 60 * len(tools))


def _text_size(text: str) -> Size:
    return Size(text_tokens(text), len(text.encode("utf-8", "replace")) + text.count("\n") + text.count('"') + 20)


class Allowance(Struct, frozen=True):
    """What a request may use: tokens for everything that goes in, bytes for the body (0: no known limit)."""

    tokens: int
    bytes: int


def allowance(profile: Profile, *, share: float, reserve: int, window: int = 0) -> Allowance:
    """`share` of the window (a learnt `window` wins over the profile's), less the answer's `reserve`."""
    whole = window or profile.window or ASSUMED_WINDOW
    usable = max(int(whole * share) - min(reserve, whole // 4), 256)
    return Allowance(usable, int(profile.body_limit * 0.95))


def exceeds(size: Size, allowed: Allowance) -> bool:
    """Whether a request of this size is too much."""
    return size.tokens > allowed.tokens or bool(allowed.bytes and size.bytes > allowed.bytes)
