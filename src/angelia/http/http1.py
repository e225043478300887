"""HTTP/1.1 (RFC 9112): a request's head, and replies out of bytes that were cut anywhere; does no I/O."""

import re
from collections.abc import Sequence
from typing import NamedTuple

MOST_HEAD = 100_000
"""Bytes of a reply's head, or of one line of its framing, before it is taken for something else."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_VALUE = rb"[^\x00\n\v\f\r]*"
"""What a value or a reason may hold: neither NUL nor anything that some reader takes for the end of a line."""
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: (%b))?" % _VALUE)
_FIELD = re.compile(rb"([!#$%%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(%b?)[ \t]*" % _VALUE)
_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})(?:;.*)?[ \t]*")
_LENGTH = re.compile(rb"\d{1,20}")
"""As many digits as 2**64 has; Python itself refuses to read some thousands of them."""


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
        self._chunked = False
        self._to_the_end = False
        self._after_chunk = False
        self._trailers: list[bytes] | None = None

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
        headers = _fields(lines)
        framing = _framing(headers)
        if matched[2] >= b"200":
            self.headers = headers
            self._frame(framing, matched[1] == b"1", int(matched[2]))
            self.status, self.reason = int(matched[2]), matched[3] or b""
        return True

    def _frame(self, framing: "_Framing", keeps: bool, status: int) -> None:
        """How long the body is (RFC 9112, section 6.3)."""
        self.reusable = keeps and not framing.closes
        if self._bodiless or status in (204, 304):
            self.over = True
        elif framing.chunked:
            self._chunked = True
            self.reusable = self.reusable and framing.length is None  # one with two lengths may be two (section 6.3)
        elif framing.length is not None:
            self._left = framing.length
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
            self._line(rest[at:end])
            at = end + 1
        self._rest = rest[at:]
        if not self._left:
            self._within_limits(self._rest)
        return body[0] if len(body) == 1 else b"".join(body)

    def _line(self, line: bytes) -> None:
        """One line between chunks: a size, the end of a chunk, or something after the last.

        A bare line feed ends a line of the head and of what follows the chunks, and none between them: there it could
        as well be a byte of the body (RFC 9112, sections 2.2 and 7.1).
        """
        if self._trailers is not None:
            self._trailer(line.removesuffix(b"\r"))
            return
        if not line.endswith(b"\r"):
            raise Malformed(f"A line between chunks of the answer has no end: {line[:80]!r}")
        line = line.removesuffix(b"\r")
        if self._after_chunk:
            if line:
                raise Malformed("A chunk of the answer is longer than it says.")
            self._after_chunk = False
        elif size := _SIZE.fullmatch(line):
            self._left = int(size[1], 16)
            self._after_chunk = bool(self._left)
            self._trailers = None if self._left else []
        else:
            raise Malformed(f"A chunk of the answer has no size: {line[:80]!r}")

    def _trailer(self, line: bytes) -> None:
        """One line after the last chunk: fields that nobody needs, up to an empty one, and nothing else."""
        assert self._trailers is not None
        if line:
            self._trailers.append(line)
            self._within_limits(b"\n".join(self._trailers) if len(self._trailers) % 100 == 0 else b"")
        else:
            _framing(_fields(self._trailers))
            self.over = True

    def _within_limits(self, rest: bytes) -> None:
        if len(rest) > MOST_HEAD and not self.over:
            raise Malformed(f"The answer's head is longer than {MOST_HEAD} bytes.")


class _Framing(NamedTuple):
    """What headers say of where a body ends: in chunks, after so many bytes, and whether the connection does too."""

    chunked: bool
    length: int | None
    closes: bool


def _framing(headers: Sequence[tuple[bytes, bytes]]) -> _Framing:
    said: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        said.setdefault(name.lower(), []).extend(part.strip().lower() for part in value.split(b","))
    codings, lengths = said.get(b"transfer-encoding", []), said.get(b"content-length", [])
    if codings not in ([], [b"chunked"]):
        raise Malformed(f"The answer's body comes in a way that was not asked for: {codings!r}")
    if lengths and (len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0])):
        raise Malformed(f"The answer's length is no number: {b', '.join(lengths)[:80]!r}")
    return _Framing(bool(codings), int(lengths[0]) if lengths else None, b"close" in said.get(b"connection", ()))


def _fields(lines: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Names and values; a line that begins with a blank goes on with the one before it."""
    whole: list[bytes] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and whole:
            whole[-1] += b" " + line.lstrip(b" \t")
        else:
            whole.append(line)
    fields: list[tuple[bytes, bytes]] = []
    for line in whole:
        matched = _FIELD.fullmatch(line)
        if matched is None:
            raise Malformed(f"The answer has a header that is none: {line[:80]!r}")
        fields.append((matched[1], matched[2]))
    return fields
