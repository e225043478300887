"""What a program brings beside words, as media of ours: pictures, sound and files, in base64."""

import base64
import binascii
import re

from angelia.core.content import Media
from angelia.core.errors import BadInput
from angelia.core.text import file_name
from angelia.faces.web.v1.refusals import ApiRefused, not_possible
from angelia.store.media.measure import Intake

MOST_BODY = 48_000_000
"""Bytes of a request: some ten pictures as phones take them, which base64 makes a third larger."""

_DATA = re.compile(r"data:(?P<mime>[^;,]*)(?:;[^;,]*)*;base64,", re.ASCII | re.IGNORECASE)


async def media_from_url(intake: Intake, url: str, name: str, param: str) -> Media:
    """A medium from a data URL.

    Raises:
        ApiRefused: it is another kind of address, or damaged.
    """
    head = _DATA.match(url)
    if head is None:
        raise not_possible(
            param, f"{url[:60]!r} is no data URL.", "Nothing is fetched for a program: send `data:TYPE;base64,…`."
        )
    return await media_from_base64(intake, url[head.end() :], name or name_of_mime(head["mime"]), param)


async def media_from_base64(intake: Intake, data: str, name: str, param: str) -> Media:
    """A medium from its bytes in base64.

    Raises:
        ApiRefused: it is no base64, empty, too large, or damaged.
    """
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ApiRefused(400, f"{param} is no base64.", str(error), code="invalid_base64", param=param) from error
    if not raw or len(raw) > intake.limit:
        why = f"It has {len(raw):,} bytes; at most {intake.limit:,} are taken (files.max_bytes)."
        raise ApiRefused(400, f"{param} cannot be taken.", why, param=param)
    try:
        return await intake.to_media(raw, file_name(name) or "file")
    except BadInput as error:
        raise ApiRefused(400, error.what, error.why, error.then, code="invalid_media", param=param) from error


def name_of_mime(mime: str) -> str:
    """A name for what came without one.

    >>> name_of_mime("image/png"), name_of_mime("")
    ('image.png', 'file')
    """
    kind, _, rest = mime.lower().partition("/")
    ending = re.sub(r"[^a-z0-9]", "", rest.partition("+")[0])
    return f"{kind}.{ending}" if ending and kind.isalpha() else "file"
