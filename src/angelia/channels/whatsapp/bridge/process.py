"""The bridge as a process: started, asked, listened to, and ended."""

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec

from angelia.channels.failures import NotSent

log = logging.getLogger(__name__)

SCRIPT = Path(__file__).with_name("bridge.mjs")

_LINE = 1 << 24
"""Bytes that one line may have."""

_GRACE = 5.0
"""Seconds that the bridge has to end by itself."""


class BridgeFailed(Exception):
    """The bridge says no: `kind` is as `bridge.mjs` tells it."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


class Bridge:
    """One life of the bridge, which is one connection to WhatsApp."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count(1)

    @classmethod
    async def start(cls, node: str, folder: Path, modules: Path, options: dict[str, float]) -> "Bridge":
        """Start it; it ends when we end.

        Raises:
            NotSent: Node cannot be started.
        """
        words = (str(SCRIPT), str(folder), str(modules), msgspec.json.encode(options).decode())
        pipe = asyncio.subprocess.PIPE
        try:
            return cls(
                await asyncio.create_subprocess_exec(node, *words, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LINE)
            )
        except OSError as error:
            raise NotSent(f"Node cannot be started: {error}.", then="Install Node 20 or newer.") from error

    async def events(self) -> AsyncGenerator[dict[str, Any], None]:
        """What it tells, until it ends; answers go to those who asked. The last event is `ended`, with what it said."""
        output, errors = self._process.stdout, self._process.stderr
        assert output
        assert errors
        words = asyncio.create_task(errors.read())
        try:
            while line := await output.readline():
                told = msgspec.json.decode(line, type=dict[str, Any])
                if "event" in told:
                    yield told
                elif (asked := self._asked.pop(told["id"], None)) and not asked.done():
                    self._answer(asked, told)
            yield {"event": "ended", "why": (await words).decode(errors="replace").strip()[-500:]}
        finally:
            words.cancel()
            await asyncio.wait([words])
            for asked in self._asked.values():
                if not asked.done():
                    asked.set_exception(BridgeFailed("unsure", "the bridge ended"))

    async def ask(self, do: str, wait: float, **more: Any) -> Any:
        """Have something done.

        Raises:
            BridgeFailed: it was not done, or nobody knows (`unsure`), as after `wait` seconds without a word.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._tell({"id": number, "do": do, **more})
            async with asyncio.timeout(wait):
                return await answer
        except TimeoutError:
            raise BridgeFailed("unsure", f"the bridge did not answer within {wait:g} s") from None
        finally:
            self._asked.pop(number, None)

    def tell(self, do: str, **more: Any) -> None:
        """Have something done of which nobody waits for the answer; nothing once the bridge has ended."""
        assert self._process.stdin
        if self._process.returncode is None and not self._process.stdin.is_closing():
            self._tell({"id": 0, "do": do, **more})

    def finish(self) -> None:
        """Ask nothing more; what was asked is still answered, and then it ends."""
        assert self._process.stdin
        self._process.stdin.close()

    def kill(self) -> None:
        """End it at once; `events` tells that it has ended."""
        if self._process.returncode is None:
            self._process.kill()

    async def end(self) -> None:
        """End it, once nobody listens to its `events` any more."""
        process = self._process
        assert process.stdout
        assert process.stderr
        self.finish()
        try:
            async with asyncio.timeout(_GRACE):
                await process.wait()
        except TimeoutError:
            log.warning("the WhatsApp bridge did not end by itself")
            process.kill()
            await process.wait()
        # its pipes are closed once they were read to their end
        await asyncio.gather(process.stdout.read(), process.stderr.read())

    def _tell(self, line: dict[str, Any]) -> None:
        assert self._process.stdin
        if self._process.returncode is not None or self._process.stdin.is_closing():
            raise BridgeFailed("nothing", "the bridge is not running")
        self._process.stdin.write(msgspec.json.encode(line) + b"\n")

    @staticmethod
    def _answer(asked: asyncio.Future[Any], told: dict[str, Any]) -> None:
        if "error" in told:
            asked.set_exception(BridgeFailed(told["error"], told.get("why", "")))
        else:
            asked.set_result(told["ok"])
