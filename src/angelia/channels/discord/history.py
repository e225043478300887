"""What was said while nobody listened: messages behind the last one that was taken in, chat by chat."""

import asyncio
import logging
from typing import Any

import msgspec

from angelia.channels.discord.api import DiscordApi, DiscordCall
from angelia.channels.discord.payloads import DiscordSent
from angelia.channels.failures import ChannelError, Later, Rejected

log = logging.getLogger(__name__)

PAGE = 100
"""Messages of one answer ("Get Channel Messages")."""

PAGES = 10
"""Answers that are asked for of one chat: who was away for longer reads the rest in Discord."""

TRIES = 5


async def since(api: DiscordApi, channel: str, message: int, pause: float) -> list[bytes]:
    """The messages of a channel behind this one, oldest first.

    Raises:
        ChannelError: they cannot be had; it was tried several times.
    """
    found: list[bytes] = []
    for _ in range(PAGES):
        try:
            page = await _page(api, channel, message, pause)
        except Rejected as rejected:
            log.info("what was missed in channel %s cannot be read: %s", channel, rejected)
            return found
        found += page
        if len(page) < PAGE:
            return found
        message = int(msgspec.json.decode(page[-1], type=DiscordSent).id)
    log.warning("more than %d messages were missed in channel %s: later ones are not read", PAGE * PAGES, channel)
    return found


async def _page(api: DiscordApi, channel: str, message: int, pause: float) -> list[bytes]:
    call = DiscordCall("GET", f"/channels/{channel}/messages?after={message}&limit={PAGE}")
    for tried in range(1, TRIES):
        try:
            return _oldest_first(await api.call(call, list[Any]))
        except Rejected:
            raise
        except Later as later:
            await asyncio.sleep(later.seconds)
        except ChannelError:
            await asyncio.sleep(pause * 2**tried)
    return _oldest_first(await api.call(call, list[Any]))


def _oldest_first(page: list[Any]) -> list[bytes]:
    return [msgspec.json.encode(one) for one in reversed(page)]
