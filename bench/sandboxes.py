"""Rows about sandboxes: files out of them and commands in them, each beside the bare client of the same run."""

import asyncio
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from tests.sandboxes.daemon import IMAGE, Daemon, KernelRefuses, daemon
from tests.sandboxes.sshd import Server, server

from angelia.sandboxes.guard.guard import guard_of
from angelia.sandboxes.port import Sandbox
from angelia.store.media.write_behind import WriteBehind
from bench.file_transfer import memory, opened, ran
from bench.rows import Row, Target, row
from bench.runs import Benchmark
from bench.yardsticks import timed

MB = 1_000_000
EXECS = 50
DOCKER = (
    "200 MB out of docker, bound",
    "200 MB out of docker, in memory",
    "exec in docker",
    "first exec, warm container",
)
SSH = ("200 MB out over SSH", "exec over SSH")


class Ground(Struct, frozen=True):
    """Where it is measured: a folder with `work` in it, in which `large` has `size` bytes; `times` is how often."""

    folder: Path
    size: int
    times: int
    socket: str = ""

    @property
    def made(self) -> tuple[Path, Path]:
        """Where we and the bare client copy the large file to."""
        return self.folder / "ours", self.folder / "copy"

    def opened(self, name: str) -> Sandbox:
        """A sandbox that works there."""
        return opened(name, self.folder, self.socket, IMAGE)

    def memory(self, name: str, way: str) -> Row:
        """The row about what a transfer takes of memory."""
        size = (1 << 30) if self.size == 200 * MB else self.size
        label = f"    memory of a {way} of {size / (1 << 20):.0f} MiB, {name}"
        return row(label, "MB", memory(self.folder, (name, self.socket, IMAGE), way, size), 30 * MB)


