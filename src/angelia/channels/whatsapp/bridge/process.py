"""The bridge as a process: started, asked, listened to, and ended."""

import asyncio
import itertools
import logging
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec

from angelia.channels.failures import NotSent
from angelia.core.errors import fault_words
from angelia.deadline import within

log = logging.getLogger(__name__)

SCRIPT = Path(__file__).with_name("bridge.mjs")

_LINE = 1 << 24
"""Bytes that one line may have."""

_GRACE = 5.0
"""Seconds that the bridge has to end by itself; it takes 2 for what it still has to answer (`bridge.mjs`)."""


_FAULT = re.compile(r"\w*Error\b.*:")


class BridgeFailed(Exception):
    """The bridge says no: `kind` is as `bridge.mjs` tells it."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


class _Asked:
    """Something that the bridge was asked for; `left` once it has said that it hands it over."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.left = False


class Bridge:
    """One life of the bridge, which is one connection to WhatsApp."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked: dict[int, _Asked] = {}
        self._numbers = itertools.count(1)
        self._over = False

    @classmethod
    async def start(cls, node: str, folder: Path, modules: Path, options: dict[str, float]) -> "Bridge":
        """Start it, whole or not at all; it ends when we end.

        Raises:
            NotSent: Node cannot be started.
        """
        words = (str(SCRIPT), str(folder), str(modules), msgspec.json.encode(options).decode())
        pipe = asyncio.subprocess.PIPE
        beginning = asyncio.ensure_future(
            asyncio.create_subprocess_exec(node, *words, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", limit=_LINE)
        )
        try:
            return cls(await asyncio.shield(beginning))
        except OSError as error:
            raise NotSent(f"Node cannot be started: {fault_words(error)}.", then="Install Node 20 or newer.") from error
        except asyncio.CancelledError:  # between its start and its pipes it would be left behind
            begun = cls(await beginning)
            begun.kill()
            await begun.end()
            raise

    async def events(self) -> AsyncGenerator[dict[str, Any], None]:
        """What it tells, until it ends; answers go to those who asked. The last event is `ended`, with what it said."""
        output, errors = self._process.stdout, self._process.stderr
        assert output
        assert errors
        words, certain = asyncio.create_task(errors.read()), False
        try:
            while (line := await output.readline()).endswith(b"\n"):
                told = msgspec.json.decode(line, type=dict[str, Any])
                if "event" in told:
                    yield told
                elif asked := self._asked.get(told["id"]):
                    self._heed(asked, told)
            certain = True  # everything that it said was heard
            yield {"event": "ended", "why": _why((await words).decode(errors="replace"))}
        finally:
            words.cancel()
            await asyncio.wait([words])
            self._over = True
            for asked in self._asked.values():
                if not asked.answer.done():
                    kind = "nothing" if certain and not asked.left else "unsure"
                    asked.answer.set_exception(BridgeFailed(kind, "the bridge ended"))

    async def ask(self, do: str, wait: float, **more: Any) -> Any:
        """Have something done; without an answer within `wait` seconds the bridge is stuck, and is ended.

        Raises:
            BridgeFailed: it was not done, or (`unsure`) was handed over, and nobody knows what became of it.
        """
        number, asked = next(self._numbers), _Asked()
        self._asked[number] = asked
        try:
            self._tell({"id": number, "do": do, **more})
            if not (await asyncio.wait([asked.answer], timeout=wait))[0]:
                log.warning("the WhatsApp bridge did not answer within %g s", wait)
                self.kill()
            return await asked.answer
        finally:
            del self._asked[number]

    def tell(self, do: str, **more: Any) -> None:
        """Have something done of which nobody waits for the answer; nothing once the bridge has ended."""
        assert self._process.stdin
        if not self._over and not self._process.stdin.is_closing():
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
        """End it, once nobody listens to its `events` any more; whoever leaves meanwhile leaves no process behind."""
        ending = asyncio.ensure_future(self._end())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await asyncio.wait([ending])
            raise

    async def _end(self) -> None:
        process = self._process
        assert process.stdout
        assert process.stderr
        self.finish()
        try:
            await within(_GRACE, process.wait())
        except TimeoutError:
            log.warning("the WhatsApp bridge did not end by itself")
            self.kill()
            await process.wait()
        # its pipes are closed once they were read to their end
        await asyncio.gather(process.stdout.read(), process.stderr.read())

    def _tell(self, line: dict[str, Any]) -> None:
        assert self._process.stdin
        if self._over or self._process.stdin.is_closing():
            raise BridgeFailed("nothing", "the bridge is not running")
        self._process.stdin.write(msgspec.json.encode(line) + b"\n")

    @staticmethod
    def _heed(asked: _Asked, told: dict[str, Any]) -> None:
        if "left" in told:
            asked.left = True
        elif asked.answer.done():
            return
        elif "error" in told:
            asked.answer.set_exception(BridgeFailed(told["error"], told.get("why", "")))
        else:
            asked.answer.set_result(told["ok"])


def _why(said: str) -> str:
    """The line that tells why it ended, of what Node wrote about it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if _FAULT.match(line)), lines[-1] if lines else "")[:300]
