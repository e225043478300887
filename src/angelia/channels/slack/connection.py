"""How the app hears: Slack is stayed connected to, or looked after; and what was missed is read from the chats."""

import asyncio
import logging
import random
from contextlib import suppress
from functools import partial
from typing import NoReturn

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import end_if_cancelled
from angelia.channels.connection_state import ConnectionState
from angelia.channels.failures import ChannelError, LoginFailed, Rejected
from angelia.channels.incoming import Hear
from angelia.channels.lenient import read
from angelia.channels.missed import AskHistory, MissedMessages
from angelia.channels.per_chat_queue import PerChatQueue
from angelia.channels.port import ChannelContext
from angelia.channels.slack.api import SlackApi, SlackAsked
from angelia.channels.slack.history import since
from angelia.channels.slack.intake import Once, SlackIntake, action, command, event
from angelia.channels.slack.ledger import SlackLedger
from angelia.channels.slack.payloads import Callback, Opened, SlackFrame, SlackNews, Us
from angelia.channels.slack.people import People
from angelia.channels.slack.receive import Head, SlackReader
from angelia.channels.slack.refusals import login_failed
from angelia.channels.slack.settings import SlackSettings, SlackWaits
from angelia.channels.slack.socket import SlackSocket, opened
from angelia.channels.slack.threads import Threads
from angelia.channels.slack.webhook import SlackWebhook

log = logging.getLogger(__name__)

MOST_CHATS = 50
"""Chats and threads that are remembered, to ask them what was missed: as many as Slack answers in a minute ("Rate
limits", tier 3).
"""

NOTED = 10_000
"""Milliseconds after which the memory is written again: what a killed process had not noted comes twice."""

DRAIN = 60.0
"""Seconds for which a connection that Slack is about to end is still listened to, beside the new one."""

_MEMORY = "connection"


class SlackMemory(Struct, frozen=True):
    """What outlives a restart: the moment before which everything was taken in (microseconds), and the chats that spoke
    to us, each followed by a slash and its thread, the latest last.
    """

    mark: int = 0
    chats: tuple[str, ...] = ()


