"""The tool `send_file`: give the person a file."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import unquote

from msgspec import Meta, Struct
from msgspec.structs import replace

from angelia.core.content import Media, MediaKind, Text
from angelia.core.errors import BadInput
from angelia.core.text import clean
from angelia.policy.verdict import Effect, FetchUrl, SendOut, ShowUrl
from angelia.tools.blob_names import find_blob, is_pointer
from angelia.tools.files import read_bytes
from angelia.tools.places import resolve
from angelia.tools.port import Calling, Delivery, ToolOutcome, Traits

LIMIT = 100_000_000
"""Bytes of one file: it passes through memory once. What a destination takes is for the delivery to say."""


class SendFileArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to send, and as what."""

    path: Annotated[str, Meta(description="File, blob:ID or URL.")]
    caption: str = ""
    as_: Annotated[
        Literal["auto", "document", "voice", "picture"],
        Meta(
            description="document: unchanged, as a file; voice: a recording as a voice message; picture: if it is one."
        ),
    ] = "auto"
    name: Annotated[str, Meta(description="Name to send it under.")] = ""


class SendFile:
    """Queues a file for the person; what became of it is told later, by its receipt."""

    name = "send_file"
    description = "Send the user a file. You are told later if it could not be delivered."
    arguments: type[Struct] = SendFileArguments
    traits = Traits(replayable=True)

    async def effects(self, arguments: SendFileArguments, calling: Calling) -> Sequence[Effect]:
        """Sending one file, or fetching it. What this conversation holds goes back to where it came from: no effect."""
        if is_pointer(arguments.path):
            return ()
        if _is_url(arguments.path):
            return (ShowUrl(arguments.path) if arguments.as_ == "picture" else FetchUrl(arguments.path),)
        return (SendOut(arguments.path, await resolve(calling.sandbox, arguments.path), calling.address),)

    async def run(self, arguments: SendFileArguments, calling: Calling) -> ToolOutcome:
        """Take the bytes as they are now and queue them; a later change of the file changes nothing.

        Raises:
            NotFound: an unknown or expired blob.
            BadInput: a voice message that is no recording, a picture that is none, a URL that brings an error.
            NoSuchFile, IsFolder, NotAFile, FileTooLarge, AccessRefused and the like.
        """
        if is_pointer(arguments.path):
            known = find_blob(calling.entries, arguments.path)
            data, own_name = await calling.blobs.get(known.ref.sha256), known.name
        elif _is_url(arguments.path):
            data, own_name = await _fetched(arguments.path, calling)
        else:
            resolved = await resolve(calling.sandbox, arguments.path)
            data = await read_bytes(calling.sandbox, resolved, limit=LIMIT)
            own_name = arguments.path.rstrip("/").rpartition("/")[2]
        name = _file_name(arguments.name) or _file_name(own_name) or "file"
        media = _as_asked(await _medium(data, name, calling), arguments.as_)
        caption = (Text(clean(arguments.caption)),) if arguments.caption.strip() else ()
        delivery = Delivery(calling.address, (*caption, media))
        return ToolOutcome((Text(f"Queued for the person: {name} ({_size(len(data))})."),), deliveries=(delivery,))


def _is_url(path: str) -> bool:
    return path.lower().startswith(("http://", "https://"))


async def _fetched(url: str, calling: Calling) -> tuple[bytes, str]:
    """The bytes at a URL and the name that they have there."""
    fetched = await calling.fetch(url)
    if fetched.status >= 400:
        raise BadInput(f"{url} answers with HTTP status {fetched.status}, so there is no file to send.")
    return fetched.body, unquote(fetched.url.partition("?")[0].rstrip("/").rpartition("/")[2])


async def _medium(data: bytes, name: str, calling: Calling) -> Media:
    """What it is; what claims to be a picture and cannot be opened is sent as a file all the same."""
    try:
        return await calling.to_media(data, name)
    except BadInput:
        return Media(await calling.blobs.put(data), MediaKind.DOCUMENT, name)


def _as_asked(media: Media, kind: str) -> Media:
    if kind == "document":
        return replace(media, media=MediaKind.DOCUMENT, name=media.name)
    if kind == "voice":
        if media.media not in {MediaKind.AUDIO, MediaKind.VOICE}:
            raise BadInput(f"{media.name} is no recording, so it cannot go as a voice message.", then="Use as_=auto.")
        return replace(media, media=MediaKind.VOICE)
    if kind == "picture" and media.media is not MediaKind.IMAGE:
        raise BadInput(f"{media.name} is no picture.")
    return media


def _file_name(name: str) -> str:
    """A name without folders and control characters."""
    return re.sub(r"[\x00-\x1f\x7f]", " ", clean(name).replace("\\", "/").rstrip("/").rpartition("/")[2]).strip()


def _size(size: int) -> str:
    """Readable, in decimal units.

    >>> _size(0), _size(1_234_567)
    ('0 bytes', '1.2 MB')
    """
    for unit, name in ((1_000_000, "MB"), (1_000, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
