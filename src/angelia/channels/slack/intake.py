"""What comes in, whichever way Slack brings it: each thing once, each chat's in its order."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

import msgspec

from angelia.channels.failures import ChannelError
from angelia.channels.incoming import Envelope, Hear
from angelia.channels.missed import HandIn, MissedMessages
from angelia.channels.slack.api import SlackApi
from angelia.channels.slack.ledger import SlackLedger
from angelia.channels.slack.payloads import Callback, SlackCommand, SlackInteraction, SlackNews
from angelia.channels.slack.receive import Head, SlackReader

log = logging.getLogger(__name__)

REMEMBERED = 2000
"""Keys of what was taken in, so that a mention, which Slack tells as a message, too, is handed in once."""


class Once:
    """Hears each key once, as long as this process lives and remembers; the store knows what was before."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._taken: OrderedDict[str, None] = OrderedDict()

    async def hear(self, envelope: Envelope) -> str:
        """See `Hear`."""
        if envelope.key in self._taken:
            return ""
        word = await self._hear(envelope)
        self._taken[envelope.key] = None
        if len(self._taken) > REMEMBERED:
            self._taken.popitem(last=False)
        return word


class SlackIntake:
    """Takes news in. `noted` is told where they come from, `trouble` what cannot be read."""

    def __init__(
        self,
        reader: SlackReader,
        missed: MissedMessages,
        ledger: SlackLedger,
        noted: Callable[[Head], None],
        trouble: Callable[[str], None],
        api: SlackApi,
    ) -> None:
        self._reader = reader
        self._missed = missed
        self._ledger = ledger
        self._noted = noted
        self._trouble = trouble
        self._api = api
        self._waiting: dict[str, asyncio.Future[str]] = {}

    def take(self, news: SlackNews) -> asyncio.Future[str] | None:
        """Begin to hand one thing in, unless that is going on already; None for what is nothing to us."""
        return self._take(news, self._missed.put)

    async def take_missed(self, found: list[bytes]) -> None:
        """Take in messages that were read from a chat's history, oldest first."""
        taken = (self._take(SlackNews("event", raw), self._missed.put_missed) for raw in found)
        await asyncio.gather(*(one for one in taken if one))

    def _take(self, news: SlackNews, put: HandIn) -> asyncio.Future[str] | None:
        try:
            head = self._reader.head(news)
        except msgspec.MsgspecError as error:
            log.warning("an %s cannot be read: %s", news.kind, error)
            self._trouble(f"Slack told something in a form that is not known ({news.kind}): {error}.")
            return None
        if head is None:
            return None
        if known := self._waiting.get(head.name):
            return known
        taken = put(head.chat, head.name, partial(self._reader.envelope, news))
        self._waiting[head.name] = taken
        taken.add_done_callback(lambda _: self._waiting.pop(head.name, None))
        if head.moment:
            self._ledger.note(head.moment, taken)
        self._noted(head)
        if news.kind != "event":
            self._missed.queue.begin(self._say(news, taken))
        return taken

    async def _say(self, news: SlackNews, taken: asyncio.Future[str]) -> None:
        """Tell who gave a command or pressed a button what became of it; nobody else sees it. It is a courtesy."""
        word = await asyncio.shield(taken)
        url = msgspec.json.decode(news.body, type=_Answerable).response_url
        if not word or not url:
            return
        try:
            body = {"response_type": "ephemeral", "replace_original": False, "text": word, "mrkdwn": False}
            await self._api.respond(url, body)
        except ChannelError as error:
            log.info("a command or button could not be answered: %s", error)


class _Answerable(msgspec.Struct, frozen=True):
    response_url: str = ""


def event(callback: Callback) -> SlackNews:
    """An event, out of its wrapping."""
    return SlackNews("event", msgspec.json.encode(callback.event), callback.event_id)


def command(body: bytes) -> SlackNews:
    """A slash command.

    Raises:
        MsgspecError: it is none.
    """
    return SlackNews("command", body, msgspec.json.decode(body, type=SlackCommand).trigger_id)


def action(body: bytes) -> SlackNews:
    """A pressed button.

    Raises:
        MsgspecError: it is none.
    """
    return SlackNews("action", body, msgspec.json.decode(body, type=SlackInteraction).trigger_id)
