"""What the API adds to a turn, and what pages cost that only listen."""

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from angelia.client.client import ApiClient
from angelia.core.content import Text
from angelia.faces.web.api_keys import ApiKeys, KeyScope
from angelia.faces.web.conversations.beats import BEAT_S
from angelia.faces.web.door import WebDoor
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from bench.idle import resident
from bench.rows import Row, Yardstick, row
from bench.runs import ROOT, Benchmark, python
from bench.startup import model_environment
from bench.tap import Tap

STREAMS = 1_000
IDLE_S = 20.0
"""Two beats of each stream are within it."""
_TOGETHER = 20
"""Streams that are opened at once: of connections that have asked for nothing yet only so many are kept."""


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """`url` is the instant model server's."""
    with Tap(url) as tap:
        ours, through = asyncio.run(_requests(bench.place("api"), tap, bench.rounds // 4))
    bare = Yardstick("a turn without it", statistics.median(ours))
    above = [one - bare.value for one in through]
    yield row("API: from a request to the model's wire, above a turn without it", "ms", above, 0.01, yardstick=bare)
    streams = min(STREAMS, bench.sessions * 5)
    grown, share, timers = _idle_streams(bench.place("idle streams"), url, streams)
    title = f"API: {streams:,} streams of events that are idle"
    yield row(title, "MB", grown, 100e6)
    yardstick = Yardstick("as many bare timers that write a beat", timers)
    yield row(f"{title}, processor time more than without", "%", share, 0.02, yardstick=yardstick)


async def _requests(folder: Path, tap: Tap, count: int) -> tuple[list[float], list[float]]:
    """Seconds until the model was asked, by turns of a conversation in this process, and of one by the API."""
    app = await _opened(folder, tap.url)
    (work := folder / "work").mkdir()
    key = await ApiKeys(app.key_value, app.clock).add("bench", KeyScope.CHAT)
    session = app.conversations.begin(door="terminal", workspace=work)
    await app.conversations.employ(session, "openai-chat:scripted", approvers=nobody)

    async def here(number: int) -> None:
        await session.say([Text(f"Question {number}?")], address=TERMINAL)
        await session.settled()

    door, serving = await _serving(app)
    messages: list[dict[str, str]] = []
    async with httpx2.AsyncClient(timeout=60, verify=False) as client:

        async def asked(number: int) -> None:
            messages.append({"role": "user", "content": f"Question {number}?"})
            came = await client.post(
                f"{door.address}/v1/chat/completions",
                json={"model": "angelia", "messages": messages},
                headers={"authorization": f"Bearer {key}"},
            )
            messages.append(came.raise_for_status().json()["choices"][0]["message"])

        ours, through = [], []
        for number in range(count):
            ours.append(await _until_asked(tap, here, number))
            through.append(await _until_asked(tap, asked, number))
    await _end(app, serving)
    return ours[1:], through[1:]  # the first ones open connections and a sandbox


async def _until_asked(tap: Tap, turn: Callable[[int], Awaitable[None]], number: int) -> float:
    before, began = len(tap.arrived), time.perf_counter()
    await turn(number)
    return tap.arrived[before] - began


def _idle_streams(folder: Path, url: str, count: int) -> tuple[float, float, float]:
    """Bytes by which a process grows with them, the share of a processor that it takes more than without, and the one
    that as many bare timers take, each of which writes a beat as often.
    """
    argv, env = python("-m", "bench.api", str(folder), url, str(count)), model_environment(url, folder)
    with subprocess.Popen(argv, env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        try:
            told = json.loads(server.stdout.readline())
            return asyncio.run(_listened(told, count, server.stdin.write, server.stdin.flush, server.stdout.readline))
        finally:
            server.kill()


async def _listened(
    told: dict[str, str], count: int, write: Callable[[str], int], flush: Callable[[], None], line: Callable[[], str]
) -> tuple[float, float, float]:
    async with ApiClient(told["address"]) as client:
        await client.log_in(told["link"])
        where, cookie = urlsplit(told["address"]), client.login
    arriving = asyncio.Semaphore(_TOGETHER)
    head = f"GET /api/conversations/{told['conversation']}/events HTTP/1.1\r\nhost: {where.netloc}\r\ncookie: {cookie}"

    async def listen() -> asyncio.StreamWriter:
        async with arriving:
            reader, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.write(f"{head}\r\n\r\n".encode())
            status = await reader.readline()
            assert b" 200 " in status, status
            await reader.readuntil(b"event: ")  # it is told something, so it is followed
            return writer

    async with AsyncExitStack() as stack:
        for writer in await asyncio.gather(*(listen() for _ in range(count))):
            stack.callback(writer.close)
        write("measure\n")
        flush()
        found = json.loads(await asyncio.to_thread(line))
    return found["grown"], found["share"], found["timers"]


async def _serve(folder: Path, url: str, count: int) -> None:
    """A home whose page is listened to; told to, it says what that takes."""
    app = await _opened(folder, url)
    (work := folder / "work").mkdir()
    session = app.conversations.begin(door="terminal", workspace=work)
    await session.say([Text("Good morning.")], address=TERMINAL)
    door, _ = await _serving(app)
    before, alone, timers = resident(), await _share(), await _bare_timers(count)
    _tell({"address": door.address, "link": await door.link(), "conversation": session.conversation})
    await asyncio.to_thread(sys.stdin.readline)
    _tell({"grown": resident() - before, "share": await _share() - alone, "timers": timers - alone})
    await asyncio.to_thread(sys.stdin.readline)


async def _share() -> float:
    """The share of a processor that this process takes while nothing happens in it."""
    cpu = time.process_time()
    await asyncio.sleep(IDLE_S)
    return (time.process_time() - cpu) / IDLE_S


async def _bare_timers(count: int) -> float:
    """The share that this process takes with so many, each of which writes as much as often as a stream does."""
    ours, theirs = socket.socketpair()

    async def beat(first: float) -> None:
        await asyncio.sleep(first)
        while True:
            ours.send(b"event: beat\ndata: {}\n\n")
            theirs.recv(100)
            await asyncio.sleep(BEAT_S)

    with ours, theirs:
        beating = [asyncio.create_task(beat(BEAT_S * number / count)) for number in range(count)]
        share = await _share()
        for one in beating:
            one.cancel()
        await asyncio.gather(*beating, return_exceptions=True)
    return share


async def _opened(folder: Path, url: str) -> App:
    env = model_environment(url, folder)
    return await App.open(load(folder / "angelia", env, flags={"model": "openai-chat:scripted"}), env)


async def _serving(app: App) -> tuple[WebDoor, asyncio.Task[None]]:
    door, ready = WebDoor(app), asyncio.Event()
    serving = asyncio.create_task(door.run("127.0.0.1:0", ready.set))
    await ready.wait()
    return door, serving


async def _end(app: App, serving: asyncio.Task[None]) -> None:
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    await app.close()


def _tell(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
