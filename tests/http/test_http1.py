"""Replies over HTTP/1.1 read the same wherever their bytes were cut, and what is none is refused."""

import pytest

from angelia.http.http1 import MOST_HEAD, Incoming, Malformed

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
REPLIES = {
    "a length": (OK + b"Content-Length: 5\r\n\r\nHello", b"Hello", True),
    "no body to come": (OK + b"content-length: 0\r\n\r\n", b"", True),
    "no body by its status": (b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", b"", True),
    "chunks": (CHUNKED + b"5\r\nHello\r\n7 \r\n, world\r\n0\r\n\r\n", b"Hello, world", True),
    "chunks with more to them": (CHUNKED + b"0A;a=b\r\n0123\r\n4567\r\n0\r\nT: x\r\n\r\n", b"0123\r\n4567", True),
    "bare line ends": (b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n5\r\nHello\r\n0\r\nT: x\n\n", b"Hello", True),
    "a status without a reason": (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nHi", b"Hi", True),
    "a provisional answer first": (HINTS + CHUNKED + b"2\r\nHi\r\n0\r\n\r\n", b"Hi", True),
    "a folded header": (OK + b"x-note: one\r\n  two\r\ncontent-length: 2\r\n\r\nHi", b"Hi", True),
    "a length that is said twice": (OK + b"content-length: 2\r\ncontent-length: 2\r\n\r\nHi", b"Hi", True),
    "an end that is announced": (OK + b"Connection: close\r\ncontent-length: 2\r\n\r\nHi", b"Hi", False),
    "an old server": (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nHi", b"Hi", False),
    "more than was asked for": (OK + b"content-length: 2\r\n\r\nHi, and more", b"Hi", False),
    "everything until it is closed": (OK + b"content-type: text/plain\r\n\r\nHi, and more", b"Hi, and more", False),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_reads_the_same_wherever_it_was_cut(name: str) -> None:
    raw, body, reusable = REPLIES[name]
    for size in range(1, len(raw) + 1):
        incoming = Incoming("POST")
        read = b"".join(incoming.feed(raw[at : at + size]) for at in range(0, len(raw), size) if not incoming.over)
        assert (read, incoming.status) == (body, 204 if "status" in name and not body else 200)
        assert incoming.over is (name != "everything until it is closed")
        incoming.ended()
        assert incoming.over
        if size == len(raw):
            whole = Incoming("POST")
            whole.feed(raw)
            assert whole.reusable is reusable


def test_headers_keep_their_order_and_their_values() -> None:
    incoming = Incoming("GET")
    incoming.feed(
        OK + b"Set-Cookie: a=1\r\nX-Empty:\r\nset-cookie:  b=2 \r\nX-Note: one\r\n\ttwo\r\ncontent-length: 0\r\n\r\n"
    )
    assert incoming.headers == [
        (b"Set-Cookie", b"a=1"),
        (b"X-Empty", b""),
        (b"set-cookie", b"b=2"),
        (b"X-Note", b"one two"),
        (b"content-length", b"0"),
    ]
    assert incoming.reason == b"OK"


def test_an_answer_to_head_has_no_body_whatever_it_says() -> None:
    incoming = Incoming("HEAD")
    assert incoming.feed(OK + b"content-length: 500\r\n\r\n") == b""
    assert incoming.over
    assert incoming.reusable


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        OK + b"no header\r\n\r\n",
        OK + b"spaced : x\r\n\r\n",
        OK + b"x-note: o\0ne\r\n\r\n",
        OK + b"x-note: one\rcontent-length: 5\r\n\r\n",
        OK + b"x-note: one\r\n t\0wo\r\n\r\n",
        b"HTTP/1.1 200 O\0K\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nno header\r\n\r\n" + OK,
        OK + b"content-length: " + b"1" * 21 + b"\r\n\r\n",
        OK + b"content-length: " + b"1" * 5_000 + b"\r\n\r\n",
        CHUNKED + b" 5\r\nHello\r\n",
        CHUNKED + b"5\nHello\r\n",
        CHUNKED + b"5\r\nHello\n",
        CHUNKED + b"0\r\ngarbage\r\n\r\n",
        CHUNKED + b"0\r\ncontent-length: five\r\n\r\n",
        CHUNKED + b"0\r\n" + b"t: x\r\n" * MOST_HEAD,
        OK + b"content-length: -5\r\n\r\n",
        OK + b"content-length: 5\r\ncontent-length: 6\r\n\r\n",
        OK + b"transfer-encoding: gzip, chunked\r\n\r\n",
        CHUNKED + b"five\r\nHello\r\n",
        CHUNKED + b"+5\r\nHello\r\n",
        CHUNKED + b"5\r\nHello, world\r\n",
        CHUNKED + b"\r\n",
        b"a" * (MOST_HEAD + 1),
        CHUNKED + b"5" * (MOST_HEAD + 1),
    ],
)
def test_what_is_no_reply_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        Incoming("POST").feed(raw)


@pytest.mark.parametrize(
    "raw", [b"", OK, OK + b"content-length: 5\r\n\r\nHell", CHUNKED + b"5\r\nHello\r\n", CHUNKED + b"0\r\n"]
)
def test_a_reply_that_is_cut_is_not_whole(raw: bytes) -> None:
    incoming = Incoming("POST")
    incoming.feed(raw)
    with pytest.raises(Malformed):
        incoming.ended()


def test_a_large_body_in_small_chunks_is_read_whole() -> None:
    many = 20_000
    incoming = Incoming("POST")
    body = incoming.feed(CHUNKED + b"3\r\nabc\r\n" * many + b"0\r\n\r\n")
    assert body == b"abc" * many
    assert incoming.over
