"""What a turn and idle chats cost where the log lies in PostgreSQL."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from angelia.channels.settings import ChannelSettings
from angelia.core.content import Text
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from angelia.testing.channels.recording_channel import ChannelTrouble, FarEnd, RecordingChannel
from bench.chats import say
from bench.idle import resident
from bench.rows import Row, Yardstick, row
from bench.runs import ROOT, Benchmark, python, run
from bench.startup import model_environment

_WARM = 20
_CHATS = 10_000
_AT_ONCE = 50
"""Chats that are written to side by side, so that the server's commits are shared."""


def rows(bench: Benchmark, url: str, addresses: tuple[str, str]) -> Iterator[Row]:
    """A process that has a conversation on each store, turn by turn; `addresses` are of two empty ones in PostgreSQL.
    With `--full` another one with chats that rest.
    """
    folder = bench.place("turns")
    argv = python("-m", "bench.turns_on_postgres", "turns", str(folder), url, addresses[0], str(bench.rounds))
    found = json.loads(run(argv, env=model_environment(url, folder), cwd=ROOT).stdout)
    above = [there - here for here, there in zip(found["here"], found["there"], strict=True)]
    usual = Yardstick("a turn on SQLite", sorted(found["here"])[len(above) // 2])
    yield row("a turn on PostgreSQL, above SQLite's", "ms", above, 0.010, yardstick=usual)
    if not bench.full:
        yield Row(f"a process with {_CHATS:,} idle chats, their log in PostgreSQL", "MB", note="with --full")
        return
    folder = bench.place("idle chats")
    argv = python("-m", "bench.turns_on_postgres", "chats", str(folder), url, addresses[1], str(_CHATS))
    found = json.loads(run(argv, env=model_environment(url, folder), cwd=ROOT).stdout)
    yield row(f"a process with {_CHATS:,} idle chats, their log in PostgreSQL", "MB", found["resident"], 300_000_000)


async def _turns(folder: Path, url: str, address: str, count: int) -> dict[str, list[float]]:
    """Seconds of so many turns on each store, one here, one there."""
    took: dict[str, list[float]] = {"here": [], "there": []}
    stores = {"here": "", "there": address}
    apps = {name: await _opened(folder / name, url, store) for name, store in stores.items()}
    sessions = {}
    for name, app in apps.items():
        workspace = folder / name / "workspace"
        workspace.mkdir()
        sessions[name] = app.conversations.begin(door="terminal", workspace=workspace)
        await app.conversations.employ(sessions[name], "openai-chat:scripted", approvers=nobody)
    for number in range(count + _WARM):
        for name, session in sessions.items():
            began = time.perf_counter()
            await session.say([Text(f"Good morning, for the {number}. time.")], address=TERMINAL)
            await session.settled()
            if number >= _WARM:
                took[name].append(time.perf_counter() - began)
    for app in apps.values():
        await app.close()
    return took


async def _chats(folder: Path, url: str, address: str, count: int) -> dict[str, int]:
    """Bytes of this process once each of so many chats has had its answer."""
    far = FarEnd(lambda _: ChannelTrouble.NONE)
    app = await _opened(folder / "there", url, address)
    gateway, channel = Gateway(app.chat_services), RecordingChannel(far)
    gateway.begin([OpenChannel(channel, ChannelSettings(owners=("1",), stream=False))])
    for begin in range(0, count, _AT_ONCE):
        some = range(begin, min(begin + _AT_ONCE, count))
        await asyncio.gather(*(say(channel, f"idle-{number}", "m") for number in some))
        await far.when(lambda far, upto=some.stop: len(far.messages) >= upto)  # type: ignore[misc]  # bound now
    found = {"resident": resident()}
    await gateway.close()
    await app.close()
    return found


async def _opened(folder: Path, url: str, store: str) -> App:
    folder.mkdir()
    env = {**model_environment(url, folder), **({"ANGELIA_STORE": store} if store else {})}
    return await App.open(load(folder / "angelia", env, (), {"model": "openai-chat:scripted"}), env)


if __name__ == "__main__":
    what, place, wires, log, many = sys.argv[1:]
    measured = asyncio.run((_turns if what == "turns" else _chats)(Path(place), wires, log, int(many)))
    sys.stdout.write(json.dumps(measured))
    sys.stdout.flush()
    os._exit(0)
