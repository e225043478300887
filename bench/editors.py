"""Rows about the door for editors: from its start to the answer, and many sessions at once in one process."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from angelia.testing.model.server_process import model_server_process
from bench.rows import Row, row
from bench.runs import Benchmark, angelia
from bench.startup import model_environment
from bench.yardsticks import Yardsticks

SESSIONS = 50
"""Sessions that prompt at once; the model takes a second for each."""

_WARM = 5


class Client:
    """One process of ours behind its lines; answers are told apart by their numbers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._count = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, home: Path, url: str) -> "Client":
        """Spawn it; nothing is asked yet."""
        pipe = asyncio.subprocess.PIPE
        argv = angelia("acp", "--model", "openai-chat:scripted")
        process = await asyncio.create_subprocess_exec(
            *argv, env=model_environment(url, home), stdin=pipe, stdout=pipe, limit=10_000_000
        )
        return cls(process)

    async def _read(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if "method" not in message:
                self._waiting.pop(message["id"]).set_result(message)

    def ask(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        """A request, begun."""
        assert self.process.stdin
        self._count += 1
        future = self._waiting[self._count] = asyncio.get_running_loop().create_future()
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return future

    async def new(self, workspace: Path) -> str:
        """A session."""
        answer = await self.ask("session/new", cwd=str(workspace), mcpServers=[])
        return str(answer["result"]["sessionId"])

    def prompt(self, session: str) -> "asyncio.Future[Any]":
        """A prompt, begun."""
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Good morning."}])

    def memory(self) -> int:
        """The most bytes that it has had resident."""
        if sys.platform != "linux":
            return 0
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    async def leave(self) -> None:
        """Close its stdin, and wait for its end."""
        assert self.process.stdin
        self.process.stdin.close()
        await self.process.wait()
        await self._reading


def rows(bench: Benchmark, bare: Yardsticks, url: str) -> Iterator[Row]:
    """`url` is the instant model server's."""
    for name in ("start_wall", "request"):
        bare.take(name)
    starts, firsts, news, prompts = asyncio.run(_one_by_one(bench, url))
    for name in ("start_wall", "request"):
        bare.take(name)
    wall = bare.of("start_wall")
    yield row("acp: spawn to initialize answered", "s", starts, 0.35, yardstick=wall)
    yield row("acp: session/new, the first", "ms", firsts, 0.030)
    yield row("    a further one", "ms", news, 0.030)
    yield row("acp: a prompt, instant model", "ms", prompts, 0.010, yardstick=bare.of("request"))
    slowest = sorted(prompts)[int(len(prompts) * 0.95)]
    yield row("    95th percentile", "ms", slowest, 0.025)
    with model_server_process("--instant", "--first-delay", "1") as slow:
        took, memory = asyncio.run(_at_once(bench, slow))
    yield row(f"acp: {SESSIONS} sessions at once, model takes 1 s", "s", took, 1.5)
    yield row("    peak memory", "MB", memory, 150_000_000)


async def _one_by_one(bench: Benchmark, url: str) -> tuple[list[float], list[float], list[float], list[float]]:
    """Seconds of starts, of the first new session of each, of further ones, and of prompts in one session."""
    home = bench.place("acp")
    workspace = home / "workspace"
    workspace.mkdir()
    starts: list[float] = []
    firsts: list[float] = []
    for _ in range(bench.times + 1):
        began = time.perf_counter()
        client = await Client.start(home, url)
        await client.ask("initialize", protocolVersion=1)
        starts.append(time.perf_counter() - began)
        firsts.append(await _timed(client.new(workspace)))
        await client.leave()
    client = await Client.start(home, url)
    await client.ask("initialize", protocolVersion=1)
    news = [await _timed(client.new(workspace)) for _ in range(bench.times + 1)]
    session = await client.new(workspace)
    prompts = [await _timed(client.prompt(session)) for _ in range(bench.rounds + _WARM)]
    await client.leave()
    return starts[1:], firsts[1:], news[1:], prompts[_WARM:]


async def _at_once(bench: Benchmark, url: str) -> tuple[list[float], list[int]]:
    """Seconds until the last of many sessions is answered, and the process's most bytes."""
    home = bench.place("acp at once")
    workspace = home / "workspace"
    workspace.mkdir()
    client = await Client.start(home, url)
    await client.ask("initialize", protocolVersion=1)
    sessions = [await client.new(workspace) for _ in range(SESSIONS)]
    took = [await _timed(asyncio.gather(*map(client.prompt, sessions))) for _ in range(3)]
    memory = client.memory()
    await client.leave()
    return took, [memory] if memory else []


async def _timed(work: Any) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began
