"""An editor whose agent is a process of its own, behind real pipes."""

import asyncio
from typing import Self

from angelia.testing.crash import ANGELIA, command
from tests.acp.editor import Answerer, Editor
from tests.promise.lives import Place


class Remote(Editor):
    """An editor with an agent in a process of its own; `at` names the crash point where that is killed."""

    def __init__(
        self, place: Place, answers: dict[str, Answerer] | None = None, *, at: str = "", entry: str = ANGELIA
    ) -> None:
        super().__init__(place, answers)
        settings = [f"--set={one}" for one in place.sets]
        self._argv = command(
            place.folder / "passed", ["acp", "--model", f"{place.wire}:m", *settings], at=at, entry=entry
        )

    async def __aenter__(self) -> Self:
        pipe = asyncio.subprocess.PIPE
        (self.place.folder / "passed").write_text("")
        with (self.place.folder / "stderr").open("ab") as errors:
            self.process = await asyncio.create_subprocess_exec(
                *self._argv, env=self.place.env, stdin=pipe, stdout=pipe, stderr=errors, limit=100_000_000
            )
        self._reading = asyncio.create_task(self._hear())
        return self

    async def _hear(self) -> None:
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            await self._take(line)
        self._abandon()

    def write(self, message: bytes) -> None:
        """One line."""
        assert self.process.stdin
        self.process.stdin.write(message + b"\n")

    async def leave(self) -> int:
        """Close its stdin, and wait for its end."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            async with asyncio.timeout(20):
                status = await self.process.wait()
        except TimeoutError:
            self.process.kill()
            self.complaints.append("it did not end when its client left")
            status = await self.process.wait()
        await self._reading
        return status

    async def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        await self.process.wait()
        await self._reading

    @property
    def passed(self) -> list[str]:
        """The crash points that were passed."""
        return (self.place.folder / "passed").read_text().splitlines()
