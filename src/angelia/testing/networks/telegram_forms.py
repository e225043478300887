"""Requests to the Bot API, read as its server reads them (tdlib/td, `HttpReader.cpp` and `filesystem.cpp`)."""

import unicodedata
from urllib.parse import parse_qsl

from msgspec import Struct

from angelia.testing.model.http1 import HttpRequest
from angelia.testing.networks.telegram_schema import BotApiError


class Uploaded(Struct, frozen=True):
    """A file of a request; `name` as people will see it."""

    name: str
    mime: str
    data: bytes


def read_form(request: HttpRequest) -> tuple[dict[str, str], dict[str, Uploaded]]:
    """Its parameters and its files.

    Raises:
        BotApiError: it is none of the forms that the API takes.
    """
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    match kind.strip().lower():
        case "multipart/form-data":
            return _parts(request.body, rest.partition("boundary=")[2].strip().strip('"'))
        case "application/x-www-form-urlencoded" | "":
            return dict(parse_qsl(request.body.decode(), keep_blank_values=True, strict_parsing=bool(request.body))), {}
        case other:
            raise BotApiError(400, f"Bad Request: a body of type {other}")


def shown_name(name: str) -> str:
    """A file's name after the server has cleaned it: letters, digits and some signs, 60 of them and 20 of the ending.

    >>> shown_name('my "report" final?.pdf')
    'my  report  final.pdf'
    """
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        stem, ending = name, ""
    parts = [part for part in (_cleaned(stem, 60), _cleaned(ending, 20)) if part]
    return ".".join(parts) or "file"


def _cleaned(part: str, most: int) -> str:
    found = ""
    for one in part:
        if len(found) == most:
            break
        sign = one if _stays(one) else " "
        if sign == " " and one != " " and unicodedata.category(one)[0] in "MC" and ord(one) > 126:
            continue
        if found or sign not in " .":
            found += sign
    return found.rstrip(" .")


def _stays(one: str) -> bool:
    if ord(one) < 127:
        return ord(one) >= 32 and one not in "<>:\"/\\|?*&`'"
    return unicodedata.category(one)[0] in "LN"


def _parts(body: bytes, boundary: str) -> tuple[dict[str, str], dict[str, Uploaded]]:
    said: dict[str, str] = {}
    uploaded: dict[str, Uploaded] = {}
    mark, at = f"--{boundary}".encode(), 0
    if not body.startswith(mark):
        raise BotApiError(400, "Bad Request: boundary not found")
    while not body.startswith(mark + b"--", at):
        head_end = body.index(b"\r\n\r\n", at)
        end = body.index(b"\r\n" + mark, head_end)
        data = body[head_end + 4 : end]
        name, file, mime = _about(body[at + len(mark) : head_end].decode())
        if file is None:
            said[name] = data.decode()
        else:
            uploaded[name] = Uploaded(shown_name(file), mime, data)
        at = end + 2
    return said, uploaded


def _about(head: str) -> tuple[str, str | None, str]:
    """Name, file name and type of a part. A parameter ends at the next semicolon, also within quotes."""
    name, file, mime = "", None, "application/octet-stream"
    for line in head.strip().split("\r\n"):
        header, _, value = line.partition(":")
        if header.lower() == "content-type":
            mime = value.strip()
        elif header.lower() == "content-disposition":
            pairs = [pair.partition("=") for pair in value.split(";")[1:]]
            values = {key.strip(): _unquoted(inner.strip()) for key, _, inner in pairs}
            name, file = values.get("name", ""), values.get("filename")
    if not name:
        raise BotApiError(400, "Bad Request: field name in multipart/form-data not found")
    return name, file, mime


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
