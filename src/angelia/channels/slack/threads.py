"""What a thread is about: Slack tells the message that began it only when asked."""

import logging

import msgspec

from angelia.channels.failures import ChannelError
from angelia.channels.lenient import read
from angelia.channels.slack.api import SlackApi, SlackAsked
from angelia.channels.slack.payloads import Page, SlackContent

log = logging.getLogger(__name__)

REMEMBERED = 1000
"""Threads whose beginning was brought, as long as this process lives: a restart brings it once more."""

WAIT = 5.0
"""Seconds without a byte after which a beginning is done without: whoever speaks waits for it."""

UNKNOWN = SlackContent(text="(the message that this thread is about, which Slack does not give out)")


class Threads:
    """Beginnings of threads. Each is brought with the first message in its thread, however often that one is read."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._first: dict[tuple[str, str], str] = {}

    async def beginning(self, chat: str, thread: str, message: str) -> SlackContent | None:
        """What a thread is about, for its first message that is read; None for the others."""
        if self._first.setdefault((chat, thread), message) != message:
            return None
        if len(self._first) > REMEMBERED:
            del self._first[next(iter(self._first))]
        asked = {"channel": chat, "ts": thread, "limit": 1}
        try:
            page = await self._api.call("conversations.replies", asked, Page, SlackAsked(wait=WAIT))
        except ChannelError as error:
            log.info("what a thread is about cannot be had: %s", error)
            return UNKNOWN
        about = [one for one in page.messages if one.get("ts") == thread]
        return read(msgspec.json.encode(about[0]), SlackContent) if about else UNKNOWN
