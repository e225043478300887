"""What a message in a chat takes: to the model's wire, from the answer to the network, and in numbers."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender
from angelia.channels.settings import ChannelSettings
from angelia.core.crash import on_crash_point
from angelia.core.entry import Address
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.settings.config import load
from angelia.testing.channels.recording_channel import ChannelTrouble, FarEnd, RecordingChannel
from bench.idle import resident
from bench.rows import Row, Target, row
from bench.runs import ROOT, Benchmark, python, run
from bench.startup import model_environment

_WARM = 20
_BURST = 1000
"""Messages at once, over a hundred chats."""


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """A process that holds many chats over a network in memory, and a model that answers at once."""
    folder = bench.place("chats")
    argv = python("-m", "bench.chats", str(folder), url, str(bench.rounds), str(bench.sessions * 5))
    found = json.loads(run(argv, env=model_environment(url, folder), cwd=ROOT).stdout)
    yield row("chat: message to model request, durable", "ms", found["heard"], 0.025)
    yield row("chat: whole reply to the send call, durable", "ms", found["sent"], 0.010)
    yield Row("chat: messages taken in, each durable first", "/s", (found["rate"],), target=Target(least=100))
    yield row(f"chat: a process with {found['chats']} idle chats", "MB", found["resident"], 200_000_000)


class _Times:
    """When the last crash point of each name was passed, and when the network was last called."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}

    def __call__(self, name: str) -> None:
        self.at[name] = time.perf_counter()

    def call(self, method: str) -> ChannelTrouble:
        """A call of the network's."""
        self(f"channel.{method}")
        return ChannelTrouble.NONE


async def _measure(folder: Path, url: str, messages: int, chats: int) -> dict[str, object]:
    env = model_environment(url, folder)
    times = _Times()
    far = FarEnd(times.call)
    app = await App.open(load(folder / "angelia", env, (), {"model": "openai-chat:scripted"}), env)
    gateway, channel = Gateway(app.chat_services), RecordingChannel(far)
    gateway.begin([OpenChannel(channel, ChannelSettings(owners=("1",), stream=False))])
    heard, sent = await _one_by_one(channel, far, times, messages)
    rate = await _burst(channel, far)
    for number in range(chats):
        await say(channel, f"idle-{number}", "m")
    await far.when(lambda far: len({one.address.chat for one in far.messages.values()}) >= chats + 101)
    found = {"heard": heard, "sent": sent, "rate": rate, "chats": chats, "resident": resident()}
    await gateway.close()
    await app.close()
    return found


async def _one_by_one(
    channel: RecordingChannel, far: FarEnd, times: _Times, messages: int
) -> tuple[list[float], list[float]]:
    heard, sent = [], []
    on_crash_point(times)
    for number in range(messages + _WARM):
        began, before = time.perf_counter(), len(far.messages)
        await say(channel, "one", str(number))
        await far.when(lambda far, before=before: len(far.messages) > before)  # type: ignore[misc]  # bound now
        if number >= _WARM:
            heard.append(times.at["model.asked"] - began)
            sent.append(times.at["channel.send"] - times.at["model.replied"])
    on_crash_point(None)
    return heard, sent


async def _burst(channel: RecordingChannel, far: FarEnd) -> float:
    """Messages that are acknowledged in a second, while their turns are worked on."""
    began = time.perf_counter()
    await asyncio.gather(*(say(channel, f"burst-{number % 100}", str(number)) for number in range(_BURST)))
    return _BURST / (time.perf_counter() - began)


async def say(channel: RecordingChannel, chat: str, key: str) -> None:
    """Somebody writes in a chat, a message with a key of its own."""
    await channel.bring(
        Envelope(Address("chat", chat), f"{chat}.{key}", IncomingSender("1", "Ann"), IncomingMessage(f"message {key}"))
    )


if __name__ == "__main__":
    place, address, count, many = sys.argv[1:]
    measured = asyncio.run(_measure(Path(place), address, int(count), int(many)))
    sys.stdout.write(json.dumps(measured))
    sys.stdout.flush()
    os._exit(0)
