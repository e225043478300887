"""A request over HTTP is tried once, and its failure says whether anything can have been done."""

from collections.abc import Callable

import httpx2
import pytest

from angelia.channels.exchange import CONNECT, SENDING, ChannelRequest, Exchanges
from angelia.channels.failures import ChannelError, NotSent, Unsure

pytestmark = pytest.mark.anyio

Answer = Callable[[httpx2.Request], httpx2.Response]


class Far:
    """What is asked for, by which client, and an answer of one's own."""

    def __init__(self, answer: Answer = lambda request: httpx2.Response(200, content=b"yes")) -> None:
        self.asked: list[httpx2.Request] = []
        self.opened: list[str] = []
        self._answer = answer

    async def open(self, base: str) -> httpx2.AsyncClient:
        self.opened.append(base)
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._take))

    def _take(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        return self._answer(request)


async def ask(exchanges: Exchanges, request: ChannelRequest) -> bytes:
    async with exchanges.exchange(request) as response:
        return await response.aread()


async def test_a_short_wait_for_an_answer_does_not_cut_what_goes_out() -> None:
    far = Far()
    exchanges = Exchanges("Somewhere", 0.05, far.open)
    assert await ask(exchanges, ChannelRequest("POST", "https://example.com/a", b"words")) == b"yes"
    await ask(exchanges, ChannelRequest("POST", "https://example.com/a", b"words", wait=90.0))
    await exchanges.close()
    timeouts = [request.extensions["timeout"] for request in far.asked]
    assert timeouts[0] == {"connect": CONNECT, "read": 0.05, "write": SENDING, "pool": None}
    assert timeouts[1] == {"connect": CONNECT, "read": 90.0, "write": 90.0, "pool": None}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.ConnectError("refused"), NotSent),
        (httpx2.ConnectTimeout("nobody"), NotSent),
        (httpx2.ProxyError("403"), NotSent),
        (httpx2.WriteError("broken pipe"), Unsure),
        (httpx2.ReadTimeout("silence"), Unsure),
        (httpx2.RemoteProtocolError("nonsense"), Unsure),
    ],
)
async def test_only_without_a_connection_certainly_nothing_was_done(error: Exception, kind: type[ChannelError]) -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise error

    far = Far(fail)
    exchanges = Exchanges("Somewhere", 1.0, far.open)
    with pytest.raises(kind, match="Somewhere") as failed:
        await ask(exchanges, ChannelRequest("GET", "https://example.com/a"))
    await exchanges.close()
    assert type(failed.value) is kind
    assert len(far.asked) == 1


async def test_hosts_have_connections_of_their_own_until_they_are_closed() -> None:
    far = Far()
    exchanges = Exchanges("Somewhere", 1.0, far.open)
    for url in ("https://example.com/a", "https://example.com/b", "http://example.org:81/c"):
        await ask(exchanges, ChannelRequest("GET", url))
    await exchanges.close()
    await exchanges.close()
    await ask(exchanges, ChannelRequest("GET", "https://example.com/a", target=b"/secret"))
    await exchanges.close()
    assert far.opened == ["https://example.com", "http://example.org:81", "https://example.com"]
    assert far.asked[-1].extensions["target"] == b"/secret"
    assert str(far.asked[-1].url) == "https://example.com/a"
