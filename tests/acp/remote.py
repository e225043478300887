"""An editor whose agent is a process of its own, behind real pipes."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Self

from angelia.testing.crash import ANGELIA
from tests.acp.editor import Answerer, Editor
from tests.nursery import Birth, Child
from tests.promise.lives import Place

LONGEST_LINE = 100_000_000


class Remote(Editor):
    """An editor with an agent in a process of its own; `at` names the crash point where that is killed."""

    def __init__(
        self, place: Place, answers: dict[str, Answerer] | None = None, *, at: str = "", entry: str = ANGELIA
    ) -> None:
        super().__init__(place, answers)
        argv = ("acp", "--model", f"{place.wire}:m", *(f"--set={one}" for one in place.sets))
        self._birth = Birth(argv, place.env, str(Path.cwd()), entry, str(place.folder / "passed"), at)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        (self.place.folder / "passed").write_text("")
        stdin, write = os.pipe()
        read, stdout = os.pipe()
        self._child = Child(self._birth, self.place.folder, stdin, stdout)
        os.close(stdin)
        os.close(stdout)
        self.ended = self._child.status()
        self._stdout = asyncio.StreamReader(LONGEST_LINE)
        protocol = asyncio.StreamReaderProtocol(self._stdout)
        self._from, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(read, "rb", buffering=0))
        self._to, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(write, "wb", buffering=0))
        self._reading = asyncio.create_task(self._hear())
        return self

    async def _hear(self) -> None:
        while line := await self._stdout.readline():
            await self._take(line)
        self._abandon()

    def write(self, message: bytes) -> None:
        """One line."""
        self._to.write(message + b"\n")

    async def leave(self) -> int:
        """Close its stdin, and wait for its end."""
        self._to.close()
        done, _ = await asyncio.wait([self.ended], timeout=20)
        if not done:
            self._child.kill(signal.SIGKILL)
            self.complaints.append("it did not end when its client left")
        return await self._over()

    async def kill(self) -> None:
        """SIGKILL."""
        self._child.kill(signal.SIGKILL)
        await self._over()

    async def _over(self) -> int:
        status = await self.ended
        await self._reading
        self._from.close()
        self._to.close()
        return status

    @property
    def passed(self) -> list[str]:
        """The crash points that were passed."""
        return (self.place.folder / "passed").read_text().splitlines()
