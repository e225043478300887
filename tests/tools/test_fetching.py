"""Claims about fetching: it connects to the address that was judged, and to no other."""

import asyncio
import gzip
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import httpx2
import pytest

from angelia.core.errors import BadInput, PolicyDenied
from angelia.policy.egress import judge_address, judge_url
from angelia.tools.port import OriginHeaders
from angelia.tools.web.fetcher import Fetcher, FetchFailed, FetchLimits, FetchTooLarge, resolve_name

pytestmark = pytest.mark.anyio

Reply = Callable[[bytes], bytes | Awaitable[bytes]]


class Server:
    """A real HTTP server on loopback that answers with prepared bytes and keeps what it was asked."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.heard: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await reader.readexactly(1)
            if not first.isalpha():  # TLS, where there is none: it would be waited for until its time is over
                return
            head = first + await reader.readuntil(b"\r\n\r\n")
            self.heard.append(head)
            answer = self.reply(head)
            writer.write(answer if isinstance(answer, bytes) else await answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def serving(reply: Reply, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(reply)
    listener = await asyncio.start_server(server.serve, host, 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


def page(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def redirect(location: str) -> bytes:
    return page(b"", f"Location: {location}", status="302 Found")


DEFAULT_LIMITS = FetchLimits()
HERE = "127.0.0.1"


def fetcher(
    *, allow: tuple[str, ...] = ("127.0.0.0/8",), limits: FetchLimits = DEFAULT_LIMITS, **names: str
) -> Fetcher:
    """A fetcher that knows these names (dots as underscores) and otherwise the machine's."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        known = names.get(host.replace(".", "_"))
        return known.split() if known else await resolve_name(host, port)

    return Fetcher(judge_url, partial(judge_address, allow_ranges=allow), resolve=resolve, limits=limits)


