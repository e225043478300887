"""Content blocks of a prompt become parts of a message: every one, in order, or the person is told why not."""

import asyncio
import binascii
import posixpath
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never
from urllib.parse import unquote, urlsplit

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from angelia.context.media_forms import AsText, Nature, Refused, form_of, label, nature, quoted, size_words
from angelia.core.content import Content, Media, Text
from angelia.core.errors import BadInput
from angelia.core.profile import Profile
from angelia.core.text import clean, one_line
from angelia.faces.acp import incoming as i

ToMedia = Callable[[bytes, str], Awaitable[Media]]
"""Stores bytes, measured; raises BadInput for what is damaged."""

_ENDINGS = {"image/jpeg": "jpg", "image/svg+xml": "svg", "audio/mpeg": "mp3", "audio/x-wav": "wav"}
"""Subtypes that are no good ending of a file's name."""


class Taken(Struct, frozen=True):
    """What goes into the person's message, and what the person is told about it (whole sentences)."""

    parts: tuple[Content, ...]
    notes: tuple[str, ...] = ()


async def taken(
    blocks: Sequence[i.Block], to_media: ToMedia, profile: Profile, refused: Refused, transcriber: str = ""
) -> Taken:
    """All blocks, in their order. What cannot be opened goes by name only, and the person is told.

    A recording that the model cannot hear is left to the `transcriber`, which is heard of in the turn.

    Raises:
        BadInput: something is not base64.
    """
    parts: list[Content] = []
    notes: list[str] = []
    for number, block in enumerate(blocks, 1):
        one = await _one(block, number, to_media)
        parts.extend(one.parts)
        notes.extend(one.notes)
        media = [part for part in one.parts if isinstance(part, Media)]
        left = [part for part in media if not (transcriber and nature(part) is Nature.SOUND)]
        forms = [form_of(part, profile, refused) for part in left]
        notes.extend(f"{form.because} {form.then}" for form in forms if isinstance(form, AsText))
    return Taken(tuple(parts), tuple(notes))


async def _one(block: i.Block, number: int, to_media: ToMedia) -> Taken:
    match block:
        case i.TextBlock(text=text):
            return Taken((Text(text),))
        case i.ImageBlock(data=data, mime_type=mime, uri=uri):
            return await _bytes(data, name_in(uri or "") or _named("picture", number, mime), "", to_media)
        case i.AudioBlock(data=data, mime_type=mime):
            return await _bytes(data, _named("recording", number, mime), "", to_media)
        case i.LinkBlock():
            return Taken((Text(link_line(block)),))
        case i.ResourceBlock(resource=resource):
            return await _resource(resource, to_media)
        case _:
            assert_never(block)


async def _resource(resource: i.Resource, to_media: ToMedia) -> Taken:
    name = name_in(resource.uri) or "resource"
    if isinstance(resource.text, str):
        return await _words(resource.text, name, resource.uri, to_media)
    if isinstance(resource.blob, UnsetType):
        raise BadInput(f"The resource {quoted(name)} has neither text nor a blob.")
    return await _bytes(resource.blob, name, resource.uri, to_media)


async def _words(text: str, name: str, uri: str, to_media: ToMedia) -> Taken:
    """Text as a file's content; what does not read as a text file stands in the message itself."""
    where = place_line(uri, "as the editor has it")
    if not text.strip():
        return Taken((Text(f"[file {quoted(name)}{where}: it is empty]"),))
    media = replace(await to_media(clean(text).encode(), name), origin=path_in(uri))
    if nature(media) is Nature.WORDS:
        return Taken((media, Text(f"[{label(media)}{where}]")))
    return Taken((Text(f"[file {quoted(name)}{where}]\n{text}"),))


async def _bytes(data: str, name: str, uri: str, to_media: ToMedia) -> Taken:
    content = await asyncio.to_thread(_decoded, data, name)
    where = place_line(uri, "")
    if not content:
        return Taken((Text(f"[{quoted(name)}{where}: it is empty]"),), (f"{quoted(name)} is empty (0 bytes).",))
    try:
        media = replace(await to_media(content, name), origin=path_in(uri))
    except BadInput as error:
        said = " ".join(part for part in (error.what, error.why) if part)
        line = f"[{quoted(name)}{where}, {size_words(len(content))}: it cannot be opened. {one_line(said, 300)}]"
        return Taken((Text(line),), (f"{said} It reaches the model by name only.",))
    return Taken((media, Text(f"[{label(media)}{where}]")) if uri else (media,))


def _decoded(data: str, name: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput(f"What was sent as {quoted(name)} is not base64.", then="Nothing was stored.") from None


def _named(kind: str, number: int, mime: str) -> str:
    """A name for what has none: its place in the prompt and its type."""
    ending = _ENDINGS.get(mime) or mime.partition("/")[2].partition(";")[0].partition("+")[0]
    return f"{kind}-{number}.{ending}" if ending.isalnum() else f"{kind}-{number}"


def path_in(uri: str) -> str:
    """The path of a `file:` URI; nothing for any other."""
    parts = urlsplit(uri) if uri.startswith("file:") else None
    return clean(unquote(parts.path)) if parts else ""


def name_in(uri: str) -> str:
    """The last step of a URI's path, as a name.

    >>> name_in("file:///home/me/my%20notes.md"), name_in("https://example.org/")
    ('my notes.md', '')
    """
    try:
        return clean(posixpath.basename(unquote(urlsplit(uri).path)))
    except ValueError:
        return ""


def place_line(uri: str, how: str) -> str:
    """Where something lies, as the end of a label."""
    if not uri:
        return ""
    where = one_line(path_in(uri) or clean(uri), 500)
    return f", {how}, lies at {where}" if how else f", lies at {where}"


def link_line(block: i.LinkBlock) -> str:
    """A link in words; the model opens it with its tools.

    >>> link_line(i.LinkBlock("a.py", "file:///w/a.py", "text/x-python", 1200))
    '[link to "a.py" (text/x-python, 1.2 kB) at /w/a.py: not opened yet]'
    """
    facts = [fact for fact in (block.mime_type, size_words(block.size) if block.size else "") if fact]
    about = f" ({', '.join(facts)})" if facts else ""
    said = "; ".join(one_line(clean(text), 200) for text in (block.title, block.description) if text)
    where = one_line(path_in(block.uri) or clean(block.uri), 500)
    return f"[link to {quoted(clean(block.name))}{about} at {where}: not opened yet{f'; {said}' if said else ''}]"


def only_words(parts: Sequence[Content]) -> str:
    """The text of a message that is nothing but text."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    return "\n".join(texts) if len(texts) == len(parts) else ""


def only_text(blocks: Sequence[i.Block]) -> str:
    """The text of a prompt that is one block of text; empty for any other."""
    match blocks:
        case [i.TextBlock(text=text)]:
            return text
        case _:
            return ""
