"""The channels of a home, open at once: connected, listening, delivering, and let go in order."""

import asyncio
import fcntl
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import IO, Any

from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.channels.failures import LoginFailed
from angelia.channels.health import ConnectionHealth, Health
from angelia.channels.incoming import Envelope
from angelia.channels.port import ChannelContext
from angelia.channels.registry import find_channel, open_channel, read_settings
from angelia.channels.settings import ChannelSettings, Secret
from angelia.channels.webhooks import HasWebhook, WebHead, WebRequest, WebResponse
from angelia.core.content import Media
from angelia.core.errors import BadInput, ConfigError
from angelia.service.chats.accounts import require_own_account, require_own_accounts
from angelia.service.chats.delivery import DeliveryStores
from angelia.service.chats.dispatcher import DeliveryDispatcher
from angelia.service.chats.inbound import Inbound
from angelia.service.chats.open_channel import OpenChannel, wait
from angelia.service.chats.services import ChatServices
from angelia.service.chats.sessions import ChatSessions
from angelia.service.command_port import CommandPlace
from angelia.service.commands import menu
from angelia.service.files.links import checked, links_of
from angelia.service.keep_running import keep_running

_AFTER_A_FAULT_S = 5.0
_LONGEST_PAUSE_S = 300.0
_TURNS_S = 3600.0
"""How long turns may go on here that began before their channel went to another machine."""

logger = logging.getLogger("angelia.gateway")


class ChannelStatus(Struct, frozen=True):
    """How one channel is: its health, since when (Unix milliseconds), and what was heard and is queued."""

    door: str
    health: Health
    since: int
    heard: int = 0


