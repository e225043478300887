"""Pictures by their URLs: those that hold the bytes, those of the painter's own server, those elsewhere."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Sequence

from angelia.core.text import one_line
from angelia.models.pictures.port import (
    MOST_BYTES,
    FetchPicture,
    PaintedPictures,
    PaintFailed,
    PaintTrouble,
    SourcePicture,
)
from angelia.models.pictures.requests import PaintServer


def data_url(picture: SourcePicture) -> str:
    """A picture as a URL that holds it."""
    return f"data:{picture.mime};base64,{b64encode(picture.data).decode()}"


def from_base64(text: str) -> bytes:
    """A picture that stands in a reply, as base64 or as a data URL.

    Raises:
        PaintFailed: it is no base64, or too large.
    """
    encoded = text.partition(",")[2] if text.startswith("data:") else text
    try:
        data = b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PaintFailed(PaintTrouble.NOT_A_PICTURE, f"what came is no base64 ({error})") from error
    if len(data) > MOST_BYTES:
        raise PaintFailed(PaintTrouble.TOO_LARGE, f"the picture has {len(data) / 1e6:.0f} MB")
    return data


async def brought(
    urls: Sequence[str], server: PaintServer, fetch: FetchPicture, *, cost: int, connect: float
) -> PaintedPictures:
    """The pictures at these URLs, at once: many end within minutes. Those of the server itself by its own connection.

    What cannot be had is told, as long as something can.

    Raises:
        PaintFailed: nothing can be had; with what was paid.
    """
    pictures: list[bytes] = []
    notes: list[str] = []
    failed: PaintFailed | None = None
    for number, url in enumerate(urls, 1):
        try:
            pictures.append(await _at(url, server, fetch, connect))
        except PaintFailed as error:
            failed = failed or error
            notes.append(f"Picture {number} is lost: {error.said}.")
    if not pictures and failed is not None:
        raise PaintFailed(failed.trouble, failed.said, cost) from failed
    return PaintedPictures(tuple(pictures), cost, tuple(notes))


async def _at(url: str, server: PaintServer, fetch: FetchPicture, connect: float) -> bytes:
    if not url:
        raise PaintFailed(PaintTrouble.EMPTY, "the answer names no picture")
    if url.startswith("data:"):
        return from_base64(url)
    if not server.own(url):
        return await fetch(url)
    reply = await server.get(url, most=MOST_BYTES, connect=connect)
    if reply.status != 200:
        raise PaintFailed(PaintTrouble.DEAD_URL, f"{one_line(url, 200)} answers with HTTP {reply.status}")
    return reply.body