def rows(bench: Benchmark) -> Iterator[Row]:
    """Each sandbox that this machine can have; the others are named with the reason."""
    folder = bench.place("sandboxes")
    (folder / "work").mkdir()
    size = 200 * MB if bench.times > 3 else 20 * MB
    (folder / "work/large").write_bytes(os.urandom(MB) * (size // MB))
    ground = Ground(folder, size, min(bench.times, 7))
    yield from asyncio.run(_local(ground))
    yield _looks(bench)
    yield from _with_docker(ground)
    yield from _with_ssh(ground)


async def _local(ground: Ground) -> list[Row]:
    large, copy = str(ground.folder / "work/large"), str(ground.made[1])

    def bare() -> None:
        _run("cp", large, copy)
        _run("sha256sum", copy)

    sandbox = ground.opened("local")
    ours, theirs = await _side_by_side(ground.times, lambda: _out(sandbox, ground, hashed=True), bare, *ground.made)
    await sandbox.close()
    times = Row("200 MB out of local, time to cp and sha256sum", "x", _each(ours, theirs), target=Target(most=1.3))
    return [times, ground.memory("local", "get"), ground.memory("local", "put")]


def _looks(bench: Benchmark) -> Row:
    """What the guard takes each second while a command runs, and at its end: in a repository of ordinary size."""
    place = bench.place("looks")
    workspace = place / "work"
    for number in range(500):
        (inner := workspace / f"part{number % 20}" / f"module{number}").mkdir(parents=True)
        for name in range(20):
            (inner / f"file{name}.py").touch()
    _run("git", "init", "-q", str(workspace))
    guard, took = guard_of(workspace, place / "home"), list[float]()
    for _ in range(bench.times * 3):
        holder = object()
        guard.enter(holder)
        guard.leave(holder)
        took.append(guard.last)
    return row("a look at 10,000 files for what runs outside", "ms", took[1:], 0.005)


def _with_docker(ground: Ground) -> Iterator[Row]:
    if not all(map(shutil.which, ("dockerd", "docker", "busybox"))) or os.geteuid() != 0:
        yield from (Row(name, "x", note="no docker, or not root") for name in DOCKER)
        return
    try:
        with daemon() as one:
            yield from asyncio.run(_docker(Ground(ground.folder, ground.size, ground.times, one.socket), one))
    except KernelRefuses:
        yield from (Row(name, "x", note="this kernel lets no daemon run") for name in DOCKER)


async def _docker(ground: Ground, one: Daemon) -> list[Row]:
    copy, inside = ground.made[1], str(ground.folder / "work/large")
    measured: list[Row] = []
    bound = ground.opened("bound")
    await ran(bound, "true")
    (name,) = one.containers()
    ours, theirs = await _side_by_side(
        ground.times, lambda: _out(bound, ground), lambda: one.docker("cp", f"{name}:{inside}", str(copy)), *ground.made
    )
    measured.append(_speed(f"{DOCKER[0]}, speed to docker cp", ours, theirs))
    argv = ("docker", "-H", f"unix://{one.socket}", "exec", name)
    ours, theirs = await _side_by_side(EXECS, lambda: ran(bound, "true"), lambda: _run(*argv, "true"))
    measured.append(_overhead(f"{DOCKER[2]}, time to docker exec", ours, theirs, 1.3))
    measured.append(row(f"    {DOCKER[3]}", "s", [await _first(ground) for _ in range(ground.times)], 0.3))
    await bound.close()
    in_memory = ground.opened("in memory")
    await ran(in_memory, f"head -c {ground.size} /dev/urandom >large")
    (name,) = one.containers()
    line = f"docker -H unix://{one.socket} exec {name} cat {inside} >{copy}"  # `docker cp` sees no tmpfs
    ours, theirs = await _side_by_side(
        ground.times, lambda: _out(in_memory, ground), lambda: _run("/bin/sh", "-c", line), *ground.made
    )
    measured.append(_speed(f"{DOCKER[1]}, speed to docker exec cat", ours, theirs))
    await in_memory.close()
    return [*measured, ground.memory("in memory", "get"), ground.memory("in memory", "put")]


async def _first(ground: Ground) -> float:
    """Seconds until a conversation that comes back to its container has run a command in it; the sandbox is not closed,
    since that would remove the container, which another still holds.
    """
    began = time.perf_counter()
    await ran(ground.opened("bound"), "true")
    return time.perf_counter() - began


def _with_ssh(ground: Ground) -> Iterator[Row]:
    if not all(map(shutil.which, ("/usr/sbin/sshd", "ssh-keygen", "scp"))):
        yield from (Row(name, "x", note="no OpenSSH server") for name in SSH)
        return
    before = os.environ["HOME"]
    with server() as one:
        one.introduce(ground.folder)
        os.environ["HOME"] = str(ground.folder)
        try:
            yield from asyncio.run(_ssh(ground, one))
        finally:
            os.environ["HOME"] = before


async def _ssh(ground: Ground, one: Server) -> list[Row]:
    known, inside = ground.folder / ".ssh", str(ground.folder / "work/large")
    options = ["-F", str(known / "config"), "-o", f"UserKnownHostsFile={known}/known_hosts", "-o", "ControlMaster=auto"]
    options += ["-o", f"ControlPath={one.folder}/master", "-o", "ControlPersist=60", "-c", "aes256-gcm@openssh.com"]
    sandbox = ground.opened("ssh")
    _run("ssh", *options, "box", "true")
    try:
        bare = ("scp", *options, f"box:{inside}", str(ground.made[1]))
        ours, theirs = await _side_by_side(
            ground.times, lambda: _out(sandbox, ground), lambda: _run(*bare), *ground.made
        )
        moved = _speed(f"{SSH[0]}, speed to scp, same cipher", ours, theirs, 0.6)
        bare = ("ssh", *options, "box", "true")
        ours, theirs = await _side_by_side(EXECS, lambda: ran(sandbox, "true"), lambda: _run(*bare))
        ran_there = _overhead(f"{SSH[1]}, time to ssh", ours, theirs, 1.2)
    finally:
        await sandbox.close()
        _run("ssh", *options, "-O", "exit", "box")
    return [moved, ran_there, ground.memory("ssh", "get"), ground.memory("ssh", "put")]


async def _side_by_side(
    times: int, ours: Callable[[], Awaitable[None]], bare: Callable[[], object], *made: Path
) -> tuple[list[float], list[float]]:
    """Seconds of each, by turns after one of each that does not count.

    The files that they make are removed before, and not timed: a file that stands there costs the one who cuts it off
    before writing more than the one who writes over it, as scp does.
    """
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(times + 1):
        _remove(made)
        began = time.perf_counter()
        await ours()
        took[0].append(time.perf_counter() - began)
        _remove(made)
        took[1].append(timed(bare))
    return took[0][1:], took[1][1:]


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


async def _out(sandbox: Sandbox, ground: Ground, *, hashed: bool = False) -> None:
    """The large file into another, as whoever takes it in writes it."""
    digest = hashlib.sha256()
    with ground.made[0].open("wb", buffering=0) as file:

        def take(chunk: bytes) -> None:
            file.write(chunk)
            if hashed:
                digest.update(chunk)

        async with WriteBehind(take) as behind:
            async for chunk in sandbox.get("large", limit=ground.size):
                await behind.write(chunk)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _each(ones: Sequence[float], others: Sequence[float]) -> tuple[float, ...]:
    return tuple(one / other for one, other in zip(ones, others, strict=True))


def _speed(name: str, ours: Sequence[float], theirs: Sequence[float], least: float = 0.8) -> Row:
    return Row(name, "x", _each(theirs, ours), target=Target(least=least))


def _overhead(name: str, ours: Sequence[float], theirs: Sequence[float], most: float) -> Row:
    return Row(name, "x", _each(ours, theirs), target=Target(most=most))
