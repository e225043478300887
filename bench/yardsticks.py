"""The bare things that ours are compared with: an interpreter, a commit, a spawned command, a request."""

import asyncio
import shutil
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from bench.rows import Row, Yardstick, row
from bench.runs import Benchmark, python, run

_BUBBLEWRAP = ("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
_BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'


class Yardsticks(Struct, frozen=True):
    """Medians, in seconds; 0 where this machine has no such thing. `start_cpu` is the interpreter's CPU."""

    start_cpu: float
    start_wall: float
    commit: float
    spawn: float
    bubblewrap: float
    request: float

    def of(self, name: str) -> Yardstick:
        """One of them, with its name."""
        return Yardstick(NAMES[name], getattr(self, name))


NAMES = {
    "start_cpu": "python -c pass",
    "start_wall": "python -c pass",
    "commit": "commit",
    "spawn": "spawn true",
    "bubblewrap": "bwrap true",
    "request": "httpx2",
}


def measure(bench: Benchmark, url: str) -> tuple[Yardsticks, list[Row]]:
    """All of them; `url` is the instant model server's."""
    starts = [run(python("-c", "pass")) for _ in range(bench.times)]
    taken: dict[str, Sequence[float]] = {
        "start_cpu": [one.cpu for one in starts],
        "start_wall": [one.wall for one in starts],
        "commit": commits(bench.folder / "yardstick.db", 200),
        "spawn": spawns(("true",), 30),
        "bubblewrap": spawns((*_BUBBLEWRAP, "true"), 15) if shutil.which("bwrap") else (),
        "request": asyncio.run(requests(url, [_BODY] * 30)),
    }
    rows = [
        row("bare interpreter, CPU", "s", taken["start_cpu"]),
        row("bare interpreter, wall", "s", taken["start_wall"]),
        row("bare durable commit (WAL, synchronous=FULL)", "ms", taken["commit"]),
        row("bare spawn of true", "ms", taken["spawn"]),
        row("bare bwrap true", "ms", taken["bubblewrap"], note="" if taken["bubblewrap"] else "no bwrap that works"),
        row("bare httpx2 request to the scripted server", "ms", taken["request"]),
    ]
    medians = {name: statistics.median(values) if values else 0.0 for name, values in taken.items()}
    return Yardsticks(**medians), rows


def commits(path: Path, count: int) -> list[float]:
    """Seconds of each of `count` durable commits of one small row."""
    with_log = sqlite3.connect(path, isolation_level=None)
    with_log.execute("PRAGMA journal_mode = WAL")
    with_log.execute("PRAGMA synchronous = FULL")
    with_log.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, body BLOB)")

    def commit() -> None:
        with_log.execute("BEGIN IMMEDIATE")
        with_log.execute("INSERT INTO log (body) VALUES (?)", (b"x" * 200,))
        with_log.execute("COMMIT")

    took = [timed(commit) for _ in range(count)]
    with_log.close()
    return took


def spawns(argv: Sequence[str], count: int) -> list[float]:
    """Seconds of each run of a command that does nothing; none if it cannot run here."""
    if subprocess.run(argv, capture_output=True, check=False).returncode:
        return []
    return [timed(lambda: subprocess.run(argv, check=True)) for _ in range(count)]


async def requests(url: str, bodies: Sequence[bytes]) -> list[float]:
    """Seconds of each of these Chat Completions requests on one connection, read to the end."""
    import httpx2

    took = []
    async with httpx2.AsyncClient(trust_env=False) as client:
        for body in (bodies[0], *bodies):
            start = time.perf_counter()
            headers = {"content-type": "application/json", "authorization": "Bearer k"}
            async with client.stream("POST", f"{url}/v1/chat/completions", content=body, headers=headers) as response:
                await response.aread()
            took.append(time.perf_counter() - start)
    return took[1:]


def timed(act: Callable[[], object]) -> float:
    """Seconds that `act` takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