def alone_in(home: Path, why: str = "Two would answer twice.") -> IO[str]:
    """The right to be the one gateway of a home, held until the file is closed or the process ends.

    Raises:
        BadInput: another process has it.
    """
    file = (home / "gateway.lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise BadInput("A gateway of this home runs already.", why, "End it first; nothing was changed.") from error
    return file


def gateway_runs(home: Path) -> bool:
    """Whether a process has the right of `alone_in` now."""
    try:
        alone_in(home).close()
    except BadInput:
        return True
    return False


class Gateway:
    """Every configured channel. `changed` is called whenever there is something new to show."""

    def __init__(self, services: ChatServices, changed: Callable[[], None] = lambda: None) -> None:
        self._services, self._changed = services, changed
        self._links = links_of(services.config.gateway, services.home, services.outbox, services.clock)
        link = self._links.link if self._links else None
        stores = DeliveryStores(
            services.transcript,
            services.outbox,
            services.blobs,
            services.clock,
            link,
            for_chat=services.renditions.path_for_chat,
        )
        self.dispatcher = DeliveryDispatcher(stores, wait)
        self.chat_sessions = ChatSessions(services, self.dispatcher)
        self._inbound = Inbound(self.chat_sessions)
        self._lines: dict[str, OpenChannel] = {}
        self._configured: dict[str, ChannelSettings] = {}
        self.standings: dict[str, ChannelStatus] = {}
        self.shared: frozenset[str] = frozenset()
        """Channels that this machine or another serves, or is about to."""
        self._delivering: asyncio.Task[None] | None = None
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._hearing = Counter[str]()
        self._drained = asyncio.Event()
        self._alone: IO[str] | None = None

    async def open(self, only: tuple[str, ...] = ()) -> None:
        """Open the channels of the settings, or `only` some of them; connecting goes on behind. There may be none where
        something else begins turns: signals, mailboxes, folders.

        Raises:
            ConfigError: there are none, or one is wrong, or two are one account; names the setting, or both.
            MissingPart: a channel needs an extra.
            BadInput: a gateway of this home runs already.
        """
        self.begin([self.line(door) for door in self.stand_by(only)])

    def stand_by(self, only: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Be the gateway of this home, and open none of its channels yet; returns those that `open` would open. They
        are looked at whether they can be. Raises as `open`.
        """
        wanted = self._wanted(only)
        self._configured = {door: self.line(door).settings for door in wanted}
        require_own_accounts(self._configured)
        self._alone = alone_in(self._services.home)
        return wanted

    def _wanted(self, only: tuple[str, ...]) -> tuple[str, ...]:
        channels = self._services.config.channels
        wanted = only or tuple(door for door, section in channels.items() if section.get("enabled", True))
        config = self._services.config
        if not wanted and not (config.signals or config.mailboxes or config.folders):
            if channels:
                raise ConfigError(
                    "Every channel is disabled.", then=f"`angelia channels enable {next(iter(channels))}`"
                )
            raise ConfigError("No channel is configured.", then="`angelia channels add telegram` sets one up.")
        return wanted

    def line(self, door: str) -> OpenChannel:
        """A channel as it is configured; nothing is reached yet.

        Raises:
            ConfigError, MissingPart: as `open`.
        """
        sections = self._services.config.channels
        if door not in sections:
            raise ConfigError(f"There is no channel {door!r}.", then="`angelia channels` lists them.")
        settings = read_settings(door, sections[door], find_channel(door, sections[door]))
        return OpenChannel(open_channel(door, sections[door], self._context_of(door)), settings)

    def begin(self, lines: Sequence[OpenChannel]) -> None:
        """Connect, listen and deliver from now on, and go on with what an earlier life left open."""
        for line in lines:
            if leaving := self._leaving.pop(line.channel.door, None):
                leaving.cancel()  # it comes back
            self._lines[line.channel.door] = line
            self._report(line.channel.door, Health(ConnectionHealth.CONNECTING))
            self.dispatcher.connect(line)
        if self._delivering is None:
            self._delivering = asyncio.create_task(self.dispatcher.run())
        for line in lines:
            both = (self._run(line), self._roused(line))
            self._tasks[line.channel.door] = [asyncio.create_task(one) for one in both]

    def go_on_for_others(self) -> None:
        """A machine is there no more: it may have begun turns of the channels that are connected here, since a turn
        ends where it began when its channel moves, and what a channel left open was looked for when it came.
        """
        for door, line in self._lines.items():
            self._tasks[door].append(asyncio.create_task(self._roused(line)))

    async def disconnect(self, door: str, seconds: float) -> None:
        """Hear nothing more from a channel, give what is being taken in and sent so many seconds, and let go of the
        connection. Turns that were begun go on here until they end; what they say is delivered by whoever is connected.
        """
        for task in self._tasks.pop(door):
            task.cancel()
        await self._at_rest(lambda: not self._hearing[door] and self.dispatcher.rests(door), seconds)
        line = self._lines.pop(door)
        await self.dispatcher.disconnect(door)
        await line.channel.close()
        del self.standings[door]
        self._leaving[door] = self.chat_sessions.spawn(self.chat_sessions.finish(_TURNS_S, door))
        self._changed()

    def is_elsewhere(self, door: str) -> bool:
        """Whether a channel is another machine's now, or is on its way."""
        return door in self.shared and door not in self._lines

    async def admits(self, door: str, head: WebHead) -> int | WebResponse:
        """How many bytes may be brought to a channel's webhook by who begins so; a door without one is not found."""
        line = self._lines.get(door)
        if line is None or not isinstance(line.channel, HasWebhook):
            return self._not_here(door)
        return await line.channel.admits(head)

    async def web(self, door: str, request: WebRequest) -> WebResponse:
        """What came to a channel's webhook; a door without one is not found."""
        line = self._lines.get(door)
        if line is None or not isinstance(line.channel, HasWebhook):
            return self._not_here(door)
        return await line.channel.web(request)

    def _not_here(self, door: str) -> WebResponse:
        """A network that is told to come later brings it again, and perhaps to the machine that has the channel."""
        return WebResponse(503 if self.is_elsewhere(door) else 404)

    def cut_off(self, door: str, status: int) -> None:
        """What a network brings it brings again; what strangers begin and never finish is no news."""

    async def linked(self, token: str) -> tuple[Media, AsyncIterator[bytes]] | None:
        """The file that a link of ours stands for, and its bytes; None for a link that is none, or not any more."""
        media = await self._links.find(token) if self._links else None
        if media is None or not await self._services.blobs.has(media.blob):
            return None
        return media, checked(media, self._services.blobs)

    async def drain(self, seconds: float) -> None:
        """Take in nothing more, and give what is being taken in and sent so long to finish. Nothing is lost by less."""
        for task in self._connecting():
            task.cancel()
        await self._at_rest(lambda: not self._hearing.total() and self.dispatcher.at_rest, seconds)

    async def _at_rest(self, rests: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not rests():
                    self._drained.clear()
                    await wait(self._drained, 0.1)
        except TimeoutError:
            logger.info("the time to finish is over; what is left goes on at the next start, or on another machine")

    def _connecting(self) -> list[asyncio.Task[None]]:
        return [task for both in self._tasks.values() for task in both]

    async def close(self) -> None:
        """Let go of everything; open turns and queued deliveries are in the store."""
        async with AsyncExitStack() as closing:  # backwards; each is closed, whatever fails before
            if self._alone is not None:
                closing.callback(self._alone.close)
            for line in self._lines.values():
                closing.push_async_callback(line.channel.close)
            closing.push_async_callback(self.dispatcher.close)
            closing.push_async_callback(
                self.chat_sessions.close
            )  # a turn that is cut off still tells its chat's writer
            await cancel_and_wait(*self._connecting(), self._delivering)

    # -- one channel --------------------------------------------------------------------------------------------------

    async def _run(self, line: OpenChannel) -> None:
        """Stay connected. A channel that faults is begun again, later each time; one that is not let in is not, nor is
        one that turns out to be the account of another one.
        """
        door, faults = line.channel.door, 0
        try:
            await require_own_account(door, self._configured, self._services.tokens.find)
        except ConfigError as twice:
            self._report(door, Health(ConnectionHealth.STOPPED, str(twice)))
            return
        while True:
            try:
                await line.channel.run(partial(self._hear, line))
            except LoginFailed as refused:
                self._report(door, Health(ConnectionHealth.STOPPED, str(refused)))
                return
            except Exception as error:
                logger.exception("channel %s faulted", door, exc_info=error)
            end_if_cancelled()
            faults += 1
            seconds = min(_AFTER_A_FAULT_S * 2.0 ** min(faults - 1, 10), _LONGEST_PAUSE_S)
            self._report(door, Health(ConnectionHealth.WAITING, f"It stopped, and is begun again in {seconds:g} s."))
            await wait(None, seconds)

    async def _hear(self, line: OpenChannel, envelope: Envelope) -> str:
        door = line.channel.door
        self._hearing[door] += 1
        try:
            word = await self._inbound.hear(line, envelope)
        finally:
            self._hearing[door] -= 1
            self._drained.set()
        if standing := self.standings.get(door):  # none is left where the channel went meanwhile
            self.standings[door] = replace(standing, heard=standing.heard + 1)
            self._changed()
        return word

    def _roused(self, line: OpenChannel) -> Coroutine[Any, Any, None]:
        return keep_running(f"what {line.channel.door} left open", partial(self._rouse, line))

    async def _rouse(self, line: OpenChannel) -> None:
        self._inbound.strangers.remind(line.channel.door)
        found = await self.chat_sessions.rouse(line)
        logger.info("%s: %d turns are gone on with", line.channel.door, found)

    def _report(self, door: str, health: Health) -> None:
        before = self.standings.get(door)
        heard = before.heard if before else 0
        self.standings[door] = ChannelStatus(door, health, self._services.clock(), heard)
        if health.gap_ms:
            seconds = health.gap_ms / 1000
            logger.warning("channel %s heard nothing for %.0f s: %s", door, seconds, health.why)
        elif health.state is not ConnectionHealth.CONNECTED:
            logger.info("channel %s is %s: %s", door, health.state.value, health.why)
        self._changed()

    def _context_of(self, door: str) -> ChannelContext:
        folder = self._services.home / "channels" / door
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

        async def secret(where: Secret) -> str:
            return await self._services.tokens.read(door, where)

        async def recall(key: str) -> str:
            return await self._services.key_value.get(f"channel:{door}:{key}")

        async def remember(key: str, value: str) -> None:
            await self._services.key_value.put(f"channel:{door}:{key}", value)

        return ChannelContext(
            door=door,
            folder=folder,
            clock=self._services.clock,
            secret=secret,
            recall=recall,
            remember=remember,
            report=partial(self._report, door),
            commands=menu(CommandPlace.CHAT),
        )
