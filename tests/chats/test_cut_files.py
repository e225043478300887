"""Large files that come in and go out over a fake Telegram, on a line that is cut in the middle of them."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.service.chats.messages import AGAIN
from angelia.store.media.durable import UNFINISHED
from angelia.testing.channels.network import Sample, Thing
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from tests.chats.gateway_lives import Story, seen
from tests.nursery import Nursery

pytestmark = pytest.mark.anyio

LARGE = os.urandom(1 << 20) * 15
HALF = len(LARGE) // 2
ENDED = "That is all."


class CutLine:
    """A way to a server, on which the first `times` requests that begin with `at` are cut: half of the bytes behind
    them come through, of the answer, or (`asked`) of the request itself. They end as by a `reset`, or in good order.
    """

    def __init__(self, port: int, at: bytes, times: int, *, asked: bool = False, reset: bool = True) -> None:
        self._port, self._at, self.left = port, at, times
        self._asked, self._reset = asked, reset

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """Its address."""
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to = await asyncio.open_connection("127.0.0.1", self._port)
        most = {"asked": -1, "answered": -1}

        async def one_way(way: str, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(1 << 16):
                if way == "asked" and data.startswith(self._at) and self.left:
                    self.left -= 1
                    most["asked" if self._asked else "answered"] = HALF
                target.write(data)
                await target.drain()
                if most[way] >= 0:
                    most[way] -= len(data)
                    if most[way] < 0:
                        return

        ways = [
            asyncio.create_task(one_way("asked", reader, to)),
            asyncio.create_task(one_way("answered", there, writer)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (writer, to):
            end.transport.abort() if self._reset else end.close()


def sends_it(request: ReceivedRequest) -> Step:
    """Makes a large file, sends it, and says so."""
    names = [one.name for message in request.heard.messages for one in message.calls]
    if not names:
        return call("shell", {"command": f"cp {request.heard.last_words} large.bin"})
    return call("send_file", {"path": "large.bin"}) if names[-1] == "shell" else say(ENDED)


class Large(Story):
    """Somebody on such a line."""

    def on(self, address: str) -> None:
        """Speak to the network by this address."""
        config = self.home / "config.toml"
        config.write_text(config.read_text().replace(self.network.url, address))

    @property
    def over(self) -> bool:
        """Whether the answer is there."""
        return any(text.endswith(ENDED) for text in seen(self.network.arrived).texts)

    @property
    def stored(self) -> set[str]:
        """The names of what lies in the store."""
        return {path.name for path in (self.home / "blobs").iterdir()}


def port_of(network: TelegramServer) -> int:
    return int(network.url.rpartition(":")[2])


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "ended"])
@pytest.mark.parametrize("times", [2, 100])
async def test_a_large_file_that_is_cut_comes_whole_or_its_sender_is_told(
    tmp_path: Path, times: int, reset: bool
) -> None:
    async with ModelServer([say(ENDED)]) as model, TelegramServer() as network, Nursery() as nursery:
        story = Large(tmp_path, model, network)
        line = CutLine(port_of(network), b"GET /file/", times, reset=reset)
        async with line.open() as address:
            story.on(address)
            file = Sample(Kind.DOCUMENT, "large.bin", "application/octet-stream", LARGE)
            await network.bring(Thing(IncomingKind.DOCUMENT, story.where, "Look at this.", (file,)))
            life = await story.live(nursery)
    assert life.status == 0, life.stderr
    texts = seen(network.arrived).texts
    told = [text for text in texts if "I did not get" in text]
    heard = model.requests[-1].heard.last_words
    assert line.left == (0 if times == 2 else times - 3)
    assert bool(told) is ("a file that did not arrive" in heard) is (times > 2), texts
    assert (sha256(LARGE).hexdigest() in story.stored) is (times == 2)
    assert not [name for name in story.stored if name.startswith(UNFINISHED)]


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "ended"])
async def test_a_large_file_that_is_cut_on_its_way_out_arrives_marked(tmp_path: Path, reset: bool) -> None:
    async with ModelServer(sends_it) as model, TelegramServer() as network, Nursery() as nursery:
        story = Large(tmp_path / "story", model, network)
        (tmp_path / "large.bin").write_bytes(LARGE)
        line = CutLine(port_of(network), f"POST /bot{TOKEN}/sendDocument ".encode(), 1, asked=True, reset=reset)
        async with line.open() as address:
            story.on(address)
            await network.bring(Thing(IncomingKind.TEXT, story.where, str(tmp_path / "large.bin")))
            life = await story.live(nursery)
    assert life.status == 0, life.stderr
    [arrived] = seen(network.arrived).files
    assert (arrived.data, AGAIN in arrived.text, line.left) == (LARGE, True, 0)
