"""A fake Slack on loopback, with people on it, for the conformance checks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.port import ChannelContext
from angelia.channels.slack.channel import SlackChannel
from angelia.channels.slack.settings import SlackSettings, SlackWaits
from angelia.core.entry import Address
from angelia.testing.changes import Changes
from angelia.testing.channels.network import ChannelTimeouts, Thing, Trouble, Who
from angelia.testing.channels.webhook_door import WebhookDoor
from tests.channels.slack import world as w
from tests.channels.slack.bringing import Courier, News, SocketMode
from tests.channels.slack.web import Web

_WHO = {Who.FRIEND: w.FRIEND, Who.BOT: w.OTHER_APP, Who.OURSELVES: w.US}


class Slack:
    """See `FakeNetwork`. `transport` is that of the channel's settings."""

    secrets: Mapping[str, str] = {
        "SLACK_BOT_TOKEN": w.TOKEN,
        "SLACK_APP_TOKEN": w.APP_TOKEN,
        "SLACK_SIGNING_SECRET": w.SECRET,
    }
    here, group, nowhere = Address("", w.DIRECT), Address("", w.GROUP), Address("", "C0404")
    broken = ""
    keeps, takes_empty, forwards = True, False, True

    def __init__(self, transport: str) -> None:
        self.world, self.changes = w.World(), Changes()
        self.web = Web(self.world, self.changes, self.happen)
        self.socket = SocketMode(self.web, self.changes)
        self.door = WebhookDoor()
        self.courier = Courier(self.door, self.changes)
        self.transport = transport
        self.topic = Address("", w.GROUP, self.world.topic)
        self.arrived = self.world.arrived
        self.brought: list[News] = []
        self.timeouts: dict[str, float] = {}
        self._muted = False

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> SlackChannel:
        """See `FakeNetwork.open`."""
        settings = SlackSettings(api=f"{self.web.base}/api", transport=self.transport)  # type: ignore[arg-type]
        timeouts = {"answer": patience.answer, "silence": patience.silence, "pause": patience.pause, "visit": 0.05}
        timeouts["look"] = min(0.05, patience.silence)
        self.door.channel = channel = SlackChannel(settings, context, SlackWaits(**(timeouts | self.timeouts)))
        return channel

    def called(self, name: str) -> str:
        """See `FakeNetwork.called`."""
        return name

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `FakeNetwork.lower`."""
        self.world.largest = min(limits.values())

    def misbehave(self, *troubles: Trouble) -> None:
        """See `FakeNetwork.misbehave`."""
        self.web.troubles = list(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `FakeNetwork.bring`."""
        return tuple([self._happen(thing) for thing in things])

    async def repeat(self) -> None:
        """See `FakeNetwork.repeat`."""
        for news in reversed(list(self.brought)):
            self._carry(news)

    async def down(self) -> None:
        """See `FakeNetwork.down`."""
        self.courier.visiting = False
        await self.web.down()
        await self.socket.down()

    async def up(self) -> None:
        """See `FakeNetwork.up`."""
        self.courier.visiting = True
        if self._muted:
            self._muted = self.web.mute = self.socket.mute = False
            await self.socket.down()
            await self.socket.up()
        else:
            await self.web.up()
            await self.socket.up()
        self.changes.tell()

    async def swallow(self) -> None:
        """See `FakeNetwork.swallow`."""
        self._muted = self.web.mute = True
        self.courier.visiting = False
        self.socket.swallow()

    def revoke(self) -> None:
        """See `FakeNetwork.revoke`."""
        self.web.valid = False

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `FakeNetwork.when`."""
        await self.changes.when(holds)

    # -- what people do -----------------------------------------------------------------------------------------

    def happen(self, event: dict[str, Any]) -> None:
        """An event, wrapped as Slack does."""
        number = self.world.number()
        wrapped = {"type": "event_callback", "event_id": f"Ev{number}", "event": event, "team_id": "T0TEAM"}
        self._bring(News("events_api", wrapped | {"api_app_id": "A0APP", "event_time": 1}))

    def _bring(self, news: News) -> None:
        self.brought.append(news)
        self._carry(news)

    def _carry(self, news: News) -> None:
        if self.transport == "http":
            self.courier.bring(news)
        else:
            self.socket.bring(news)

    def _happen(self, thing: Thing) -> str:
        chat = thing.where.chat
        place = {"channel": chat, "channel_type": "im" if chat[0] == "D" else "channel"}
        match thing.heard:
            case IncomingKind.EDIT | IncomingKind.DELETION:
                return self._change(thing, place)
            case IncomingKind.REACTION:
                item = {"type": "message", "channel": chat, "ts": thing.about}
                told = {"user": w.FRIEND, "reaction": "+1", "item_user": w.US, "item": item}
                self.happen({"type": "reaction_added", "event_ts": self.world.now()} | told)
                return thing.about
            case IncomingKind.COMMAND:
                told = {"command": "/angelia", "text": thing.text.removeprefix("/"), "channel_id": chat}
                self._bring(News("slash_commands", told | self._used() | {"user_id": w.FRIEND, "user_name": "ann"}))
                return ""
            case IncomingKind.BUTTON:
                self._press(thing)
                return thing.about
            case _:
                return self._say(thing, place)

    def _change(self, thing: Thing, place: dict[str, str]) -> str:
        before = dict(self.world.messages[thing.where.chat][thing.about])
        hidden = {"type": "message", "hidden": True, "ts": self.world.now(), "previous_message": before} | place
        if thing.heard is IncomingKind.DELETION:
            del self.world.messages[thing.where.chat][thing.about]
            self.happen(hidden | {"subtype": "message_deleted", "deleted_ts": thing.about})
            return thing.about
        edited = {"text": _wire(thing.text), "edited": {"user": w.FRIEND, "ts": self.world.now()}}
        message = before | edited
        self.world.messages[thing.where.chat][thing.about] = message
        self.happen(hidden | {"subtype": "message_changed", "message": message})
        return thing.about

    def _used(self) -> dict[str, Any]:
        """What comes with everything that a person uses."""
        return {"trigger_id": f"1.2.{self.world.number()}", "response_url": f"{self.web.base}/respond"}

    def _press(self, thing: Thing) -> None:
        message = self.world.messages[thing.where.chat][thing.about]
        stands = {"type": "message", "message_ts": thing.about, "channel_id": thing.where.chat}
        actions = [{"type": "button", "action_id": "angelia-0", "value": thing.value, "action_ts": self.world.now()}]
        told: dict[str, Any] = {"type": "block_actions", "user": {"id": w.FRIEND, "username": "ann", "name": "ann"}}
        told |= {"container": stands, "channel": {"id": thing.where.chat}, "message": message, "actions": actions}
        self._bring(News("interactive", told | self._used()))

    def _say(self, thing: Thing, place: dict[str, str]) -> str:
        more: dict[str, Any] = {"thread_ts": thing.where.thread} if thing.where.thread else {}
        if thing.files:
            more |= {"subtype": "file_share", "files": [self._file(thing, one) for one in range(len(thing.files))]}
        text = f"<@{w.US}> {_wire(thing.text)}" if thing.to_us else _wire(thing.text)
        if thing.forwarded:
            text, more = "", self._shared(text, more)
        message = self.world.write(thing.where.chat, _WHO[thing.who], text, **more)
        self.happen(message | place | {"event_ts": message["ts"]})
        if thing.to_us and thing.who is Who.FRIEND:
            self.happen(message | {"type": "app_mention", "channel": thing.where.chat, "event_ts": message["ts"]})
        return str(message["ts"])

    def _shared(self, text: str, more: dict[str, Any]) -> dict[str, Any]:
        """What somebody shares: the other's message is an attachment, with its files."""
        shared = {"is_share": True, "is_msg_unfurl": True, "ts": self.world.now(), "channel_id": "C0ELSEWHERE", "id": 1}
        shared |= {"author_id": "U0EVE", "author_name": "Eve", "fallback": f"Eve: {text}", "text": text}
        shared |= {
            "mrkdwn_in": ["text"],
            "footer": "Slack Conversation",
            "from_url": "https://team.slack.com/archives/C",
        }
        thread = {"thread_ts": more["thread_ts"]} if "thread_ts" in more else {}
        return thread | {"attachments": [shared | ({"files": more["files"]} if "files" in more else {})]}

    def _file(self, thing: Thing, number: int) -> dict[str, Any]:
        sample = thing.files[number]
        clip = {"subtype": "slack_audio", "duration_ms": 1000} if thing.heard is IncomingKind.VOICE else {}
        return self.world.keep(sample.name, sample.data, self.web.base, sample.mime, **clip)


def _wire(text: str) -> str:
    """Words as Slack tells them ("Formatting text", Escaping text)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@asynccontextmanager
async def _slack(transport: str) -> AsyncIterator[Slack]:
    network = Slack(transport)
    await network.web.up()
    await network.socket.up()
    await network.door.__aenter__()
    bringing = asyncio.create_task(network.courier.run())
    try:
        yield network
    finally:
        bringing.cancel()
        await asyncio.wait([bringing])
        await network.door.__aexit__(None, None, None)
        await network.web.close()
        await network.socket.down()


@asynccontextmanager
async def slack() -> AsyncIterator[Slack]:
    """A fresh one that is connected to."""
    async with _slack("socket") as network:
        yield network


@asynccontextmanager
async def slack_by_http() -> AsyncIterator[Slack]:
    """A fresh one that comes to a webhook."""
    async with _slack("http") as network:
        yield network
