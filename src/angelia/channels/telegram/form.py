"""A request's fields and files as `multipart/form-data`, in the way that the Bot API's server reads it."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

CHUNK = 1 << 18

_UNREADABLE = dict.fromkeys([*range(32), 127, ord(";")], "_")


class Upload(Struct, frozen=True):
    """One file of a request: the field that it stands in, and its bytes on this machine."""

    field: str
    path: Path
    size: int
    name: str
    mime: str


class Form:
    """One body. Its files are read while it is sent, so that memory stays small."""

    def __init__(self, fields: Mapping[str, str], uploads: Sequence[Upload]) -> None:
        boundary = secrets.token_hex(16)
        self._heads = [_head(boundary, one) for one in uploads]
        self._fields = b"".join(_field(boundary, name, value) for name, value in fields.items())
        self._uploads, self._end = uploads, f"--{boundary}--\r\n".encode()
        files = sum(len(head) + one.size + 2 for head, one in zip(self._heads, uploads, strict=True))
        self.headers = {
            "content-type": f"multipart/form-data; boundary={boundary}",
            "content-length": str(len(self._fields) + files + len(self._end)),
        }

    async def body(self) -> AsyncIterator[bytes]:
        """Its bytes, in pieces."""
        yield self._fields
        for head, one in zip(self._heads, self._uploads, strict=True):
            yield head
            async for piece in read_pieces(one.path):
                yield piece
            yield b"\r\n"
        yield self._end


async def read_pieces(path: Path) -> AsyncIterator[bytes]:
    """A file's bytes, read in a thread."""
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, CHUNK):
            yield piece


def readable(name: str) -> str:
    """A file's name as the Bot API's server can read it.

    It takes a parameter's value up to the next `;`, strips one quote at either end, and decodes no escapes
    (tdlib/td, `tdnet/td/net/HttpReader.cpp`); so a quote within may stay, and what cannot be written becomes `_`.

    >>> readable('a "b"; c')
    'a "b"_ c'
    """
    return name.translate(_UNREADABLE)


def _field(boundary: str, name: str, value: str) -> bytes:
    return f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()


def _head(boundary: str, upload: Upload) -> bytes:
    place = f'content-disposition: form-data; name="{upload.field}"; filename="{readable(upload.name)}"'
    return f"--{boundary}\r\n{place}\r\ncontent-type: {readable(upload.mime)}\r\n\r\n".encode()
