"""Conversations whose ids were handed out before anything was said in them: they exist, also for the next process.

Such a one may still choose its sandbox, so that its first entry is not in the log yet; until then it is kept here.
"""

import msgspec
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.days import DAY_MS
from angelia.core.ids import Clock, ConversationId
from angelia.store.tables.key_value import KeyValue

_PREFIX = "handed-out:"
KEPT_MS = 30 * DAY_MS
"""A client that has not come back for a month has forgotten the id."""


class _Kept(Struct, frozen=True):
    at: int
    opened: e.ConversationOpened


class HandedOut:
    """The beginnings of conversations that are not in the log yet."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self._key_value, self._clock = key_value, clock

    async def keep(self, conversation: ConversationId, opened: e.ConversationOpened) -> None:
        """Keep how a conversation begins, in place of what was kept of it."""
        kept = msgspec.json.encode(_Kept(self._clock(), opened)).decode()
        await self._key_value.put(f"{_PREFIX}{conversation}", kept)

    async def of(self, conversation: ConversationId) -> e.ConversationOpened | None:
        """How a conversation begins that was handed out; None if it was not."""
        kept = await self._key_value.get_as(_Kept, f"{_PREFIX}{conversation}")
        return kept.opened if kept else None

    async def forget(self, conversation: ConversationId) -> None:
        """It is in the log, or nobody wants it."""
        await self._key_value.forget(f"{_PREFIX}{conversation}")

    async def tidy(self, upto: int, latest: int) -> None:
        """Forget those that nobody had come back to at a moment; what was handed out after `latest`, while a clock was
        ahead, counts from now.
        """
        for key, kept in await self._key_value.all_as(_Kept, _PREFIX):
            if upto - kept.at > KEPT_MS:
                await self._key_value.forget(key)
            elif kept.at > latest:
                await self.keep(ConversationId(key.removeprefix(_PREFIX)), kept.opened)
