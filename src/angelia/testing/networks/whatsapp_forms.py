"""Uploads to the fake WhatsApp, as `multipart/form-data` has them (RFC 7578)."""

import re

from angelia.channels.whatsapp.capabilities import UPLOADED
from angelia.testing.model.http1 import HttpRequest
from angelia.testing.networks.whatsapp_graph import GraphApiError

_NAME = re.compile(rb'content-disposition: form-data; name="([^"]*)"', re.IGNORECASE)
_TYPE = re.compile(rb"content-type: *([^\r\n]+)", re.IGNORECASE)


def read_upload(request: HttpRequest) -> tuple[bytes, str]:
    """The bytes of an upload, and their type.

    Raises:
        GraphApiError: the API takes no such form, or no such file.
    """
    parts = _parts(request)
    if set(parts) != {"messaging_product", "type", "file"}:
        raise GraphApiError(400, 100, f"Invalid parameter: {sorted(parts)}")
    (product, _), (said, _), (data, mime) = parts["messaging_product"], parts["type"], parts["file"]
    if (product, said) != (b"whatsapp", mime.encode()):
        raise GraphApiError(400, 100, f"Invalid parameter: a {said!r} of type {mime} for {product!r}")
    if mime not in UPLOADED:
        known = ", ".join(UPLOADED)
        raise GraphApiError(
            400, 100, f"Param file must be a file with one of the following types: {known}. Received {mime}."
        )
    if not data:
        raise GraphApiError(400, 100, "Param file must not be empty.")
    return data, mime


def _parts(request: HttpRequest) -> dict[str, tuple[bytes, str]]:
    """Every part by its name: its bytes and its type."""
    boundary = request.headers.get("content-type", "").partition("boundary=")[2].encode()
    mark, body = b"--" + boundary, request.body
    found: dict[str, tuple[bytes, str]] = {}
    at = body.find(mark)
    while boundary and (start := at + len(mark)) and body[start : start + 2] == b"\r\n":
        at = body.find(b"\r\n" + mark, start)
        head_ends = body.find(b"\r\n\r\n", start)
        head, name = body[start:head_ends], _NAME.search(body[start:head_ends])
        kind = _TYPE.search(head)
        if at < 0 or name is None:
            raise GraphApiError(400, 100, "Invalid parameter: the form cannot be read")
        found[name[1].decode()] = (body[head_ends + 4 : at], kind[1].decode() if kind else "text/plain")
        at += 2
    return found
