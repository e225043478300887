"""One channel on its fake network, connected, with everything that it heard and told."""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.failures import ChannelError
from angelia.channels.health import ConnectionHealth, Health
from angelia.channels.incoming import Envelope
from angelia.channels.outgoing import OutFile, OutText
from angelia.channels.port import Channel, ChannelContext
from angelia.channels.settings import Secret
from angelia.core.ids import sortable_id, wall_clock
from angelia.testing.changes import Changes
from angelia.testing.channels.network import ArrivedMessage, ChannelTimeouts, FakeNetwork, Sample, Thing
from angelia.testing.claims import CheckFailed, expect

Make = Callable[[], AbstractAsyncContextManager[FakeNetwork]]
"""Gives a fresh fake network, and takes it away again."""

DOOR = "door"

CALM = ChannelTimeouts()


class CannotHear(Exception):
    """The app could not take an envelope in: a full disk, say."""


@dataclass(frozen=True, slots=True)
class ChannelCheck:
    """One claim about a channel. `run` raises `CheckFailed`, or `TimeoutError` when something never happens."""

    name: str
    claim: Callable[[Make], Awaitable[None]]
    seconds: float = 120.0

    async def run(self, make: Make) -> None:
        """Put the claim to a test."""
        async with asyncio.timeout(self.seconds):
            await self.claim(make)


class Stage:
    """A channel and its network. `heard` is what was taken in, `health` what was reported, `tries` how often each key
    was handed in. An envelope that `refuse` is true of is not taken in; `word` is said to what is. `ended` is what
    `run` ended with.
    """

    def __init__(self, network: FakeNetwork, patience: ChannelTimeouts, folder: Path) -> None:
        self.network = network
        self._patience = patience
        self._folder = folder
        self.heard: list[Envelope] = []
        self.health: list[Health] = []
        self.tries: dict[str, int] = {}
        self.refuse: Callable[[Envelope], bool] = lambda envelope: False
        self.word = ""
        self.ended: ChannelError | None = None
        self._memory: dict[str, str] = {}
        self._changes = Changes()

    async def start(self) -> None:
        """Open the channel and let it connect."""
        self._begun, self.ended = len(self.health), None
        self.channel: Channel = self.network.open(self._context(), self._patience)
        self._running = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End it as the gateway does."""
        self._running.cancel()
        await asyncio.wait([self._running])
        await self.channel.close()

    async def calmly(self, deed: Callable[[], Awaitable[object]]) -> None:
        """Do something with time for slow answers: between two restarts, of which its network knows nothing."""
        hurried = self._patience
        await self._restart(CALM)
        await deed()
        await self._restart(hurried)

    async def _restart(self, patience: ChannelTimeouts) -> None:
        capabilities = self.channel.capabilities
        await self.stop()
        self._patience = patience
        await self.start()
        self.channel.capabilities = capabilities
        await self.connected()

    async def connected(self) -> None:
        """Wait until it says that it is."""
        await self.until(lambda: any(one.state is ConnectionHealth.CONNECTED for one in self.health[self._begun :]))

    async def spoken_to(self) -> None:
        """Let the friend say something: some networks show that somebody types only in answer to it."""
        before = len(self.heard)
        await self.network.bring(Thing(IncomingKind.TEXT, self.network.here, "are you there?"))
        await self.until(lambda: len(self.heard) > before)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that depends on what was heard or told."""
        await self._changes.when(lambda: holds() or self.ended is not None)
        expect(holds(), f"`run` ended with {self.ended!r}")

    async def over(self) -> None:
        """Wait until `run` has ended by itself."""
        await self._changes.when(lambda: self.ended is not None)

    async def send(self, outgoing: OutText | OutFile, key: str = "") -> ArrivedMessage:
        """Send one message to the friend; what arrived of it, which must be just one thing."""
        before = len(self.network.arrived)
        message = await self.channel.send(self.network.here, outgoing, key or sortable_id())
        new = self.network.arrived[before:]
        expect(len(new) == 1, f"one message was sent, and {len(new)} arrived: {[one.method for one in new]}")
        expect(new[0].message == message, f"`send` returned {message!r}, and the message is {new[0].message!r}")
        expect(new[0].chat == self.network.here.chat, f"it arrived in the chat {new[0].chat!r}")
        return new[0]

    async def fails(self, deed: Awaitable[object], *kinds: type[ChannelError]) -> ChannelError:
        """The error that `deed` must end with; no secret is in it."""
        wanted = " or ".join(kind.__name__ for kind in kinds)
        try:
            outcome = await deed
        except kinds as error:
            self.keeps_secrets(error)
            return error
        except ChannelError as error:
            raise CheckFailed(f"{wanted} was expected, and {error!r} came") from error
        raise CheckFailed(f"{wanted} was expected, and this came: {outcome!r:.200}")

    def keeps_secrets(self, *told: object) -> None:
        """No secret is in what was told, nor in the causes of errors."""
        for one in told:
            causes = [one]
            while isinstance(causes[-1], BaseException) and causes[-1].__cause__ is not None:
                causes.append(causes[-1].__cause__)
            for secret in self.network.secrets.values():
                leaks = [cause for cause in causes if secret in f"{cause} {cause!r}"]
                expect(not leaks, f"a secret is told: {leaks}")

    def file(self, sample: Sample, caption: str = "") -> OutFile:
        """A sample as something to send, its bytes on this machine."""
        path = self._folder / sortable_id()
        path.write_bytes(sample.data)
        size = len(sample.data)
        words = OutText(caption) if caption else None
        picture = sample.kind in (Kind.PHOTO, Kind.ANIMATION, Kind.VIDEO)
        long, wide = (64, 64) if picture else (0, 0)
        return OutFile(sample.kind, path, size, sample.name, sample.mime, words, long, wide, seconds=1.0)

    async def _run(self) -> None:
        try:
            await self.channel.run(self._hear)
        except ChannelError as error:
            self.ended = error
            self._changes.tell()

    async def _hear(self, envelope: Envelope) -> str:
        self.tries[envelope.key] = self.tries.get(envelope.key, 0) + 1
        refused = self.refuse(envelope)
        if not refused:
            self.heard.append(envelope)
        self._changes.tell()
        if refused:
            raise CannotHear
        return self.word

    def _report(self, health: Health) -> None:
        self.health.append(health)
        self.keeps_secrets(health)
        self._changes.tell()

    def _context(self) -> ChannelContext:
        async def secret(where: Secret) -> str:
            return self.network.secrets[where.env]

        async def recall(name: str) -> str:
            return self._memory.get(name, "")

        async def remember(name: str, value: str) -> None:
            self._memory[name] = value

        commands = {"status": "what is going on", "stop": "stop what is running"}
        return ChannelContext(DOOR, self._folder, wall_clock, secret, recall, remember, self._report, commands)


@asynccontextmanager
async def staged(make: Make, patience: ChannelTimeouts = CALM) -> AsyncIterator[Stage]:
    """A channel that is connected to a fresh network; no secret was logged by its end."""
    with tempfile.TemporaryDirectory() as folder, _logging() as logged:
        async with make() as network:
            stage = Stage(network, patience, Path(folder))
            await stage.start()
            try:
                await stage.connected()
                yield stage
            finally:
                await stage.stop()
            stage.keeps_secrets(*logged)


@contextmanager
def _logging() -> Iterator[list[str]]:
    """Every line that is logged, whatever its level."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.getMessage()} {record.exc_info}")

    root, keep = logging.getLogger(), Keep()
    level = root.level
    root.addHandler(keep)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.setLevel(level)
        root.removeHandler(keep)
