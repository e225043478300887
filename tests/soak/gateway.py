"""A gateway as a service keeps it: a process of its own that is begun again whenever it has ended."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.promise.lives import ROOT

MOST_S = 30.0
"""Seconds that an end may take."""


class GatewayProcess:
    """One after another, in one home. `clock` is the file of the clock's fault; `output` takes what they say."""

    def __init__(self, env: Mapping[str, str], clock: Path, output: Path) -> None:
        self._env, self._clock, self._output = dict(env), clock, output
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None
        self.ended_by_itself = 0
        self.most_files, self.most_memory = 0, 0

    @property
    def pid(self) -> int:
        """The one that lives, 0 for none."""
        return self._process.pid if self._process and self._process.returncode is None else 0

    async def begin(self, files: int = 0) -> None:
        """Live, and be begun again a second after any end that nobody here wanted; with at most so many open files."""
        self._process, begun = None, asyncio.Event()
        self._keeping = asyncio.create_task(self._keep(files, begun))
        await begun.wait()

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it for now; its exit status.

        Raises:
            TimeoutError: it does not end.
        """
        assert self._keeping is not None
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        process = self._process
        assert process is not None
        with suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            async with asyncio.timeout(MOST_S):
                return await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise

    def measure(self) -> None:
        """Note how many files it has open now, and its memory (bytes)."""
        with suppress(OSError):
            folder = Path(f"/proc/{self.pid}")
            self.most_files = max(self.most_files, len(list((folder / "fd").iterdir())))
            pages = int((folder / "statm").read_text().split()[1])
            self.most_memory = max(self.most_memory, pages * os.sysconf("SC_PAGE_SIZE"))

    async def _keep(self, files: int, begun: asyncio.Event) -> None:
        words = (sys.executable, "-m", "tests.soak.life", str(self._clock), str(files), "gateway")
        while True:
            with self._output.open("ab") as output:
                self._process = await asyncio.create_subprocess_exec(
                    *words, env=self._env, cwd=ROOT, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output
                )
            begun.set()
            await self._process.wait()
            self.ended_by_itself += 1
            await asyncio.sleep(1)
