"""One personal number as a channel: the bridge kept alive, what it tells handed in, what goes out handed to it."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from angelia.cancellation import end_if_cancelled
from angelia.channels.capabilities import Capabilities
from angelia.channels.connection_state import ConnectionState
from angelia.channels.failures import (
    CannotFetch,
    ChannelError,
    Later,
    LoginFailed,
    MessageGone,
    NotSent,
    Rejected,
    Unsure,
)
from angelia.channels.incoming import Hear, OfferedFile
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.marks import WhatsAppMarks
from angelia.channels.multipart import pieces
from angelia.channels.outgoing import Outgoing, OutText
from angelia.channels.per_chat_queue import PerChatQueue
from angelia.channels.port import ChannelContext, ChannelProvider
from angelia.channels.whatsapp.bridge.capabilities import capabilities
from angelia.channels.whatsapp.bridge.install import install, is_installed
from angelia.channels.whatsapp.bridge.linking import LOGGED_OUT, linked
from angelia.channels.whatsapp.bridge.process import Bridge, BridgeFailed
from angelia.channels.whatsapp.bridge.receive import Told, envelope
from angelia.channels.whatsapp.bridge.send import content_of, jid, not_linked, number_of, told
from angelia.channels.whatsapp.bridge.settings import BridgeWaits, PersonalSettings
from angelia.core.entry import Address

_RESTART = 515
_REPLACED = 440
"""How a connection can end (Baileys, `DisconnectReason`)."""

_TRYING = 60.0
"""Seconds for which a send waits to learn how a try to connect ends."""

_STARTING = 20.0
"""Seconds that Node may take to load the bridge."""

_STUCK = 1800.0
"""Seconds after which a bridge that was asked for something is taken for stuck: 100 MB at 0.5 Mbit/s take 1,600."""


class PersonalChannel:
    """One personal number, as a device that is linked to its phone. See `Channel` and `HasLinking`.

    What comes in is on the disk before it is handed in, and is handed in again after a restart until it is taken; yet
    WhatsApp is told of its arrival by the library itself, a moment earlier.
    """

    def __init__(self, settings: PersonalSettings, context: ChannelContext, timeouts: BridgeWaits) -> None:
        self.door = context.door
        self.capabilities: Capabilities = capabilities()
        self.dialect: Dialect = WhatsAppMarks()
        self._settings = settings
        self._context = context
        self._timeouts = timeouts
        self._modules = Path(settings.modules) if settings.modules else context.folder / "node"
        self._bridge: Bridge | None = None  # while it is connected
        self._tried = asyncio.Event()  # not set while it is open how a try to connect will end
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence)

    # -- in -----------------------------------------------------------------------------------------------------

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        self._tried.clear()
        queue = PerChatQueue(hear, self._connection_state.trouble, self._timeouts.pause)
        try:
            await self._connection_state.hold(lambda: self._live(queue))
        finally:
            self._tried.set()  # whoever waits is told
            await queue.close()

    async def link(self, show: Callable[[str], None]) -> str:
        """See `HasLinking.link`."""
        if not is_installed(self._modules):
            show("The bridge's packages are installed by npm; this may take a minute.")
            await install(self._modules)
        return await linked(self._started, self._context.folder / "auth", show)

    def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """See `Channel.fetch`."""
        return self._fetched(offer.handle)

    async def _live(self, queue: PerChatQueue) -> NoReturn:
        """One life of the bridge; ends with the reason why it ended."""
        if not is_installed(self._modules):
            raise not_linked(self.door, "the bridge is not installed")
        bridge, connected = await self._started(), False
        watched = asyncio.create_task(self._watch(bridge))
        try:
            why: ChannelError | None = None
            async with aclosing(bridge.events()) as events:
                async for event in events:
                    why = self._heed(event, queue, bridge) or why
                    connected = connected or self._bridge is bridge
            raise why or NotSent("The WhatsApp bridge ended.")
        finally:
            self._part()
            if not connected:
                self._tried.set()
            watched.cancel()
            await bridge.end()

    async def _watch(self, bridge: Bridge) -> None:
        """Ask for signs of life of a bridge, which ends it if it is stuck; the connection it watches by itself."""
        with suppress(BridgeFailed):
            while True:
                end_if_cancelled()
                await asyncio.sleep(self._timeouts.silence / 2)
                await bridge.ask("ping", max(self._timeouts.silence, _STARTING))

    def _heed(self, event: dict[str, Any], queue: PerChatQueue, bridge: Bridge) -> ChannelError | None:
        """One event; the reason why the connection cannot go on, if it tells one."""
        match event["event"]:
            case "open":
                self._connected(bridge)
            case "in":
                self._take(event, queue, bridge)
            case "trouble":
                self._connection_state.trouble(f"A message could not be read: {event['why']}.")
            case "qr":
                return self._ended(bridge, not_linked(self.door, "no phone has linked this device"))
            case "closed":
                return self._ended(bridge, self._closed(event["code"], event["why"]))
            case "ended" if event["why"]:
                return NotSent(f"The WhatsApp bridge ended: {event['why']}.")
            case _:
                pass
        return None

    def _ended(self, bridge: Bridge, why: ChannelError) -> ChannelError:
        """Nothing is sent through it any more; what was asked before is still answered."""
        self._part()
        bridge.finish()
        return why

    def _part(self) -> None:
        """What is sent from now on waits for how the next try to connect ends."""
        self._bridge = None
        self._tried.clear()

    def _take(self, event: dict[str, Any], queue: PerChatQueue, bridge: Bridge) -> None:
        thing = msgspec.convert(event["what"], Told)

        async def read() -> Any:
            return envelope(thing, self.door)

        def forget(done: asyncio.Future[str]) -> None:
            if not done.cancelled():
                bridge.tell("taken", name=event["name"])

        queue.put(thing.chat, thing.id, read).add_done_callback(forget)

    # -- out ----------------------------------------------------------------------------------------------------

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """See `Channel.send`."""
        content = content_of(outgoing, self.capabilities, self.dialect)
        quoted = outgoing.reply_to
        return str(await self._ask("send", to, content=content, messageId=number_of(key), quoted=quoted))

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """See `Channel.edit`."""
        await self._ask(
            "edit",
            to,
            message=message,
            text=content_of(text, self.capabilities, self.dialect)["text"],
            messageId=number_of(secrets.token_hex()),
        )

    async def delete(self, to: Address, message: str) -> None:
        """See `Channel.delete`."""
        await self._ask("delete", to, message=message, messageId=number_of(secrets.token_hex()))

    async def typing(self, to: Address) -> None:
        """See `Channel.typing`."""
        await self._ask("typing", to)

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """See `Channel.react`."""
        await self._ask("react", to, message=message, emoji=emoji, messageId=number_of(secrets.token_hex()))

    async def close(self) -> None:
        """See `Channel.close`: the bridge ends with `run`."""

    async def probe(self) -> None:
        """See `HasProbe.probe`: the bridge is there as long as WhatsApp answers it."""
        await self._ready()

    async def _ask(self, do: str, to: Address, **more: Any) -> Any:
        """Have the bridge do something in a chat; raises as `Channel.send`."""
        bridge = await self._ready()
        try:
            return await bridge.ask(do, _STUCK, jid=jid(to.chat), **more)
        except BridgeFailed as failed:
            raise told(failed, self.door) from failed

    async def _ready(self) -> Bridge:
        with suppress(TimeoutError):
            async with asyncio.timeout(_TRYING):
                await self._tried.wait()
        if self._bridge is None:
            raise self._connection_state.refused or NotSent(
                "The connection to WhatsApp is not there.", then="It is tried again."
            )
        return self._bridge

    async def _fetched(self, message: str) -> AsyncIterator[bytes]:
        path = self._context.folder / f"coming-{secrets.token_hex(8)}"
        try:
            await self._ask("fetch", Address(self.door), message=message, path=str(path))
            async for piece in pieces(path):
                yield piece
        except (MessageGone, Rejected) as error:
            raise CannotFetch("The file cannot be had from WhatsApp any more.", error.what) from error
        except (Unsure, Later, LoginFailed) as error:
            raise NotSent(error.what) from error
        finally:
            path.unlink(missing_ok=True)

    # -- how it goes --------------------------------------------------------------------------------------------

    async def _started(self) -> Bridge:
        self._context.folder.mkdir(parents=True, exist_ok=True)
        options = {"answer": self._timeouts.answer, "silence": self._timeouts.silence}
        return await Bridge.start(self._settings.node, self._context.folder, self._modules, options)

    def _closed(self, code: int, why: str) -> ChannelError:
        if code in LOGGED_OUT:
            return not_linked(self.door, "WhatsApp does not know this device any more")
        if code == _RESTART:
            self._connection_state.failures = 0
        also = " Another program is connected with this login." if code == _REPLACED else ""
        return NotSent(f"The connection to WhatsApp ended ({code} {why}).{also}")

    def _connected(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._tried.set()
        self._connection_state.well()


CHANNEL = ChannelProvider(PersonalSettings, partial(PersonalChannel, timeouts=BridgeWaits()))
