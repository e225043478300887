"""The run: people go on talking while one thing after another fails, and at the end the books are looked through."""

import asyncio
import itertools
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from angelia.channels.capabilities import IncomingKind
from angelia.core import entry as e
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.testing.channels.network import Thing
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, slowly
from angelia.testing.model.steps import say as reply
from angelia.testing.networks.telegram_server import TOKEN, TOKEN_VARIABLE, TelegramServer
from angelia.testing.networks.telegram_world import ANN, GROUP, HERE
from tests.chats.gateway_lives import seen
from tests.promise.lives import environment
from tests.soak.books import breaches, verified
from tests.soak.front import Front, Weather
from tests.soak.gateway import GatewayProcess

CHATS = (HERE, GROUP)
HEARD_S = 45.0
"""Seconds after a fault in which an answer is waited for; what is not there then, the books have to explain."""
FEW_FILES = 96
DISK_MB = 48
YEARS = 3 * 365 * 86_400
WORD = re.compile(r"\bw\d+w\b")


def answer(request: ReceivedRequest) -> Step:
    """Says something that it never said before, to each message since it spoke last, in some pieces."""
    new = itertools.takewhile(lambda one: one.role != "assistant", reversed(request.heard.messages))
    words = [word for one in reversed([*new]) for word in WORD.findall(one.text)]
    return slowly(reply(" ".join(f"Answer {request.number} to {word}." for word in words) or "Yes."), between=0.01)


