"""Replies are read as h11, the reference among Python's readers, reads them; what it refuses is refused here too."""

import re
from itertools import pairwise

import h11
from hypothesis import given, settings
from hypothesis import strategies as st

from angelia.http.http1 import Incoming, Malformed
from tests.examples import examples

BODY = st.binary(max_size=60)
EXTRA = st.sampled_from([b"", b"x-note: one\r\n", b"Connection: close\r\n", b"a: b, c\r\n"])
PLACES = st.integers(0, 250)
CUTS = st.lists(PLACES, max_size=4)
BENT = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=1),
        st.sampled_from(
            [b"\0", b"\r", b"\n", b"\v", b"\f", b" ", b"\t", b":", b",", b";", b"0", b"1", b"\xa0", b"\r\n"]
        ),
        st.sampled_from(
            [b"content-length: 3\r\n", b"transfer-encoding: chunked\r\n", b"HTTP/1.1 200 OK\r\n", b"1" * 21]
        ),
    ),
    max_size=3,
).map(b"".join)

ONLY_OURS_REFUSES = {
    "a version that nobody speaks": re.compile(rb"^HTTP/(?!1\.[01])\d\.\d ", re.MULTILINE),
    "a chunk of an exabyte": re.compile(rb"^[0-9a-fA-F]{16}", re.MULTILINE),
}
"""What h11 takes and we do not, and why that is well. There is nothing that we take and it does not."""


@st.composite
def replies(draw: st.DrawFn) -> bytes:
    """One reply, framed in one of HTTP's ways, sometimes with a provisional one before it."""
    status = draw(st.sampled_from([b"200 OK", b"404 Not Found", b"204 No Content", b"429 ", b"503 Busy"]))
    head = b"HTTP/1.1 %b\r\n%b" % (status, draw(EXTRA))
    before = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n"]))
    body = draw(BODY)
    if status.startswith(b"204"):
        return before + head + b"\r\n"
    match draw(st.sampled_from(["length", "chunks", "close"])):
        case "length":
            return before + head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        case "chunks":
            pieces = [piece for piece in draw(st.lists(BODY, max_size=4)) if piece]
            framed = b"".join(b"%X\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
            return before + head + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n"
        case _:
            return before + head + b"\r\n" + body


def theirs(raw: bytes) -> tuple[int, bytes] | None:
    """Status and body as h11 reads them, the connection closed after it; None for what is no whole reply."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "h")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(raw)
    connection.receive_data(b"")
    status, body = 0, b""
    try:
        while True:
            match connection.next_event():
                case h11.Response() as response:
                    status = response.status_code
                case h11.Data() as data:
                    body += bytes(data.data)
                case h11.EndOfMessage():
                    return status, body
                case h11.InformationalResponse():
                    continue
                case _:
                    return None
    except h11.RemoteProtocolError:
        return None


def ours(raw: bytes, cuts: list[int]) -> tuple[int, bytes] | None:
    """The same by our reader, fed in pieces."""
    incoming, body = Incoming("GET"), b""
    places = sorted({min(cut, len(raw)) for cut in cuts} | {0, len(raw)})
    try:
        for begin, end in pairwise(places):
            if not incoming.over:
                body += incoming.feed(raw[begin:end])
        incoming.ended()
    except Malformed:
        return None
    return incoming.status, body


@given(raw=replies(), cuts=CUTS)
def test_whole_replies_are_read_alike(raw: bytes, cuts: list[int]) -> None:
    assert ours(raw, cuts) == theirs(raw)
    assert theirs(raw) is not None


@settings(max_examples=examples(1000))
@given(raw=replies(), cuts=CUTS, at=PLACES, bent=BENT)
def test_bent_replies_are_refused_by_both_or_read_alike(raw: bytes, cuts: list[int], at: int, bent: bytes) -> None:
    """Something else put in, or bytes overwritten, or the end cut off."""
    at = min(at, len(raw))
    for other in (raw[:at] + bent + raw[at:], raw[:at] + bent + raw[at + len(bent) :], raw[:at]):
        mine, reference = ours(other, cuts), theirs(other)
        if mine is None and any(known.search(other) for known in ONLY_OURS_REFUSES.values()):
            continue
        assert mine == reference, other