async def test_a_page_arrives_with_its_status_type_and_bytes() -> None:
    async with serving(lambda _: page("schön".encode("latin-1"), "Content-Type: text/html; charset=latin-1")) as server:
        fetched = await fetcher().fetch(f"http://127.0.0.1:{server.port}/a?b=c#d")
    assert (fetched.status, fetched.mime, fetched.body) == (200, "text/html; charset=latin-1", b"sch\xf6n")
    assert server.heard[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")


async def test_an_error_status_is_a_page_too() -> None:
    async with serving(lambda _: page(b"gone", status="404 Not Found")) as server:
        assert (await fetcher().fetch(f"http://127.0.0.1:{server.port}/")).status == 404


async def test_loopback_is_refused_without_a_declared_range_and_nothing_connects() -> None:
    async with serving(lambda _: page(b"secret")) as server:
        with pytest.raises(PolicyDenied, match="allow_ranges"):
            await fetcher(allow=()).fetch(f"http://127.0.0.1:{server.port}/")
    assert server.heard == []


async def test_a_name_is_resolved_once_and_its_answer_is_what_we_connect_to() -> None:
    """DNS rebinding: the first answer is harmless, every later one is not."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    async with serving(lambda _: page(b"ok")) as server:
        judged = Fetcher(judge_url, partial(judge_address, allow_ranges=("127.0.0.0/8",)), resolve=resolve)
        fetched = await judged.fetch(f"http://rebind.example:{server.port}/")
    assert fetched.body == b"ok"
    assert asked == ["rebind.example"]
    assert f"host: rebind.example:{server.port}".encode() in server.heard[0].lower()


async def test_one_private_address_among_public_ones_refuses_them_all() -> None:
    with pytest.raises(PolicyDenied, match="private network"):
        await fetcher(mixed_example="93.184.215.14 10.0.0.1").fetch("http://mixed.example/")


async def test_a_dead_address_is_followed_by_the_next() -> None:
    async with serving(lambda _: page(b"ok")) as server:
        fetched = await fetcher(two_example="127.0.0.9 127.0.0.1").fetch(f"http://two.example:{server.port}/")
    assert fetched.body == b"ok"


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://10.0.0.1/",
        "http://metadata.google.internal/",
        "file:///etc/passwd",
        "http://user:pw@example.com/",
        "//192.168.1.1/x",
        "http://internal.example/",
        "gopher://127.0.0.1:25/",
        "http://127.0.0.1:22/",
    ],
)
async def test_a_redirect_is_judged_like_the_first_url(target: str) -> None:
    async with serving(lambda _: redirect(target)) as server:
        with pytest.raises(PolicyDenied):
            await fetcher(internal_example="192.168.7.7").fetch(f"http://127.0.0.1:{server.port}/")


async def test_relative_redirects_are_followed() -> None:
    def reply(head: bytes) -> bytes:
        return page(b"there") if head.startswith(b"GET /b/c ") else redirect("b/c")

    async with serving(reply) as server:
        fetched = await fetcher().fetch(f"http://127.0.0.1:{server.port}/")
    assert (fetched.body, fetched.url) == (b"there", f"http://127.0.0.1:{server.port}/b/c")


TOKEN = b"authorization: bearer k3ks"


@pytest.mark.parametrize("way", ["", "/a", "there", "there and back", "another scheme", "another host"])
async def test_headers_for_an_origin_are_sent_to_it_until_a_redirect_leads_elsewhere(way: str) -> None:
    """Elsewhere is another port, scheme or host; and who was there may not lead back with what is an origin's own."""

    def other(head: bytes) -> bytes:
        return redirect(f"http://good.example:{server.port}/end") if way == "there and back" else page(b"ok")

    def reply(head: bytes) -> bytes:
        if b"GET / " not in head or not way:
            return page(b"ok")
        schemes = {"another scheme": f"https://good.example:{server.port}/", "another host": "http://x.example/"}
        return redirect(way if way == "/a" else schemes.get(way, f"http://good.example:{elsewhere.port}/"))

    async with serving(reply) as server, serving(other) as elsewhere:
        origin = f"http://good.example:{server.port}"
        own = OriginHeaders(origin, {"Authorization": "Bearer k3ks"})
        try:
            fetched = await fetcher(good_example=HERE, x_example=HERE).fetch(f"{origin.replace('good', 'GOOD')}/", own)
        except FetchFailed:  # there is no TLS, and nothing listens at port 80
            fetched = None
        heard = [TOKEN in head.lower() for head in server.heard if head.startswith(b"GET ")]
        assert (fetched is None) == way.startswith("another")
    assert heard == {"/a": [True, True], "there and back": [True, False]}.get(way, [True])
    assert len(elsewhere.heard) == ("there" in way)
    assert not any(b"k3ks" in head for head in elsewhere.heard)


@pytest.mark.parametrize(
    "origin", ["http://good.example", "https://good.example:{port}", "http://other.example:{port}", ""]
)
async def test_headers_for_another_origin_are_not_sent(origin: str) -> None:
    async with serving(lambda _: page(b"ok")) as server:
        own = OriginHeaders(origin.format(port=server.port), {"Authorization": "Bearer k3ks"})
        await fetcher(good_example="127.0.0.1").fetch(f"http://good.example:{server.port}/", own)
    assert len(server.heard) == 1
    assert b"k3ks" not in server.heard[0]


async def test_redirects_without_end_are_an_error() -> None:
    async with serving(lambda _: redirect("/again")) as server:
        with pytest.raises(FetchFailed, match="more than 3 redirects"):
            await fetcher(limits=FetchLimits(redirects=3)).fetch(f"http://127.0.0.1:{server.port}/")
    assert len(server.heard) == 4


@pytest.mark.parametrize(
    "reply",
    [
        page(b"x" * 5000),
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 5000,
        page(gzip.compress(b"x" * 5000), "Content-Encoding: gzip"),
    ],
    ids=["announced", "unannounced", "compressed"],
)
async def test_a_body_over_the_limit_is_refused(reply: bytes) -> None:
    async with serving(lambda _: reply) as server:
        with pytest.raises(FetchTooLarge):
            await fetcher(limits=FetchLimits(body=4999)).fetch(f"http://127.0.0.1:{server.port}/")
        assert (
            len((await fetcher(limits=FetchLimits(body=5000)).fetch(f"http://127.0.0.1:{server.port}/")).body) == 5000
        )


async def test_a_body_that_is_cut_off_is_an_error_and_not_a_page() -> None:
    async with serving(lambda _: page(b"x" * 100)[:-1]) as server:
        with pytest.raises(FetchFailed):
            await fetcher().fetch(f"http://127.0.0.1:{server.port}/")


@pytest.mark.parametrize("limits", [FetchLimits(silence=0.05), FetchLimits(total=0.05)], ids=["silence", "total"])
async def test_a_silent_server_ends_in_an_error(limits: FetchLimits) -> None:
    over = asyncio.Event()

    async def never(head: bytes) -> bytes:
        await over.wait()
        return head

    async with serving(never) as server:
        with pytest.raises(FetchFailed):
            await fetcher(limits=limits).fetch(f"http://127.0.0.1:{server.port}/")
        over.set()


@pytest.mark.parametrize("url", ["http://[::1", "http://exa mple.com:99999999/", "http://x:port/"])
async def test_what_is_not_a_url_is_bad_input(url: str) -> None:
    with pytest.raises((BadInput, PolicyDenied)):
        await fetcher().fetch(url)


async def test_an_unknown_name_says_so() -> None:
    async def nobody(host: str, port: int) -> Sequence[str]:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(FetchFailed, match=r"nowhere\.example cannot be resolved"):
        await Fetcher(judge_url, judge_address, resolve=nobody).fetch("http://nowhere.example/")


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for good.example, and its key."""
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=good.example"
    names = ["-addext", "subjectAltName=DNS:good.example", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return certificate, key


@pytest.mark.real("openssl")
async def test_tls_is_spoken_with_the_name_and_checked_against_it(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)
    tls.sni_callback = lambda _, name, __: names.append(str(name))
    monkeypatch.setattr(httpx2, "create_ssl_context", lambda: ssl.create_default_context(cafile=certificate[0]))
    async with serving(lambda _: page(b"ok"), tls=tls) as server:
        fetch = fetcher(good_example="127.0.0.1", other_example="127.0.0.1").fetch
        assert (await fetch(f"https://good.example:{server.port}/")).body == b"ok"
        with pytest.raises(FetchFailed, match="certificate"):
            await fetch(f"https://other.example:{server.port}/")
    assert names == ["good.example", "other.example"]


async def test_authorities_that_could_not_be_read_once_are_read_by_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, fetcher = httpx2.create_ssl_context, Fetcher(judge_url, judge_address)
    monkeypatch.setattr(httpx2, "create_ssl_context", partial(_raises, OSError(24, "Too many open files")))
    with pytest.raises(OSError, match="Too many open files"):
        await fetcher.tls()
    monkeypatch.setattr(httpx2, "create_ssl_context", read)
    assert (await fetcher.tls()).get_ca_certs()


def _raises(error: OSError) -> NoReturn:
    raise error
