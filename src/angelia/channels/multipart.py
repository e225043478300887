"""A request's fields and files as `multipart/form-data` (RFC 7578), its files read while it is sent."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from msgspec import Struct

CHUNK = 1 << 18

_QUOTED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})
"""How browsers write what a quoted name cannot hold (HTML standard, "Multipart form data")."""


class Field(Struct, frozen=True):
    """A value."""

    name: str
    value: bytes
    mime: str


class UploadField(Struct, frozen=True):
    """A file: the field that it stands in, and its bytes on this machine."""

    field: str
    path: Path
    size: int
    name: str
    mime: str


class Multipart:
    """One body. `headers` tell its type and its length."""

    def __init__(self, fields: Sequence[Field], uploads: Sequence[UploadField]) -> None:
        boundary = secrets.token_hex(16)
        self._uploads, self._end = uploads, f"--{boundary}--\r\n".encode()
        self._start = b"".join(_head(boundary, one.name, one.mime) + one.value + b"\r\n" for one in fields)
        self._heads = [_head(boundary, f'{one.field}"; filename="{_quoted(one.name)}', one.mime) for one in uploads]
        files = sum(len(head) + one.size + 2 for head, one in zip(self._heads, uploads, strict=True))
        self.headers = {
            "content-type": f"multipart/form-data; boundary={boundary}",
            "content-length": str(len(self._start) + files + len(self._end)),
        }

    async def body(self) -> AsyncIterator[bytes]:
        """Its bytes, in pieces."""
        yield self._start
        for head, one in zip(self._heads, self._uploads, strict=True):
            yield head
            async for piece in pieces(one.path):
                yield piece
            yield b"\r\n"
        yield self._end


async def pieces(path: Path) -> AsyncIterator[bytes]:
    """A file's bytes, read in a thread."""
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, CHUNK):
            yield piece


def _quoted(name: str) -> str:
    return name.translate(_QUOTED)


def _head(boundary: str, named: str, mime: str) -> bytes:
    place = f'--{boundary}\r\ncontent-disposition: form-data; name="{named}"\r\n'
    return f"{place}content-type: {mime.replace(chr(13), '').replace(chr(10), '')}\r\n\r\n".encode()
