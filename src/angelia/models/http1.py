"""HTTP/1.1 (RFC 9112): a request's head, and replies out of bytes that were cut anywhere; does no I/O."""

import re
from collections.abc import Sequence

MOST_HEAD = 100_000
"""Bytes of a reply's head, or of one line of its framing, before it is taken for something else."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: (.*))?")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*", re.DOTALL)
_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?")


class Malformed(Exception):
    """These bytes are no reply, or only a part of one; or no request."""


def head(method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The first line and the headers of a request.

    Raises:
        Malformed: one of them would end early, and what follows would be something else.
    """
    lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), target), *(b"%b: %b" % header for header in headers)]
    if any(broken in line for line in lines for broken in (b"\r", b"\n", b"\0")):
        raise Malformed("A header holds the end of a line.")
    return b"\r\n".join([*lines, b"", b""])


class Incoming:
    """One reply. `status` is 0 until its head is there; `over` once its body is whole; `reusable` says whether the
    connection may serve another request then.

    >>> incoming = Incoming("GET")
    >>> incoming.feed(b"HTTP/1.1 200 OK" + bytes([10]) + b"content-length: 5" + bytes([10, 10]) + b"He")
    b'He'
    >>> incoming.feed(b"llo"), incoming.status, incoming.over, incoming.reusable
    (b'llo', 200, True, True)
    """

    def __init__(self, method: str) -> None:
        self.status, self.reason = 0, b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.over = self.reusable = False
        self._bodiless = method == "HEAD"
        self._rest = b""
        self._left = 0
        self._chunked = self._to_the_end = self._after_chunk = self._trailers = False

    def feed(self, data: bytes) -> bytes:
        """The bytes of the body that `data` brings.

        Raises:
            Malformed: it is no reply.
        """
        self._rest = self._rest + data if self._rest else data
        while not self.status:
            if not self._head():
                return b""
        body = b"" if self.over else self._chunks() if self._chunked else self._plain()
        if self.over and self._rest:
            self.reusable = False  # more than was asked for: whatever comes next could be anything
        return body

    def ended(self) -> None:
        """The server has closed the connection.

        Raises:
            Malformed: its reply is not whole.
        """
        if not self.status:
            raise Malformed("The server closed the connection without an answer.")
        if not (self.over or self._to_the_end):
            raise Malformed("The server closed the connection in the middle of its answer.")
        self.over, self.reusable = True, False

    def _head(self) -> bool:
        """Read the head, if all of it is there; heads of provisional answers are passed over."""
        found = _HEAD_END.search(self._rest)
        if found is None:
            self._within_limits(self._rest)
            return False
        first, *lines = _LINE_END.split(self._rest[: found.start()])
        self._rest = self._rest[found.end() :]
        matched = _STATUS.fullmatch(first)
        if matched is None or matched[2] == b"101":
            raise Malformed(f"This is no HTTP/1.1 answer: {first[:80]!r}")
        if matched[2] >= b"200":
            self.headers = _fields(lines)
            self._frame(matched[1] == b"1", int(matched[2]))
            self.status, self.reason = int(matched[2]), matched[3] or b""
        return True

    def _frame(self, keeps: bool, status: int) -> None:
        """How long the body is (RFC 9112, section 6.3)."""
        said: dict[bytes, list[bytes]] = {}
        for name, value in self.headers:
            said.setdefault(name.lower(), []).extend(part.strip().lower() for part in value.split(b","))
        self.reusable = keeps and b"close" not in said.get(b"connection", ())
        codings, lengths = said.get(b"transfer-encoding"), said.get(b"content-length")
        if self._bodiless or status in (204, 304):
            self.over = True
        elif codings:
            if codings != [b"chunked"]:
                raise Malformed(f"The answer's body comes in a way that was not asked for: {codings!r}")
            self._chunked = True
            self.reusable = self.reusable and not lengths  # a reply with two lengths may be two (section 6.3)
        elif lengths:
            if len(set(lengths)) > 1 or not lengths[0].isdigit():
                raise Malformed(f"The answer's length is no number: {lengths!r}")
            self._left = int(lengths[0])
            self.over = not self._left
        else:
            self._to_the_end, self.reusable = True, False

    def _plain(self) -> bytes:
        if self._to_the_end:
            body, self._rest = self._rest, b""
            return body
        body, self._rest = self._rest[: self._left], self._rest[self._left :]
        self._left -= len(body)
        self.over = not self._left
        return body

    def _chunks(self) -> bytes:
        """What the chunks hold, as far as they are there."""
        rest, at = self._rest, 0
        body: list[bytes] = []
        while not self.over:
            if self._left:
                piece = rest[at : at + self._left]
                body.append(piece)
                at += len(piece)
                self._left -= len(piece)
            end = rest.find(b"\n", at)
            if end < 0:
                break
            self._line(rest[at:end].removesuffix(b"\r"))
            at = end + 1
        self._rest = rest[at:]
        if not self._left:
            self._within_limits(self._rest)
        return body[0] if len(body) == 1 else b"".join(body)

    def _line(self, line: bytes) -> None:
        """One line between chunks: a size, the end of a chunk, or something after the last."""
        if self._trailers:
            self.over = not line
        elif self._after_chunk:
            if line:
                raise Malformed("A chunk of the answer is longer than it says.")
            self._after_chunk = False
        elif size := _SIZE.fullmatch(line):
            self._left = int(size[1], 16)
            self._after_chunk, self._trailers = bool(self._left), not self._left
        else:
            raise Malformed(f"A chunk of the answer has no size: {line[:80]!r}")

    def _within_limits(self, rest: bytes) -> None:
        if len(rest) > MOST_HEAD and not self.over:
            raise Malformed(f"The answer's head is longer than {MOST_HEAD} bytes.")


def _fields(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Names and values; a line that begins with a blank goes on with the one before it."""
    fields: list[tuple[bytes, bytes]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and fields:
            name, value = fields[-1]
            fields[-1] = (name, value + b" " + line.strip())
        elif matched := _FIELD.fullmatch(line):
            fields.append((matched[1], matched[2]))
        else:
            raise Malformed(f"The answer has a header that is none: {line[:80]!r}")
    return fields
