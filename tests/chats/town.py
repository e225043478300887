"""A home whose gateway is open to one recording channel; it can be closed without warning and opened again."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from angelia.channels.capabilities import Capabilities
from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender, Noticed, OfferedFile, Pressed
from angelia.channels.markup.dialect import Dialect
from angelia.channels.settings import ChannelSettings
from angelia.core import entry as e
from angelia.core.ids import Clock, wall_clock
from angelia.engine.state import Turn
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel, wait
from angelia.service.settings.config import load
from angelia.testing.channels.recording_channel import ABILITIES, FarEnd, RecordingChannel
from angelia.testing.model.server import ModelServer
from tests.promise.lives import environment

ANN = IncomingSender("1", "Ann")
BEN = IncomingSender("2", "Ben")
STRANGER = IncomingSender("99", "Stranger")
OPEN = ChannelSettings(owners=("1",), allow=("2",))
_numbers = count(1)


def envelope(
    what: IncomingMessage | Pressed | Noticed | str,
    *,
    chat: str = "7",
    sender: IncomingSender = ANN,
    key: str = "",
    private: bool = True,
) -> Envelope:
    """One thing that somebody did."""
    said = IncomingMessage(what) if isinstance(what, str) else what
    number = key or f"m{next(_numbers)}"
    return Envelope(e.Address("chat", chat), number, sender, said, message=number, private=private)


class Town:
    """One life of a gateway; `far` is the network, which outlives it."""

    def __init__(self, app: App, gateway: Gateway, channel: RecordingChannel) -> None:
        self.app, self.gateway, self.channel = app, gateway, channel
        self.far = channel.far

    async def says(
        self,
        what: IncomingMessage | Pressed | Noticed | str,
        *,
        chat: str = "7",
        sender: IncomingSender = ANN,
        key: str = "",
        private: bool = True,
    ) -> str:
        """Somebody does something, in private if nothing else is said, and it is acknowledged."""
        return await self.channel.bring(envelope(what, chat=chat, sender=sender, key=key, private=private))

    async def offers(
        self, data: bytes, offer: OfferedFile, text: str = "", *, chat: str = "7", sender: IncomingSender = ANN
    ) -> str:
        """Somebody sends a file."""
        self.far.files[offer.handle] = data
        return await self.says(IncomingMessage(text, (offer,)), chat=chat, sender=sender)

    async def answered(self, count_: int, chat: str = "7") -> list[str]:
        """The words in a chat once there are so many messages, and none is a preview."""
        await self.far.when(
            lambda far: len(far.in_chat(chat)) >= count_ and not any(text.endswith("…") for text in far.texts(chat))
        )
        return self.far.texts(chat)

    async def settled(self) -> None:
        """Wait until nothing is queued or under way."""
        async with asyncio.timeout(60):
            while await self.app.outbox.pending("chat"):
                await wait(None, 0.01)

    def turns(self) -> list[Turn]:
        """Where the conversations stand that are open now."""
        return [one.session.turn for one in self.gateway.chat_sessions._open.values()]

    async def facts(self, chat: str = "7") -> list[e.AnyFact]:
        """The log of a chat's conversation."""
        conversation = await self.app.doors.conversation(e.Address("chat", chat))
        assert conversation is not None
        return [entry.fact for entry in await self.app.transcript.entries(conversation)]


@asynccontextmanager
async def town(
    folder: Path,
    server: ModelServer,
    far: FarEnd,
    settings: ChannelSettings = OPEN,
    capabilities: Capabilities = ABILITIES,
    sets: Sequence[str] = ("sandbox.confine=off",),
    clock: Clock = wall_clock,
    dialect: Dialect | None = None,
) -> AsyncIterator[Town]:
    """A life."""
    env = environment(folder, server)
    (folder / "person").mkdir(parents=True, exist_ok=True)
    app = await App.open(load(folder / "home", env, sets, {"model": "openai-chat:m"}), env, clock)
    gateway = Gateway(app.chat_services)
    channel = RecordingChannel(far, capabilities=capabilities, dialect=dialect)
    gateway.begin([OpenChannel(channel, replace(settings))])
    try:
        yield Town(app, gateway, channel)
    finally:
        await gateway.close()
        await app.close()
