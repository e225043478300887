"""What a client asks of an HTTP proxy, read from the head of its request, without I/O.

Two forms are answered (RFC 9112, section 3.2): `CONNECT host:port`, after which bytes pass unseen, and a whole URL of
the scheme `http`, whose request is written anew for the server: path and query alone, `Host` as the URL has it, nothing
that was meant for the proxy, and `Connection: close`, so that a connection carries one request and the next one is
judged by itself. What could be read in two ways is refused rather than guessed: bare line ends, folded lines, two
lengths, a length beside chunks.
"""

import re

from msgspec import Struct

MOST_HEAD = 64 * 1024
"""Bytes of a request's or a response's head; servers take 8 to 16 kB."""

_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}) ([\x21-\x7e]+) HTTP/(1\.[01])")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_HOST = r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z._-]+))"
_AUTHORITY = re.compile(rf"{_HOST}:(\d{{1,5}})")
_URL = re.compile(rf"http://({_HOST}(?::(\d{{1,5}}))?)([/?][^#]*)?(?:#.*)?", re.IGNORECASE)
_STATUS = re.compile(r"HTTP/1\.[01] (\d{3})(?: .*)?")
_LENGTH = re.compile(r"\d{1,18}")
_OF_THIS_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "upgrade")
)
"""Fields that mean one connection and not the message (RFC 9110, section 7.6.1)."""


class ProxyRefusal(Exception):
    """A request is not carried out: the `status` that says so, and a sentence for whoever reads the response."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status, self.sentence = status, sentence
        super().__init__(sentence)


class Target(Struct, frozen=True):
    """Where a request leads; `host` is in lower case, without brackets and without a last dot."""

    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        """As a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/"


class Tunnel(Struct, frozen=True):
    """Bytes both ways, unseen."""

    target: Target


class Forward(Struct, frozen=True):
    """One request: `head` as the server gets it, and a body of `length` bytes, or in chunks."""

    target: Target
    head: bytes
    length: int = 0
    chunked: bool = False


def read_request(head: bytes) -> Tunnel | Forward:
    """What the head of a request, the empty line at its end included, asks for.

    Raises:
        ProxyRefusal: it cannot be read in exactly one way, or is nothing that a proxy does.
    """
    lines = _lines(head)
    line = _LINE.fullmatch(lines[0])
    if not line:
        raise ProxyRefusal(400, "This request line cannot be read.")
    method, where, version = line.groups()
    fields = [_field(one) for one in lines[1:]]
    if method == "CONNECT":
        return Tunnel(_authority(where))
    url = _URL.fullmatch(where)
    if not url:
        raise ProxyRefusal(400, "This is a proxy: it takes CONNECT for https, and whole URLs of the scheme http.")
    authority, six, name, port, path = url.groups()
    target = _target("http", six or name, port or "80")
    path = f"/{path}" if path and path.startswith("?") else path or "/"
    length, chunked = _body(fields)
    kept = [f"{name}: {value}" for name, value in _end_to_end(fields) if name.lower() != "host"]
    written = [f"{method} {path} HTTP/{version}", f"Host: {authority}", *kept, "Connection: close", "", ""]
    return Forward(target, "\r\n".join(written).encode("latin-1"), length, chunked)


def read_response(head: bytes) -> tuple[int, bytes]:
    """The status of a response's head, and the head as the client gets it: the connection ends with this response.

    Raises:
        ProxyRefusal: it is none, or wants to speak another protocol.
    """
    lines = _lines(head)
    line = _STATUS.fullmatch(lines[0])
    if not line or line[1] == "101":
        raise ProxyRefusal(502, "The server's response is not plain HTTP/1.1.")
    status = int(line[1])
    kept = [f"{name}: {value}" for name, value in _end_to_end([_field(one) for one in lines[1:]])]
    close = [] if status < 200 else ["Connection: close"]
    return status, "\r\n".join([lines[0], *kept, *close, "", ""]).encode("latin-1")


def _lines(head: bytes) -> list[str]:
    lines = head.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    if any("\n" in line or "\r" in line or "\0" in line for line in lines):
        raise ProxyRefusal(400, "A line of the head holds a bare line end.")
    return lines


def _field(line: str) -> tuple[str, str]:
    field = _FIELD.fullmatch(line)
    if not field:
        raise ProxyRefusal(400, "A line of the head is no header field.")
    return field[1], field[2].rstrip(" \t")


def _end_to_end(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    listed = {one.strip().lower() for name, value in fields if name.lower() == "connection" for one in value.split(",")}
    # Framing stays whatever a sender lists: without it the body would be read as a further request.
    gone = (_OF_THIS_HOP | listed) - {"content-length", "transfer-encoding"}
    return [(name, value) for name, value in fields if name.lower() not in gone]


def _body(fields: list[tuple[str, str]]) -> tuple[int, bool]:
    lengths = [value for name, value in fields if name.lower() == "content-length"]
    codings = [value for name, value in fields if name.lower() == "transfer-encoding"]
    if codings and (lengths or [one.lower() for one in codings] != ["chunked"]):
        raise ProxyRefusal(400, "The request's body has two lengths, or a coding other than chunked.")
    if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])):
        raise ProxyRefusal(400, "The request's Content-Length cannot be read.")
    return int(lengths[0]) if lengths else 0, bool(codings)


def _authority(where: str) -> Target:
    found = _AUTHORITY.fullmatch(where)
    if not found:
        raise ProxyRefusal(400, "CONNECT needs a host and a port.")
    return _target("https", found[1] or found[2], found[3])


def _target(scheme: str, host: str, port: str) -> Target:
    if not 0 < int(port) < 65536:
        raise ProxyRefusal(400, f"There is no port {port}.")
    return Target(scheme, host.lower().rstrip("."), int(port))
