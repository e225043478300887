"""The bare things that ours are compared with: an interpreter, a commit, a spawned command, a request."""

import asyncio
import shutil
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.rows import Row, Yardstick, row
from bench.runs import Benchmark, python, run

_BUBBLEWRAP = ("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
_BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'


NAMES = {
    "start_cpu": "python -c pass",
    "start_wall": "python -c pass",
    "commit": "commit",
    "spawn": "spawn true",
    "bubblewrap": "bwrap true",
    "request": "httpx2",
}


class Yardsticks:
    """Bare things, measured anew with each row: a machine that others use too is another one a minute later.

    `take` measures one once more, between two measurements of a row; `of` is the median of all since the last row that
    was compared with it, taken now if there are none.
    """

    def __init__(self, bench: Benchmark, url: str) -> None:
        """`url` is the instant model server's."""
        self._bench, self._url = bench, url
        self._taken: dict[str, list[float]] = {name: [] for name in NAMES}
        self._databases = 0

    def take(self, name: str) -> None:
        """Measure one of them, so often as it takes some 50 ms."""
        match name:
            case "start_cpu" | "start_wall":
                took = run(python("-c", "pass"))
                self._taken["start_cpu"].append(took.cpu)
                self._taken["start_wall"].append(took.wall)
            case "commit":
                self._databases += 1
                self._taken[name] += commits(self._bench.folder / f"yardstick{self._databases}.db", 50)
            case "spawn":
                self._taken[name] += spawns(("true",), 20)
            case "bubblewrap":
                self._taken[name] += spawns((*_BUBBLEWRAP, "true"), 5) if shutil.which("bwrap") else []
            case "request":
                self._taken[name] += asyncio.run(requests(self._url, [_BODY] * 10))
            case _:
                raise KeyError(name)

    def of(self, name: str) -> Yardstick:
        """One of them, with its name, as it was beside the row that is made now; 0 where this machine has none."""
        if not self._taken[name]:
            for _ in range(3):
                self.take(name)
        taken, self._taken[name] = self._taken[name], []
        return Yardstick(NAMES[name], statistics.median(taken) if taken else 0.0)

    @property
    def commit(self) -> float:
        """Seconds of a durable commit."""
        return self.of("commit").value

    @property
    def spawn(self) -> float:
        """Seconds of a program that does nothing."""
        return self.of("spawn").value

    @property
    def bubblewrap(self) -> float:
        """The same in bubblewrap; 0 where there is none that works."""
        return self.of("bubblewrap").value


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """The bare things by themselves."""
    starts = [run(python("-c", "pass")) for _ in range(bench.times)]
    yield row("bare interpreter, CPU", "s", [one.cpu for one in starts])
    yield row("bare interpreter, wall", "s", [one.wall for one in starts])
    yield row("bare durable commit (WAL, synchronous=FULL)", "ms", commits(bench.folder / "yardstick.db", 200))
    yield row("bare spawn of true", "ms", spawns(("true",), 30))
    confined = spawns((*_BUBBLEWRAP, "true"), 15) if shutil.which("bwrap") else []
    yield row("bare bwrap true", "ms", confined, note="" if confined else "no bwrap that works")
    yield row("bare httpx2 request to the scripted server", "ms", asyncio.run(requests(url, [_BODY] * 30)))


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
