"""What was said while nobody listened: messages behind the last one that was taken in, a page at a time."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from angelia.channels.discord.api import DiscordApi, DiscordCall
from angelia.channels.discord.payloads import DiscordSent
from angelia.channels.missed import AskHistory

PAGE = 100
"""Messages of one answer ("Get Channel Messages")."""


async def read_missed(
    api: DiscordApi, channel: str, message: int, take: Callable[[bytes], asyncio.Future[str]], ask: AskHistory
) -> None:
    """Take the messages of a channel behind this one, oldest first; a page is asked for once the last one is taken in.

    Raises:
        Rejected: we may not read them.
    """
    while True:
        call = DiscordCall("GET", f"/channels/{channel}/messages?after={message}&limit={PAGE}")
        newest_first = await ask(partial(api.call, call, list[Any]))
        page = [msgspec.json.encode(one) for one in reversed(newest_first)]
        await asyncio.gather(*map(take, page))
        if len(page) < PAGE:
            return
        message = int(msgspec.json.decode(page[-1], type=DiscordSent).id)
