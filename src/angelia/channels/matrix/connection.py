"""How an account hears: it asks what happened since, and is held until something does ("Syncing")."""

import asyncio
from functools import partial
from typing import NoReturn
from urllib.parse import quote

import msgspec

from angelia.cancellation import end_if_cancelled
from angelia.channels.connection_state import ConnectionState
from angelia.channels.failures import Rejected
from angelia.channels.health import ConnectionHealth
from angelia.channels.incoming import Envelope, Hear
from angelia.channels.lenient import within
from angelia.channels.matrix.api import MatrixApi, path_of
from angelia.channels.matrix.payloads import Body, needed
from angelia.channels.matrix.receive import MatrixReader
from angelia.channels.matrix.refusals import MatrixForbidden
from angelia.channels.matrix.settings import MatrixTimeouts
from angelia.channels.per_chat_queue import PerChatQueue
from angelia.channels.port import ChannelContext

LINGER = 15.0
"""Seconds that an answer may take longer than the server was asked to hold it back."""

_POSITION = "position in the sync"
_INSIDE = ("invite", "join")
_ENCRYPTED = ("m.room.encrypted", "m.room.encryption")
_NONE = {"types": list[str]()}
_FILTER: Body = {
    "presence": _NONE,
    "account_data": _NONE,
    "room": {"ephemeral": _NONE, "account_data": _NONE, "state": _NONE},
}
_FAREWELL = "This room is encrypted. I read and write in plain rooms alone: please invite me to one of these."


class MatrixConnection:
    """The receiving half of the channel.

    Where a sync ended is kept when all of it is taken in. Of a room we hear what was said since we were invited. In an
    encrypted one we could neither read what is said nor keep secret what we say: we leave it, and say why.
    """

    def __init__(self, context: ChannelContext, api: MatrixApi, timeouts: MatrixTimeouts) -> None:
        self._context = context
        self._api = api
        self._timeouts = timeouts
        self._reader = MatrixReader(context.door, api, context.commands)
        self._connection_state = ConnectionState(context, timeouts.pause, timeouts.silence)
        self._since = ""

    async def run(self, hear: Hear) -> NoReturn:
        """See `Channel.run`."""
        queue = PerChatQueue(hear, self._connection_state.trouble, self._timeouts.pause)
        self._since = ""
        try:
            await self._connection_state.hold(lambda: self._stay(queue))
        finally:
            await queue.close()

    async def _stay(self, queue: PerChatQueue) -> NoReturn:
        kept = f"{_POSITION} of {await self._api.log_in()}"  # of another account it would be another one
        self._since = self._since or await self._context.recall(kept)
        longest = max(self._timeouts.silence - LINGER, 0)
        now, idle = asyncio.get_running_loop().time, 0
        while True:
            end_if_cancelled()
            hold = longest if self._connection_state.state is ConnectionHealth.CONNECTED else 0
            asked = now()
            parts = await self._sync(queue, hold)
            queue.after(parts, partial(self._context.remember, kept, self._since))
            idle = 0 if parts else idle + 1
            if idle > bool(longest):  # what holds nothing back (a proxy in between) is not asked without a pause
                await asyncio.sleep(max(0.0, asked + self._timeouts.pause - now()))

    async def _sync(self, queue: PerChatQueue, hold: float) -> list[asyncio.Future[str]]:
        """Ask what happened, held back for at most `hold` seconds, and put it into the queue; what stands there."""
        since = f"&since={quote(self._since)}" if self._since else ""
        asked = f"sync?filter={quote(msgspec.json.encode(_FILTER))}&timeout={hold * 1000:.0f}{since}"
        told = await self._api.ask("GET", asked)
        joined, invited = (within(told, "rooms", name, default=Body()) for name in ("join", "invite"))
        news = [(chat, one) for chat in joined if self._since for one in await self._news(chat, joined[chat])]
        self._connection_state.well()
        parts = [queue.put(chat, f"invitation to {chat}", partial(self._join, chat)) for chat in invited]
        parts += [queue.put(chat, f"{one.get('event_id')}", partial(self._take, chat, one)) for chat, one in news]
        self._since = needed(told, "next_batch")
        return parts

    async def _news(self, chat: str, told: Body) -> list[Body]:
        """What happened in a room since the last sync, and since we were invited; the oldest first."""
        events: list[Body] = within(told, "timeline", "events", default=[])
        limited = within(told, "timeline", "limited", default=False)
        before = within(told, "timeline", "prev_batch", default="") if limited else ""
        while before and not any(map(self._begins, events)):
            asked = f"{path_of(chat)}/messages?dir=b&limit=99&from={quote(before)}&to={quote(self._since)}"
            try:
                page = await self._api.ask("GET", asked)
            except Rejected as error:
                self._connection_state.trouble(f"What was said in {chat} meanwhile cannot be read. {error}")
                break
            events = [*reversed(within(page, "chunk", default=list[Body]())), *events]
            # a page may be empty, and not the last one ("GET /rooms/{roomId}/messages")
            end = within(page, "end", default="")
            before = end if end != before else ""
        return events[max((n for n, one in enumerate(events) if self._begins(one)), default=0) :]

    def _begins(self, event: Body) -> bool:
        """Whether with it we were invited to a room, or came in uninvited."""
        now = within(event, "content", "membership", default="")
        before = within(event, "unsigned", "prev_content", "membership", default="")
        return event.get("state_key") == self._api.user and now in _INSIDE and before not in _INSIDE

    async def _take(self, chat: str, event: Body) -> Envelope | None:
        if event.get("type") in _ENCRYPTED:
            await self._leave_if_encrypted(chat)
        return await self._reader.envelope(chat, event)

    async def _join(self, chat: str) -> None:
        try:
            await self._api.ask("POST", f"{path_of(chat)}/join", {})
            await self._leave_if_encrypted(chat)
        except Rejected as error:
            self._connection_state.trouble(f"An invitation cannot be followed. {error}")

    async def _leave_if_encrypted(self, chat: str) -> None:
        try:
            if await self._api.is_encrypted(chat):
                await self._api.ask("POST", f"{path_of(chat)}/leave", {"reason": _FAREWELL})
        except MatrixForbidden:
            return  # it was left before
        except Rejected as error:
            self._connection_state.trouble(f"An encrypted room cannot be left. {error}")
