"""Many chats whose answers grow at once: how far behind what is shown falls, and what it costs."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender
from angelia.channels.outgoing import Outgoing, OutText
from angelia.channels.settings import ChannelSettings
from angelia.core.entry import Address
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.settings.config import load
from angelia.testing.channels.recording_channel import FarEnd, RecordingChannel
from angelia.testing.model.http1 import read_request
from bench.rows import Row, row
from bench.runs import ROOT, Benchmark, python, run
from bench.startup import model_environment

CHATS = 500
RATE = 20
"""Pieces of an answer a second, in each chat."""
SECONDS = 10
"""How long an answer grows."""
_STAMP = re.compile(r"said at (\d+)")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def rows(bench: Benchmark) -> Iterator[Row]:
    """A process that holds the chats over a network in memory, and a model in another."""
    folder = bench.place("streams")
    with _model() as url:
        argv = python("-m", "bench.streams", str(folder), str(min(CHATS, bench.rounds * 5)))
        found = json.loads(run(argv, env=model_environment(url, folder), cwd=ROOT).stdout)
    name = f"chats: {found['chats']} answers at {RATE} pieces/s"
    yield row(f"{name}, last piece to the last edit", "s", found["behind"], 2.0)
    yield row(f"{name}, processor time for each second of it", "%", found["share"], 1.0)


class _Watching(RecordingChannel):
    """Notes when an answer that tells when it was said is shown: seconds since then, by chat."""

    behind: dict[str, float]

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """One message."""
        self._look(to, outgoing)
        return await super().send(to, outgoing, key)

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """Other words."""
        self._look(to, text)
        await super().edit(to, message, text)

    def _look(self, to: Address, outgoing: Outgoing) -> None:
        words = outgoing.plain if isinstance(outgoing, OutText) else ""
        if (stamp := _STAMP.search(words)) and not words.endswith("…"):
            self.behind.setdefault(to.chat, (time.monotonic_ns() - int(stamp[1])) / 1e9)


async def _measure(folder: Path, chats: int) -> dict[str, object]:
    env = dict(os.environ)
    app = await App.open(load(folder / "angelia", env, (), {"model": "openai-chat:scripted"}), env)
    far = FarEnd()
    gateway, channel = Gateway(app.chat_services), _Watching(far)
    channel.behind = {}
    gateway.begin([OpenChannel(channel, ChannelSettings(owners=("1",)))])
    who, said = IncomingSender("1", "Ann"), IncomingMessage("go on")
    await asyncio.gather(*(channel.bring(Envelope(Address("chat", f"s{n}"), f"s{n}", who, said)) for n in range(chats)))
    cpu = time.process_time()
    await far.when(lambda _: len(channel.behind) == chats)
    share = (time.process_time() - cpu) / SECONDS
    await gateway.close()
    await app.close()
    return {"behind": sorted(channel.behind.values()), "share": share, "chats": chats}


# -- the model: all answers in one beat, so that it costs as little as it can ---------------------------------------


@contextmanager
def _model() -> Iterator[str]:
    pipe = subprocess.PIPE
    argv = python("-m", "bench.streams", "model")
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.kill()


def _piece(text: str, finish: str = "null") -> bytes:
    delta = {"role": "assistant", "content": text}
    choice = f'{{"index":0,"delta":{json.dumps(delta)},"finish_reason":{finish}}}'
    event = f'data: {{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{choice}]}}\n\n'.encode()
    return f"{len(event):x}\r\n".encode() + event + b"\r\n"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    some = _piece("word ")
    while await read_request(reader) is not None:
        writer.write(_HEAD)
        began = time.monotonic()
        for number in range(RATE * SECONDS):
            writer.write(some)
            await asyncio.sleep(began + (number + 1) / RATE - time.monotonic())
        writer.write(_piece(f"said at {time.monotonic_ns()}"))
        writer.write(_piece("", '"stop"') + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "model":
        asyncio.run(_serve())
    sys.stdout.write(json.dumps(asyncio.run(_measure(Path(sys.argv[1]), int(sys.argv[2])))))
    sys.stdout.flush()
    os._exit(0)
