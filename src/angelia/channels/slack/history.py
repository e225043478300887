"""What was said while nobody listened: messages after a moment, chat by chat and thread by thread."""

import asyncio
import logging

import msgspec

from angelia.channels.failures import ChannelError, Later, Rejected
from angelia.channels.slack.api import SlackApi
from angelia.channels.slack.ledger import moment_of, ts_of
from angelia.channels.slack.payloads import Page

log = logging.getLogger(__name__)

PAGE = 200
"""Messages of one answer ("conversations.history": no more than 200 are recommended)."""

PAGES = 5
"""Answers that are asked for of one chat: who was away for longer reads the rest in Slack."""

TRIES = 5


async def since(api: SlackApi, chat: str, thread: str, moment: int, pause: float) -> list[bytes]:
    """The messages of a chat, or of a thread in it, after a moment, oldest first; each as an event tells it.

    Raises:
        ChannelError: they cannot be had; it was tried several times.
    """
    method = "conversations.replies" if thread else "conversations.history"
    asked: dict[str, object] = {"channel": chat, "oldest": ts_of(moment), "limit": PAGE}
    asked |= {"ts": thread} if thread else {}
    found: dict[int, bytes] = {}
    for _ in range(PAGES):
        try:
            page = await _page(api, method, asked, pause)
        except Rejected as rejected:
            log.info("what was missed in chat %s cannot be read: %s", chat, rejected)
            break
        for message in page.messages:
            found[moment_of(str(message.get("ts", "")))] = msgspec.json.encode(message | {"channel": chat})
        if not page.response_metadata.next_cursor:
            break
        asked["cursor"] = page.response_metadata.next_cursor
    else:
        log.warning("more than %d messages were missed in chat %s: the others are not read", PAGE * PAGES, chat)
    # a thread's answer begins with the message that it is about, whenever that was
    return [found[at] for at in sorted(found) if at > moment]


async def _page(api: SlackApi, method: str, asked: dict[str, object], pause: float) -> Page:
    for tried in range(1, TRIES):
        try:
            return await api.call(method, asked, Page)
        except Rejected:
            raise
        except Later as later:
            await asyncio.sleep(later.seconds)
        except ChannelError:
            await asyncio.sleep(pause * 2**tried)
    return await api.call(method, asked, Page)
