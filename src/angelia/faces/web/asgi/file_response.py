"""A stored file as an answer: shown where that is harmless, else to be kept; it never runs as a page of ours."""

from collections.abc import AsyncGenerator
from urllib.parse import quote

from angelia.core.content import Media
from angelia.core.text import file_name
from angelia.faces.web.asgi.request import StreamedResponse
from angelia.service.files.links import checked
from angelia.store.media.blobs import BlobStore

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PLAYED = ("audio/", "video/")
_UNKNOWN = "application/octet-stream"


def file_response(media: Media, blobs: BlobStore, *, keep: bool = False) -> StreamedResponse:
    """The bytes, checked as they go out. Pictures of pixels and recordings are shown, all else is saved; all of it, if
    whoever asks wants to `keep` it.
    """
    shown = not keep and (media.blob.mime in _SHOWN or media.blob.mime.startswith(_PLAYED))
    name = quote(file_name(media.name) or "file", safe="")
    headers = {
        "content-disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{name}",
        "content-security-policy": "sandbox; default-src 'none'",
        "cache-control": "private, max-age=86400, immutable",
    }
    return StreamedResponse(_bytes(media, blobs), media.blob.mime if shown else _UNKNOWN, media.blob.size, headers)


async def _bytes(media: Media, blobs: BlobStore) -> AsyncGenerator[bytes, None]:
    async for piece in checked(media, blobs):
        yield piece
