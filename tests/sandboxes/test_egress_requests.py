"""What a proxy reads of a request, and what it writes to the server in its place."""

import pytest

from angelia.sandboxes.egress.requests import (
    Forward,
    ProxyRefusal,
    Target,
    Tunnel,
    read_request,
    read_response,
)


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("CONNECT pypi.org:443 HTTP/1.1", Target("https", "pypi.org", 443)),
        ("CONNECT PyPI.org.:443 HTTP/1.0", Target("https", "pypi.org", 443)),
        ("CONNECT [2606:4700::1]:8443 HTTP/1.1", Target("https", "2606:4700::1", 8443)),
    ],
)
def test_connect_names_a_host_and_a_port(line: str, target: Target) -> None:
    assert read_request(head(line, "Host: anything")) == Tunnel(target)


@pytest.mark.parametrize(
    ("url", "target", "written", "host"),
    [
        ("http://a.example/", Target("http", "a.example", 80), "/", "a.example"),
        ("http://A.example", Target("http", "a.example", 80), "/", "A.example"),
        ("http://a.example:8080/x?y#z", Target("http", "a.example", 8080), "/x?y", "a.example:8080"),
        ("HTTP://a.example?y", Target("http", "a.example", 80), "/?y", "a.example"),
        ("http://[::1]:81/x", Target("http", "::1", 81), "/x", "[::1]:81"),
    ],
)
def test_a_whole_url_becomes_a_request_to_its_server(url: str, target: Target, written: str, host: str) -> None:
    asked = read_request(head(f"GET {url} HTTP/1.1", "Host: elsewhere.example", "Accept: */*"))
    assert isinstance(asked, Forward)
    assert asked.target == target
    assert asked.head == head(f"GET {written} HTTP/1.1", f"Host: {host}", "Accept: */*", "Connection: close")


def test_nothing_that_was_meant_for_the_proxy_goes_on() -> None:
    own = ("Proxy-Authorization: Basic eA==", "Proxy-Connection: keep-alive", "Connection: X-Hop, content-length")
    asked = read_request(head("POST http://a.example/ HTTP/1.1", *own, "X-Hop: 1", "Content-Length: 3", "X-End: 2"))
    assert isinstance(asked, Forward)
    assert asked.length == 3
    assert asked.head == head(
        "POST / HTTP/1.1", "Host: a.example", "Content-Length: 3", "X-End: 2", "Connection: close"
    )


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("GET / HTTP/1.1", "Host: a.example"), 400),
        (("GET https://a.example/ HTTP/1.1",), 400),
        (("GET ftp://a.example/ HTTP/1.1",), 400),
        (("GET http://user:word@a.example/ HTTP/1.1",), 400),
        (("GET http://a.example/ b HTTP/1.1",), 400),
        (("GET http://a.example/ HTTP/2.0",), 400),
        (("CONNECT a.example HTTP/1.1",), 400),
        (("CONNECT a.example:0 HTTP/1.1",), 400),
        (("CONNECT a.example:99999 HTTP/1.1",), 400),
        (("CONNECT user@a.example:443 HTTP/1.1",), 400),
        (("POST http://a.example/ HTTP/1.1", "Content-Length: 3", "Transfer-Encoding: chunked"), 400),
        (("POST http://a.example/ HTTP/1.1", "Content-Length: 3", "Content-Length: 3"), 400),
        (("POST http://a.example/ HTTP/1.1", "Content-Length: -3"), 400),
        (("POST http://a.example/ HTTP/1.1", "Transfer-Encoding: gzip, chunked"), 400),
        (("POST http://a.example/ HTTP/1.1", "Transfer-Encoding : chunked"), 400),
        (("GET http://a.example/ HTTP/1.1", "A: b", " folded"), 400),
        (("GET http://a.example/ HTTP/1.1", "A: b\nHost: c"), 400),
        (("GET http://a.example/ HTTP/1.1", "A: b\rHost: c"), 400),
        (("GET http://a.example/ HTTP/1.1", "A: b\0"), 400),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(lines: tuple[str, ...], status: int) -> None:
    with pytest.raises(ProxyRefusal) as refusal:
        read_request(head(*lines))
    assert refusal.value.status == status


def test_a_response_ends_its_connection() -> None:
    said = head("HTTP/1.1 200 OK", "Connection: keep-alive", "Keep-Alive: 5", "Content-Length: 2")
    assert read_response(said) == (200, head("HTTP/1.1 200 OK", "Content-Length: 2", "Connection: close"))
    assert read_response(head("HTTP/1.1 100 Continue")) == (100, head("HTTP/1.1 100 Continue"))


@pytest.mark.parametrize("line", ["HTTP/1.1 101 Switching Protocols", "SSH-2.0-x", "HTTP/2 200"])
def test_another_protocol_is_no_response(line: str) -> None:
    with pytest.raises(ProxyRefusal, match="plain HTTP"):
        read_response(head(line))