class Soak:
    """One run of `faults` in `folder`; the same `seed` takes them in the same order. `say` takes lines about it."""

    def __init__(self, folder: Path, seed: int, say: Callable[[str], object], faults: Sequence[str] = ()) -> None:
        self._faults = list(faults or FAULTS)
        self._folder, self._chance, self._say = folder, random.Random(seed), say
        self._said: Counter[e.Address] = Counter()
        self._words: list[str] = []
        self._late = 0
        self._clock = folder / "clock"
        self._home = folder / "disk" / "home"

    async def run(self, seconds: float) -> list[str]:
        """Every fault once, and again until so much time is over; every breach of the promise."""
        begun = time.monotonic()
        async with AsyncExitStack() as stack:
            await self._open(stack)
            while True:
                for name in self._chance.sample(self._faults, len(self._faults)):
                    await self._round(name)
                if time.monotonic() >= begun + seconds:
                    break
            found = await self._end()
        self._say("\n".join([self._summary(), *(found or ["The books balance."])]) + "\n")
        return found

    async def _open(self, stack: AsyncExitStack) -> None:
        self._folder.mkdir(exist_ok=True)
        if not await stack.enter_async_context(_disk(self._folder / "disk")) and "disk_full" in self._faults:
            self._faults.remove("disk_full")
            self._say("No disk of its own could be mounted: nothing is ever full.\n")
        self._home.mkdir()
        (self._folder / "person").mkdir()
        self._clock.write_text("0")
        self._model = await stack.enter_async_context(ModelServer(answer))
        self._network = await stack.enter_async_context(TelegramServer())
        ports = [int(url.rsplit(":", 1)[1].split("/")[0]) for url in (self._model.url, self._network.url)]
        self._fronts = [await stack.enter_async_context(Front(port)) for port in ports]
        model, chats = self._fronts
        self._env = {
            **environment(self._folder, self._model),
            "ANGELIA_HOME": str(self._home),
            "OPENAI_BASE_URL": f"http://127.0.0.1:{model.port}/v1",
            TOKEN_VARIABLE: TOKEN,
        }
        (self._home / "config.toml").write_text(
            'model = "openai-chat:m"\n[sandbox]\nconfine = "off"\n[limits]\npatience = 60\n[channels.telegram]\n'
            f'api = "http://127.0.0.1:{chats.port}"\nowners = ["{ANN["id"]}"]\nstale_minutes = 0\ngroups = "all"\n'
            f'token = {{ env = "{TOKEN_VARIABLE}" }}\n'
        )
        self._gateway = GatewayProcess(self._env, self._clock, self._folder / "output")
        await self._gateway.begin()

    async def _round(self, name: str) -> None:
        """One fault while people talk, and the time after it."""
        fault = getattr(self, f"_{name}", None)
        await self._talk()
        begun = time.monotonic()
        if fault is not None:
            await fault()
        else:
            which, weather = name.split(": ")
            fronts = {"model": self._fronts[:1], "chats": self._fronts[1:], "both": self._fronts}[which]
            for front in fronts:
                await front.change(Weather[weather])
            await self._talk()
            await asyncio.sleep(self._chance.uniform(1, 8))
            for front in fronts:
                await front.change(Weather.WELL)
        late = await self._heard()
        self._gateway.measure()
        self._say(f"{name:24} {time.monotonic() - begun:5.1f} s{f', {late} not answered yet' if late else ''}\n")

    # -- what fails ---------------------------------------------------------------------------------------------

    async def _killed(self) -> None:
        for _ in range(3):
            await self._talk()
            await asyncio.sleep(self._chance.uniform(0.0, 1.5))
            await self._gateway.end(signal.SIGKILL)
            await self._gateway.begin()

    async def _clock_jumps(self) -> None:
        for wrong in (YEARS, -3600, 0):
            self._clock.write_text(str(wrong))
            await self._talk()
            await asyncio.sleep(self._chance.uniform(0.5, 2))
        await self._heard()

    async def _files_out(self) -> None:
        await self._gateway.end()
        await self._gateway.begin(FEW_FILES)
        for _ in range(10):
            await self._talk()
        await self._heard()
        await self._gateway.end()
        await self._gateway.begin()

    async def _disk_full(self) -> None:
        ballast = self._folder / "disk" / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        await self._talk()
        await asyncio.sleep(self._chance.uniform(1, 5))
        ballast.unlink()

    async def _database_away(self) -> None:
        await self._heard()  # so there is one: what a later life makes is thrown away below
        await self._gateway.end()
        away = self._folder / "disk" / "away"
        away.mkdir()
        for file in self._home.glob("angelia.db*"):
            file.rename(away / file.name)
        await self._gateway.begin()
        await self._talk()
        await asyncio.sleep(3)
        with suppress(TimeoutError):
            await self._gateway.end()
        for file in self._home.glob("angelia.db*"):
            file.unlink()
        for file in away.iterdir():
            file.rename(self._home / file.name)
        away.rmdir()
        await self._gateway.begin()

    # -- people -------------------------------------------------------------------------------------------------

    async def _talk(self) -> None:
        where = self._chance.choice(CHATS)
        self._said[where] += 1
        self._words.append(f"w{self._said.total()}w")
        await self._network.bring(Thing(IncomingKind.TEXT, where, f"tell me about {self._words[-1]}"))

    async def _heard(self) -> int:
        """Wait for answers; how many are not there."""
        self._words = await self._waited_for(self._words)
        late, self._words = len(self._words), []
        self._late += late
        return late

    async def _waited_for(self, words: list[str]) -> list[str]:
        def open_now() -> list[str]:
            texts = seen(self._network.arrived).texts
            return [word for word in words if not any(f"to {word}." in text for text in texts)]

        with suppress(TimeoutError):
            async with asyncio.timeout(HEARD_S):
                await self._network.when(lambda: not open_now())
        return open_now()

    # -- the end ------------------------------------------------------------------------------------------------

    async def _end(self) -> list[str]:
        await self._talk()
        await self._heard()
        found = []
        await asyncio.sleep(2)  # what is told beside the last answer
        if status := await self._gateway.end():
            found.append(f"the last life ended with {status}")
        for where in CHATS:
            shown = seen([one for one in self._network.arrived if one.chat == where.chat]).texts
            found += [f"{where.chat}: {one}" for one in breaches(await self._facts(where), self._said[where], shown)]
        return found + verified(self._home, self._env)

    async def _facts(self, where: e.Address) -> list[e.AnyFact]:
        db = Database.open(self._home)
        try:
            conversation = await ChatBindings(db).conversation(e.Address("telegram", where.chat))
            return [one.fact for one in await Transcript(db).entries(conversation)] if conversation else []
        finally:
            db.close()

    def _summary(self) -> str:
        met = sum((front.met for front in self._fronts), Counter[Weather]())
        lines = [f"{times:6} requests met: {weather}" for weather, times in met.items()]
        lines.append(f"{self._said.total()} messages, {self._late} answered later than {HEARD_S:g} s or told otherwise")
        memory = self._gateway.most_memory / 1e6
        lines.append(f"at most {self._gateway.most_files} open files and {memory:.0f} MB of memory")
        return "\n".join([*lines, f"{self._gateway.ended_by_itself} lives ended by themselves"])


FAULTS = [
    *(f"{which}: {weather.name}" for which in ("model", "chats", "both") for weather in Weather if weather != "well"),
    *("killed", "clock_jumps", "files_out", "disk_full", "database_away"),
]


@asynccontextmanager
async def _disk(folder: Path) -> AsyncIterator[bool]:
    """A folder that is a small disk of its own; False where none may be mounted, and it is only a folder."""
    folder.mkdir()
    words = ("mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder))
    mounted = os.geteuid() == 0 and await _done(*words)
    try:
        yield mounted
    finally:
        if mounted:
            await _done("umount", "-l", str(folder))


async def _done(*words: str) -> bool:
    process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)
    return not await process.wait()
