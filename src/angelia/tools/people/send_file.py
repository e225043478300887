"""The tool `send_file`: give the person a file."""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol
from urllib.parse import unquote

from msgspec import Meta, Struct
from msgspec.structs import replace

from angelia.context.media_forms import size_words
from angelia.core.content import Media, MediaKind, Text
from angelia.core.errors import BadInput, NotFound
from angelia.core.text import clean, file_name
from angelia.policy.verdict import Effect, FetchUrl, NoEffect, SendOut, ShowUrl
from angelia.sandboxes.port import FileTooLarge
from angelia.tools.blob_names import KnownBlob, find_blob, is_pointer
from angelia.tools.files.paths import judged, led
from angelia.tools.port import (
    BlobAccess,
    Delivery,
    LogAccess,
    MediaAccess,
    PeopleAccess,
    SandboxAccess,
    ToolOutcome,
    Traits,
    WebAccess,
)


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


class SendContext(BlobAccess, LogAccess, MediaAccess, PeopleAccess, SandboxAccess, WebAccess, Protocol):
    """What `send_file` uses of its call."""


class SendFile:
    """Queues a file for the person; what became of it is told later, by its receipt."""

    name = "send_file"
    description = "Send the user a file. You are told later if it could not be delivered."
    arguments: type[Struct] = SendFileArguments
    traits = Traits(replayable=True)

    async def effects(self, arguments: SendFileArguments, context: SendContext) -> Sequence[Effect]:
        """Sending one file, or fetching it. What this conversation holds goes back to where it came from: no effect."""
        if is_pointer(arguments.path):
            return (NoEffect(),)
        if _is_url(arguments.path):
            return (ShowUrl(arguments.path) if arguments.as_ == "picture" else FetchUrl(arguments.path),)
        return (SendOut(arguments.path, await led(context, arguments.path), context.address),)

    async def run(self, arguments: SendFileArguments, context: SendContext) -> ToolOutcome:
        """Take the bytes as they are now and queue them; a later change of the file changes nothing. They are never
        held in memory whole. What a destination takes is for the delivery to say.

        Raises:
            NotFound: an unknown or expired blob.
            BadInput: a voice message that is no recording, a picture that is none, a URL that brings an error.
            NoSuchFile, IsFolder, NotAFile, FileTooLarge, AccessRefused and the like.
        """
        media = _as_asked(await _medium(arguments.path, file_name(arguments.name), context), arguments.as_)
        caption = (Text(clean(arguments.caption)),) if arguments.caption.strip() else ()
        delivery = Delivery(context.address, (*caption, media))
        said = f"Queued for the person: {media.name} ({size_words(media.blob.size)})."
        return ToolOutcome((Text(said),), deliveries=(delivery,))


def _is_url(path: str) -> bool:
    return path.lower().startswith(("http://", "https://"))


async def _fetched(url: str, context: WebAccess) -> tuple[bytes, str]:
    """The bytes at a URL and the name that they have there."""
    fetched = await context.fetch(url)
    if fetched.status >= 400:
        raise BadInput(f"{url} answers with HTTP status {fetched.status}, so there is no file to send.")
    return fetched.body, unquote(fetched.url.partition("?")[0].rstrip("/").rpartition("/")[2])


async def _medium(path: str, name: str, context: SendContext) -> Media:
    """What it is; what claims to be a picture and cannot be opened is sent as a file all the same."""
    if is_pointer(path):
        return await _known(find_blob(context.entries, path), name, context)
    if _is_url(path):
        data, own_name = await _fetched(path, context)
        name = name or file_name(own_name) or "file"
        try:
            return await context.to_media(data, name)
        except BadInput:
            return Media(await context.blobs.put(data), MediaKind.DOCUMENT, name)
    resolved = await judged(context, path)
    try:
        size = (await context.sandbox.stat(resolved)).size
        content = context.sandbox.get(resolved, limit=context.most_sent)
        return await context.take(content, name or file_name(path) or "file", size)
    except FileTooLarge as error:
        then = "Pack it smaller, or send a part. The person can raise the setting files.max_sent_bytes."
        raise FileTooLarge(error.what, error.why, then) from error


async def _known(known: KnownBlob, name: str, context: BlobAccess) -> Media:
    """A blob of this conversation, under its own name or another."""
    if not await context.blobs.has(known.ref):
        raise NotFound(f"{known.name or 'It'} is not stored any more.", then="Make it anew, or ask the person for it.")
    name = name or file_name(known.name) or "file"
    return replace(known.media, name=name) if known.media else Media(known.ref, MediaKind.DOCUMENT, name)


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