class SlackConnection:
    """The receiving half of the channel.

    Slack brings what was not acknowledged again, up to three times within six minutes. What it gave up is read from the
    chats after each gap. What comes twice has the same key.
    """

    def __init__(self, settings: SlackSettings, context: ChannelContext, api: SlackApi, timeouts: SlackWaits) -> None:
        self._settings = settings
        self._context = context
        self._api = api
        self._timeouts = timeouts
        self.webhook = SlackWebhook(lambda: context.secret(settings.signing_secret), context.clock, timeouts.visit)
        self._people = People(api)
        self._memory, self._remembered = SlackMemory(), 0
        self._ledger = SlackLedger(0)
        self._intake: SlackIntake | None = None
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence)

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        self._memory = _memory(await self._context.recall(_MEMORY))
        self._ledger = SlackLedger(self._memory.mark or self._context.clock() * 1000)
        queue = PerChatQueue(Once(hear).hear, self._connection_state.trouble, self._timeouts.pause)
        try:
            missed = MissedMessages(queue, self._connection_state.trouble, self._timeouts.pause)
            await self._connection_state.hold(lambda: self._stay(missed))
        finally:
            self.webhook.end()
            await queue.close()
            self._intake = None
            await self._remember()

    async def _stay(self, missed: MissedMessages) -> NoReturn:
        us = await self._api.call("auth.test", {}, Us, SlackAsked(wait=self._timeouts.silence))
        if self._intake is None:
            verbs = self._context.commands
            door, threads = self._context.door, Threads(self._api)
            reader = SlackReader(door, us.user_id, self._people, threads, self._settings.command, verbs)
            self._intake = SlackIntake(
                reader, missed, self._ledger, self._note, self._connection_state.trouble, self._api
            )
        if self._settings.transport == "http":
            await self._look_after(self._intake, missed)
        await self._listen(self._intake, missed)

    # -- webhooks ---------------------------------------------------------------------------------------------------

    async def _look_after(self, intake: SlackIntake, missed: MissedMessages) -> NoReturn:
        """Slack comes to us; what can be seen is whether it is there at all. Where its clock is not ours, what it could
        not bring is read from the chats.

        Raises:
            NotSent: it brought what was signed at another time.
        """
        await self._connected(intake, missed)
        self.webhook.begin(intake)
        while True:
            end_if_cancelled()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timeouts.look):
                    await self.webhook.differ.wait()
                raise self.webhook.clocks_differ()
            await self._api.call("auth.test", {}, Us, SlackAsked(wait=self._timeouts.silence))
            await self._remember()

    # -- Socket Mode ------------------------------------------------------------------------------------------------

    async def _listen(self, intake: SlackIntake, missed: MissedMessages) -> NoReturn:
        """Stay connected. Slack says when it is about to end a connection: then the next is there before it goes."""
        socket = await self._open()
        try:
            await self._connected(intake, missed)
            while True:
                end_if_cancelled()
                async for frame in socket.frames():
                    if frame.type == "disconnect":
                        _look_at(frame.reason)
                        break
                    await self._take(frame, socket, intake, missed.queue)
                await asyncio.sleep(self._timeouts.pause * random.random())  # noqa: S311 - never in step with others
                fresh = await self._open()
                missed.queue.begin(self._drain(socket, intake, missed.queue))
                socket = fresh
        finally:
            await socket.close()

    async def _open(self) -> SlackSocket:
        asked = SlackAsked(self._settings.app_token, self._timeouts.silence)
        try:
            url = (await self._api.call("apps.connections.open", {}, Opened, asked)).url
        except Rejected as refused:
            raise login_failed(refused.what) from refused
        return await opened(url, self._timeouts.silence)

    async def _drain(self, socket: SlackSocket, intake: SlackIntake, queue: PerChatQueue) -> None:
        try:
            async with asyncio.timeout(DRAIN):
                async for frame in socket.frames():
                    await self._take(frame, socket, intake, queue)
        except (ChannelError, TimeoutError):
            return
        finally:
            await socket.close()

    async def _take(self, frame: SlackFrame, socket: SlackSocket, intake: SlackIntake, queue: PerChatQueue) -> None:
        """Begin to hand in what a frame brings; it is acknowledged when that is done."""
        if not frame.envelope_id:
            return
        try:
            news = _news(frame)
        except msgspec.MsgspecError as error:
            log.warning("a frame %s cannot be read: %s", frame.type, error)
            self._connection_state.trouble(f"Slack told something in a form that is not known ({frame.type}): {error}.")
            news = None
        taken = intake.take(news) if news else None
        queue.begin(_acknowledge(socket, frame.envelope_id, taken))
        if self._context.steady() - self._remembered > NOTED:
            await self._remember()

    # -- what was missed --------------------------------------------------------------------------------------------

    async def _connected(self, intake: SlackIntake, missed: MissedMessages) -> None:
        """Everything said from now on is heard, and what was said before is read where somebody spoke to us."""
        self._connection_state.well()
        mark = self._ledger.mark
        for place in reversed(self._memory.chats):
            chat, _, thread = place.partition("/")
            if done := missed.read(chat, thread, partial(self._read_missed, intake, chat, thread, mark)):
                self._ledger.note(mark + 1, done)
        await self._remember()

    async def _read_missed(self, intake: SlackIntake, chat: str, thread: str, mark: int, ask: AskHistory) -> None:
        await intake.take_missed(await since(self._api, chat, thread, mark, ask))

    def _note(self, head: Head) -> None:
        place = f"{head.chat}/{head.thread}".removesuffix("/")
        others = [one for one in self._memory.chats if one != place]
        known = len(others) < len(self._memory.chats)
        self._memory = replace(self._memory, chats=(*others[-MOST_CHATS + 1 :], place))
        if not known:
            self._remembered = 0  # a chat that is not written down would not be asked

    async def _remember(self) -> None:
        self._remembered = self._context.steady()
        kept = replace(self._memory, mark=self._ledger.mark)
        await self._context.remember(_MEMORY, msgspec.json.encode(kept).decode())


async def _acknowledge(socket: SlackSocket, envelope: str, taken: asyncio.Future[str] | None) -> None:
    if taken is not None:
        await asyncio.shield(taken)
    await socket.acknowledge(envelope)


def _news(frame: SlackFrame) -> SlackNews | None:
    body = bytes(frame.payload)
    match frame.type:
        case "events_api":
            return event(read(body, Callback))
        case "slash_commands":
            return command(body)
        case "interactive":
            return action(body)
        case _:
            return None


def _look_at(reason: str) -> None:
    """Raise if Slack will not have us again; otherwise it only wants a fresh connection."""
    if reason == "link_disabled":
        raise LoginFailed(
            "Slack has ended the connection for good.",
            "Socket Mode is switched off for the app.",
            "Switch it on at api.slack.com/apps (Socket Mode), or set the channel's `transport` to `http`.",
        )


def _memory(noted: str) -> SlackMemory:
    """What an earlier life noted; nothing if it was another version that did."""
    try:
        return msgspec.json.decode(noted or "{}", type=SlackMemory)
    except msgspec.MsgspecError:
        return SlackMemory()
