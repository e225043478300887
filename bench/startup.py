"""Rows about starting: the version, the help, and one question to an instant model."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.rows import Row, row
from bench.runs import Benchmark, Took, angelia, environment, run
from bench.tap import Tap
from bench.yardsticks import Yardsticks

MB = 1_000_000


def rows(bench: Benchmark, bare: Yardsticks, url: str, peers: Mapping[str, str]) -> Iterator[Row]:
    """`url` is the instant model server's; `peers` are commands that ask the same model one thing."""
    for words, most in ((("--version",), 0.10), (("--help",), 0.15)):
        took: list[Took] = []
        for _ in range(bench.times):
            bare.take("start_cpu")
            took.append(run(angelia(*words)))
        yield row(f"angelia {words[0]}, CPU", "s", [one.cpu for one in took], most, yardstick=bare.of("start_cpu"))
    home = bench.place("ask")
    yield from one_shot(
        "angelia ask",
        bench,
        bare,
        url,
        angelia("ask", "--model", "openai-chat:scripted", "hi"),
        home,
    )
    for name, command in peers.items():
        yield from one_shot(name, bench, bare, url, shlex.split(command), bench.place(f"peer {name}"))


def one_shot(name: str, bench: Benchmark, bare: Yardsticks, url: str, argv: Sequence[str], home: Path) -> Iterator[Row]:
    """One question in a folder of its own, several times; the first run, which sets the home up, is not counted."""
    workspace = home / "workspace"
    workspace.mkdir()
    took: list[Took] = []
    first: list[float] = []
    with Tap(url) as tap:
        env = model_environment(tap.url, home)
        run(argv, env=env, cwd=workspace)
        for _ in range(bench.times):
            bare.take("start_wall")
            before = len(tap.arrived)
            took.append(run(argv, env=env, cwd=workspace))
            first.append(tap.arrived[before] - took[-1].began)
        smallest = min(len(body) for body in tap.bodies if body)  # some look around first
    wall, cpu = bare.of("start_wall"), bare.of("start_cpu")
    ours = name == "angelia ask"
    yield row(f"{name}: first request on the wire", "s", first, 0.25 if ours else None, yardstick=wall)
    yield row(f"{name}: whole run, wall", "s", [one.wall for one in took], 0.35 if ours else None, yardstick=wall)
    yield row(f"{name}: whole run, CPU", "s", [one.cpu for one in took], 0.30 if ours else None, yardstick=cpu)
    yield row(f"{name}: peak memory", "MB", [one.memory for one in took], 50 * MB if ours else None)
    yield row(f"{name}: smallest request", "kB", smallest, 10_000 if ours else None)


def model_environment(url: str, home: Path) -> dict[str, str]:
    """An environment in which every wire leads to one server, and nothing outside `home` is touched."""
    return environment(
        HOME=str(home),
        ANGELIA_HOME=str(home / "angelia"),
        OPENAI_BASE_URL=f"{url}/v1",
        OPENAI_API_KEY="bench",
        ANTHROPIC_BASE_URL=url,
        ANTHROPIC_API_KEY="bench",
    )
