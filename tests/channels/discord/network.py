"""A fake Discord on loopback, with people on it, for the conformance checks."""

import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.discord.channel import DiscordChannel
from angelia.channels.discord.settings import DiscordSettings, DiscordWaits
from angelia.channels.port import ChannelContext
from angelia.core.entry import Address
from angelia.testing.changes import Changes
from angelia.testing.channels.network import ArrivedMessage, ChannelTimeouts, Thing, Trouble, Who
from tests.channels.discord import world as w
from tests.channels.discord.gateway import Gateway
from tests.channels.discord.rest import Rest

_WHO = {Who.FRIEND: w.FRIEND, Who.BOT: w.OTHER_BOT, Who.OURSELVES: w.US}


class Discord:
    """See `FakeNetwork`."""

    secrets: Mapping[str, str] = {"DISCORD_BOT_TOKEN": w.TOKEN}
    here, group, topic = Address("", w.DIRECT), Address("", w.GROUP), Address("", w.GROUP, w.TOPIC)
    nowhere = Address("", "404404")
    broken = ""
    keeps = takes_empty = forwards = True

    def __init__(self) -> None:
        self.world, self.changes = w.World(), Changes()
        self.gateway = Gateway(self.world, self.changes)
        self.rest = Rest(self.world, self.changes, self._tell)
        self.arrived: list[ArrivedMessage] = self.rest.arrived
        self._brought: list[tuple[str, dict[str, Any]]] = []
        self.settings: dict[str, Any] = {"groups": "all"}

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> DiscordChannel:
        """See `FakeNetwork.open`."""
        settings = DiscordSettings(api=f"{self.rest.base}/api/v10", cdn=f"{self.rest.base}/cdn", **self.settings)
        return DiscordChannel(settings, context, DiscordWaits(patience.answer, patience.silence, patience.pause))

    def called(self, name: str) -> str:
        """See `FakeNetwork.called`."""
        return name

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `FakeNetwork.lower`."""
        self.world.lowered = min(limits.values())

    def misbehave(self, *troubles: Trouble) -> None:
        """See `FakeNetwork.misbehave`."""
        self.rest.troubles = list(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `FakeNetwork.bring`."""
        return tuple([self._happen(thing) for thing in things])

    async def repeat(self) -> None:
        """See `FakeNetwork.repeat`."""
        for name, data in reversed(list(self._brought)):
            self.gateway.tell(name, data)

    async def down(self) -> None:
        """See `FakeNetwork.down`."""
        await self.rest.down()
        await self.gateway.down()

    async def up(self) -> None:
        """See `FakeNetwork.up`."""
        if self.rest.mute:
            self.rest.mute = self.gateway.mute = False
            return
        await self.rest.up()
        await self.gateway.up()

    async def swallow(self) -> None:
        """See `FakeNetwork.swallow`."""
        self.rest.mute = self.gateway.mute = True

    def revoke(self) -> None:
        """See `FakeNetwork.revoke`."""
        self.rest.valid = self.gateway.valid = False

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `FakeNetwork.when`."""
        await self.changes.when(holds)

    def _happen(self, thing: Thing) -> str:
        channel = thing.where.thread or thing.where.chat
        match thing.heard:
            case IncomingKind.EDIT:
                message = self.world.messages[thing.about]
                message |= {"content": thing.text, "edited_timestamp": w.now()}
                self._bring("MESSAGE_UPDATE", message)
                return thing.about
            case IncomingKind.DELETION:
                del self.world.messages[thing.about]
                self._bring("MESSAGE_DELETE", {"id": thing.about, "channel_id": channel})
                return thing.about
            case IncomingKind.REACTION:
                emoji = {"id": None, "name": thing.text}
                said = {"user_id": w.FRIEND, "channel_id": channel, "message_id": thing.about, "emoji": emoji}
                self._bring("MESSAGE_REACTION_ADD", said | {"message_author_id": w.US, "burst": False, "type": 0})
                return thing.about
            case IncomingKind.COMMAND:
                name, _, words = thing.text.removeprefix("/").partition(" ")
                options = [{"name": "text", "type": 3, "value": words}] if words else []
                self._use(channel, 2, {"id": "1", "name": name, "type": 1, "options": options})
                return ""
            case IncomingKind.BUTTON:
                on = {"message": self.world.messages[thing.about]}
                self._use(channel, 3, {"custom_id": thing.value, "component_type": 2}, **on)
                return thing.about
            case _:
                return self._say(thing, channel)

    def _use(self, channel: str, kind: int, data: dict[str, Any], **more: Any) -> None:
        """An interaction."""
        number, person = self.world.new_id(), w.USERS[w.FRIEND]
        told = {"id": number, "application_id": w.APPLICATION, "type": kind, "token": f"t{number}", "version": 1}
        who = {"member": w.member() | {"user": person, "permissions": "0"}} if w.guild_of(channel) else {"user": person}
        there = {"channel_id": channel, "channel": w.channel(channel), "data": data, "context": 1}
        there |= {"attachment_size_limit": self.world.limit(channel), "entitlements": []}
        there |= {"authorizing_integration_owners": {}, "locale": "en-US", "app_permissions": "0"}
        self._bring("INTERACTION_CREATE", told | who | there | more)

    def _say(self, thing: Thing, channel: str) -> str:
        """A message."""
        more: dict[str, Any] = {}
        content = f"<@{w.US}> {thing.text}" if thing.to_us else thing.text
        if thing.to_us:
            more["mentions"] = [w.USERS[w.US]]
        if thing.answers:
            reference = {"message_id": thing.answers, "channel_id": channel, "type": 0}
            answered = self.world.messages.get(thing.answers)
            more |= {"type": 19, "message_reference": reference, "referenced_message": answered}
        if thing.heard is IncomingKind.STICKER:
            number = self.world.new_id()
            self.world.stickers[number] = thing.files[0].data
            more["sticker_items"] = [{"id": number, "name": "wave", "format_type": 1}]
        else:
            more["attachments"] = [self._attached(thing, index) for index in range(len(thing.files))]
        if thing.heard is IncomingKind.VOICE:
            more["flags"] = 1 << 13
        if thing.forwarded:
            content, more = "", _passed_on(content, more)
        message = self.world.write(_WHO[thing.who], channel, content, **more)
        self._bring("MESSAGE_CREATE", message)
        return str(message["id"])

    def _attached(self, thing: Thing, index: int) -> dict[str, Any]:
        sample, more = thing.files[index], {}
        if thing.heard is IncomingKind.VOICE:
            more = {"duration_secs": 1.0, "waveform": base64.b64encode(bytes(8)).decode()}
        return self.world.attach(sample.data, sample.name, f"{self.rest.base}/cdn", **more)

    def _bring(self, name: str, data: dict[str, Any]) -> None:
        """Something that somebody did."""
        self._brought.append((name, dict(data)))
        self._tell(name, dict(data))

    def _tell(self, name: str, data: dict[str, Any]) -> None:
        """Tell it by the gateway, with what only that adds."""
        if guild := w.guild_of(str(data.get("channel_id", ""))):
            data = data | {"guild_id": guild}
            if "author" in data:
                data |= {"member": w.member()}
        self.gateway.tell(name, data)
        self.changes.tell()


def _passed_on(content: str, more: dict[str, Any]) -> dict[str, Any]:
    """A forward says nothing itself: it refers to a message, and holds a snapshot of it, without its author."""
    said = {"type": 0, "content": content, "timestamp": w.now(), "edited_timestamp": None, "flags": 0}
    lists: dict[str, Any] = {"mentions": [], "mention_roles": [], "embeds": [], "attachments": [], "components": []}
    reference = {"type": 1, "message_id": "700100", "channel_id": "700200"}
    snapshot = {"message": said | lists | more}
    return {"flags": 1 << 14, "message_reference": reference, "message_snapshots": [snapshot], "attachments": []}


@asynccontextmanager
async def discord() -> AsyncIterator[Discord]:
    """A fresh one."""
    network = Discord()
    await network.gateway.up()
    await network.rest.up()
    network.rest.gateway = network.gateway.url
    try:
        yield network
    finally:
        await network.down()
