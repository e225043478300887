"""The acknowledgement of a command or a button, which Discord wants within three seconds ("Interactions")."""

import asyncio
import logging

import msgspec

from angelia.channels.discord.api import DiscordApi, DiscordCall
from angelia.channels.discord.payloads import COMMAND, COMPONENT, DiscordInteraction
from angelia.channels.discord.send import words
from angelia.channels.failures import ChannelError
from angelia.channels.lenient import read
from angelia.channels.outgoing import OutText

log = logging.getLogger(__name__)

EPHEMERAL = 1 << 6
"""Only who asked sees it ("Message Flags")."""

SEEN = "👌"

_SAY, _SAY_LATER, _UPDATE_LATER = 4, 5, 6
"""Ways to respond ("Interaction Callback Type")."""


class Answers:
    """Answers when something was taken in; if that takes `longer` seconds, says so first."""

    def __init__(self, api: DiscordApi, longer: float) -> None:
        self._api, self._longer = api, longer

    async def answer(self, data: bytes, taken: asyncio.Future[str]) -> None:
        """Acknowledge one interaction. It is a courtesy: what was done is told by a message."""
        try:
            used = read(data, DiscordInteraction)
            if used.type in (COMMAND, COMPONENT):
                await self._answer(used, taken)
        except (ChannelError, msgspec.MsgspecError) as error:
            log.info("an interaction could not be acknowledged: %s", error)

    async def _answer(self, used: DiscordInteraction, taken: asyncio.Future[str]) -> None:
        await asyncio.wait([taken], timeout=self._longer)
        in_time = taken.done()
        if in_time and (used.type == COMMAND or taken.result()):
            await self._respond(used, _SAY, taken.result() or SEEN)
            return
        await self._respond(used, _SAY_LATER if used.type == COMMAND else _UPDATE_LATER)
        if in_time:
            return
        word = await asyncio.shield(taken)
        if used.type == COMMAND:
            path = f"/webhooks/{used.application_id}/{used.token}/messages/@original"
            await self._api.call(DiscordCall("PATCH", path, {"content": word or SEEN}), object)
        elif word:
            path = f"/webhooks/{used.application_id}/{used.token}"
            await self._api.call(DiscordCall("POST", path, _said(word)), object)

    async def _respond(self, used: DiscordInteraction, way: int, word: str = "") -> None:
        data = _said(word) if word else {"flags": EPHEMERAL}
        said = {"type": way} | ({} if way == _UPDATE_LATER else {"data": data})
        await self._api.call(DiscordCall("POST", f"/interactions/{used.id}/{used.token}/callback", said), object)


def _said(word: str) -> dict[str, object]:
    said = words(OutText(word[:1000]))
    return said | {"flags": EPHEMERAL}
