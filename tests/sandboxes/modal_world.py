"""What stands for Modal's cloud: images are folders, sandboxes real processes in a namespace, snapshots copies."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from itertools import count
from pathlib import Path

from .rootfs import make_root

KNOWN = "busybox:tests"
"""The one image that this cloud can build."""


class Box:
    """A sandbox: a first process that keeps its namespaces, and what is executed in them."""

    def __init__(self, root: Path, name: str, app: str) -> None:
        self.root, self.name, self.app = root, name, app
        self._first: subprocess.Popen[bytes] | None = None
        self._inner = 0
        self._told_to_end = False
        self.execs: dict[str, Exec] = {}

    @property
    def ended(self) -> bool:
        """Whether it has."""
        return self._first is None or self._first.poll() is not None

    def begin(self, argv: list[str], *, network: bool, asked: str) -> None:
        """Start its first process; `asked` are the limits, which it has in its environment and nobody enforces."""
        (ours, theirs), (ready, tell) = os.pipe(), os.pipe()
        words = ["bwrap", "--bind", str(self.root), "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid"]
        words += ["--unshare-ipc", "--unshare-uts", "--die-with-parent", "--info-fd", str(theirs)]
        words += [] if network else ["--unshare-net"]
        # as root in there, or what an ordinary user makes lies in a user namespace within the one that owns the network
        words += [] if os.geteuid() == 0 else ["--unshare-user", "--uid", "0", "--gid", "0"]
        # its number is told before its root is in place, and whoever enters then is somewhere else
        words += ["--", "/bin/sh", "-c", f'echo >/proc/self/fd/{tell}; exec "$@"', "sh", *argv]
        world = {"PATH": "/bin:/usr/bin", "ASKED": asked}
        self._first = subprocess.Popen(words, stdin=DEVNULL, stdout=DEVNULL, pass_fds=(theirs, tell), env=world)
        os.close(theirs)
        os.close(tell)
        with os.fdopen(ours) as told, os.fdopen(ready, "rb", buffering=0) as begun:
            self._inner = int(json.load(told)["child-pid"])
            assert begun.read(1) == b"\n", "the sandbox did not begin"

    async def execute(self, name: str, argv: list[str], *, apart: bool) -> None:
        """Run a command in it; its errors can be read if they are to be `apart`."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        enter = ["nsenter", "--target", str(self._inner), *user, "--mount", "--pid", "--ipc", "--uts", "--net"]
        process = await asyncio.create_subprocess_exec(
            *enter, f"--wd={self.root}", "--root", "--", *argv,
            stdin=PIPE, stdout=PIPE, stderr=PIPE if apart else DEVNULL, env={"PATH": "/bin:/usr/bin", "HOME": "/root"},
        )  # fmt: skip
        self.execs[name] = Exec(process)

    @property
    def end_told(self) -> str:
        """Who ended it, and with what status."""
        status = None if self._first is None else self._first.returncode
        return f"status {status}, {'as it was told' if self._told_to_end else 'by itself'}"

    def end(self) -> None:
        """Kill all that runs in it."""
        self._told_to_end = True
        if self._first is not None:
            self._first.send_signal(signal.SIGKILL)
            self._first.wait()


class Exec:
    """A command: what came in, and what went out."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.taken, self.given = 0, [0, 0]

    async def take(self, offset: int, data: bytes, *, eof: bool) -> bool:
        """Input; False if it cannot be taken any more."""
        assert self.process.stdin is not None
        if offset != self.taken or self.process.returncode is not None:
            return False
        self.taken += len(data)
        try:
            self.process.stdin.write(data)
            await self.process.stdin.drain()
        except ConnectionError:
            return False
        if eof:
            self.process.stdin.close()
        return True


class World:
    """All there is, beneath `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.images: dict[str, Path] = {}
        self.boxes: dict[str, Box] = {}
        self.numbers = count(1)

    def built(self, image: str) -> None:
        """An image of the one kind that can be built."""
        root = self._folder / image
        make_root(root)
        (root / "sys").rmdir()
        self.images[image] = root

    def copied(self, image: str, source: Path) -> None:
        """An image that is a copy of what stands somewhere now."""
        self.images[image] = self._folder / image
        shutil.copytree(source, self.images[image], symlinks=True, copy_function=_copy, ignore=_ignored)

    def made(self, box: str, image: str, name: str, app: str) -> Box:
        """A sandbox of an image."""
        root = self._folder / box
        shutil.copytree(self.images[image], root, symlinks=True)
        self.boxes[box] = Box(root, name, app)
        return self.boxes[box]

    def running(self, name: str) -> str:
        """The id of the running sandbox of that name, empty for none; how others of that name ended is told."""
        named = {box: one for box, one in self.boxes.items() if one.name == name}
        for box, one in named.items():
            if one.ended:
                print(f"{box} ({name}) has ended: {one.end_told}", file=sys.stderr, flush=True)
        return next((box for box, one in named.items() if not one.ended), "")

    def end(self) -> None:
        """End everything."""
        for box in self.boxes.values():
            box.end()


def _copy(source: str, target: str) -> None:
    shutil.copy2(source, target)


def _ignored(folder: str, names: list[str]) -> list[str]:
    """What is no file (FIFOs, devices), and what is mounted inside."""
    return [
        name
        for name in names
        if not (path := Path(folder, name)).is_symlink() and not path.is_dir() and not path.is_file()
    ]
