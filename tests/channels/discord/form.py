"""The parts of a request, read strictly: multipart/form-data by its boundary, or JSON as its only part."""

import re

from msgspec import Struct

from angelia.testing.model.http1 import HttpRequest


class Part(Struct, frozen=True):
    """One part; `filename` is empty for a field."""

    data: bytes
    mime: str = ""
    filename: str = ""


def parts_of(request: HttpRequest) -> dict[str, Part]:
    """The parts by their names; JSON stands as `payload_json`.

    Raises:
        ValueError: the body is none of these.
    """
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    if kind == "application/json":
        return {"payload_json": Part(request.body)}
    boundary = re.fullmatch(r"\s*boundary=\"?([0-9A-Za-z'()+_,./:=?-]{1,70})\"?", rest)
    if kind != "multipart/form-data" or not boundary:
        raise ValueError(kind)
    mark = f"--{boundary[1]}".encode()
    if not request.body.startswith(mark) or request.body.rstrip(b"\r\n")[-len(mark) - 2 :] != mark + b"--":
        raise ValueError("the boundary")
    found: dict[str, Part] = {}
    for raw in (b"\r\n" + request.body).split(b"\r\n" + mark)[1:-1]:
        head, _, data = raw.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name, part = _part(head.decode("utf-8"), data)
        found[name] = part
    return found


def _part(head: str, data: bytes) -> tuple[str, Part]:
    pairs = (line.partition(":") for line in head.split("\r\n"))
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    told = dict(re.findall(r'; ?(name|filename)="([^"]*)"', headers["content-disposition"]))
    return told["name"], Part(data, headers.get("content-type", ""), told.get("filename", ""))
