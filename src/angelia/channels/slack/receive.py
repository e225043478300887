"""What Slack brings, as an envelope."""

import re
from collections.abc import Collection
from html import unescape

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender, Noticed, OfferedFile, Pressed
from angelia.channels.lenient import read
from angelia.channels.slack import payloads as s
from angelia.channels.slack.emoji import sign_of
from angelia.channels.slack.ledger import moment_of
from angelia.channels.slack.people import People
from angelia.channels.slack.threads import Threads
from angelia.core.entry import Address

HAPPENED = frozenset(
    {
        *("channel_archive", "channel_convert_to_private", "channel_convert_to_public", "channel_join"),
        *("channel_leave", "channel_name", "channel_posting_permissions", "channel_purpose", "channel_topic"),
        *("channel_unarchive", "group_archive", "group_join", "group_leave", "group_name", "group_purpose"),
        *("group_topic", "group_unarchive", "channel_canvas_updated", "tabbed_canvas_updated", "pinned_item"),
        *("unpinned_item", "reminder_add", "huddle_thread", "sh_room_created", "sh_room_shared"),
        *("joiner_notification", "tombstone", "app_conversation_join", "app_conversation_leave"),
        *("assistant_app_thread", "ekm_access_denied", "bot_add", "bot_remove", "bot_enable", "bot_disable"),
        *("bot_message", "slackbot_response", "message_replied", "reply_broadcast", "file_comment", "file_mention"),
        *("document_mention"),
    }
)
"""Subtypes that tell what happened to a chat, or what an app said: no person says them to anybody."""

SLACKBOT = "USLACKBOT"
"""Slack's own bot, the only one without a `bot_id`."""

_LINK = re.compile(r"<([^<>]+)>")


class Head(Struct, frozen=True):
    """What is known of news before it is read: where it happened, its name for us, and when a message was written (0
    for anything else).
    """

    chat: str
    thread: str
    name: str
    moment: int = 0


class SlackReader:
    """Reads for the bot `me`. `command` is the slash command whose words are a verb, if they begin with one of
    `verbs`.
    """

    def __init__(
        self, door: str, me: str, people: People, threads: Threads, command: str, verbs: Collection[str]
    ) -> None:
        self._door = door
        self._me = me
        self._people, self._threads = people, threads
        self._command, self._verbs = command, verbs

    def head(self, news: s.SlackNews) -> Head | None:
        """Where news belong; None for what is nothing to us.

        Raises:
            MsgspecError: Slack tells it in a form that is not known.
        """
        if news.kind == "command":
            return Head(read(news.body, s.SlackCommand).channel_id, "", f"command {news.id}")
        if news.kind == "action":
            where = read(news.body, s.SlackInteraction).container
            return Head(where.channel_id, where.thread_ts, f"action {news.id}")
        event = read(news.body, s.Happened)
        chat = event.channel or event.item.channel
        if event.type not in ("message", "app_mention", "reaction_added") or not chat:
            return None
        said = event.type != "reaction_added" and event.subtype not in HAPPENED | {"message_changed", "message_deleted"}
        written = moment_of(event.ts) if said else 0
        return Head(chat, _thread(event), f"event {news.id or event.ts}", written)

    async def envelope(self, news: s.SlackNews) -> Envelope | None:
        """The envelope of news; None for what nobody says to anybody: apps, ourselves, and what Slack adds.

        Raises:
            MsgspecError: Slack tells it in a form that is not known.
        """
        match news.kind:
            case "command":
                return self._commanded(read(news.body, s.SlackCommand), news.id)
            case "action":
                return self._pressed(read(news.body, s.SlackInteraction), news.id)
            case "event":
                return await self._happened(read(news.body, s.Happened))

    async def _happened(self, event: s.Happened) -> Envelope | None:
        if event.type == "reaction_added":
            return await self._reaction(event)
        match event.subtype:
            case "message_changed":
                return await self._changed(event)
            case "message_deleted":
                return await self._deletion(event)
            case subtype if subtype in HAPPENED:
                return None
            case _:
                return await self._message(event, event.channel)

    async def _message(self, message: s.SlackContent, chat: str, edits: str = "") -> Envelope | None:
        if self._no_person(message):
            return None
        private, thread = _private(chat), _thread(message)
        to_us = private or f"<@{self._me}>" in message.text or message.parent_user_id == self._me
        said = await self._said(message)
        if thread and to_us and not edits:
            about = await self._threads.beginning(chat, thread, message.ts)
            said = await self._answering(said, about) if about else said
        return Envelope(
            Address(self._door, chat, thread),
            f"{'e' if edits else 'm'}:{chat}:{message.ts}{f':{edits}' if edits else ''}",
            await self._sender(message.user),
            replace(said, edits=message.ts if edits else ""),
            message.ts,
            private,
            to_us,
            moment_of(message.ts) // 1000,
        )

    async def _said(self, message: s.SlackContent) -> IncomingMessage:
        """What a message says; what is of no known kind is told in words."""
        text = "\n".join(filter(None, [await self._words(message.text), *_links(message)]))
        passed_on = [one for one in message.attachments if one.is_share or one.is_msg_unfurl]
        files = (*message.files, *(file for one in passed_on for file in one.files))
        offers = tuple(_offer(file) for file in files if file.mode not in ("tombstone", "external"))
        shared = "\n\n".join(filter(None, [await self._shared(one) for one in passed_on]))
        if text or shared or offers:
            return IncomingMessage(text, offers, shared=shared, forwarded=bool(passed_on) and not text)
        shown = "\n\n".join(filter(None, [await self._shared(one) for one in message.attachments]))
        return IncomingMessage("" if shown else _unread(message), shared=shown)

    async def _answering(self, said: IncomingMessage, about: s.SlackContent) -> IncomingMessage:
        """The same with what its thread is about: who asks about a picture beneath it means that picture."""
        began = await self._said(about)
        quoted = began.text or began.shared or ", ".join(f"({offer.kind.value})" for offer in began.offers)
        return replace(said, offers=(*said.offers, *began.offers), quoted=quoted)

    async def _shared(self, passed_on: s.SlackAttachment) -> str:
        """The words of a message that somebody shares, or of what is shown beneath theirs, and whose they are."""
        words = await self._words(passed_on.text or passed_on.fallback)
        return f"{passed_on.author_name}: {words}" if words and passed_on.author_name else words

    async def _changed(self, event: s.Happened) -> Envelope | None:
        """Slack also changes messages by itself, when it unfolds a link: then the words stay."""
        message, before = event.message, event.previous_message
        if not message.edited.ts or (before.ts and before.text == message.text):
            return None
        return await self._message(message, event.channel, message.edited.ts)

    async def _deletion(self, event: s.Happened) -> Envelope | None:
        gone = event.previous_message
        if self._no_person(gone):
            return None
        sender, private = await self._sender(gone.user), _private(event.channel)
        what = Noticed(IncomingKind.DELETION, f"A message of {sender.name} was deleted.", event.deleted_ts)
        where, key = Address(self._door, event.channel, _thread(gone)), f"d:{event.channel}:{event.deleted_ts}"
        return Envelope(where, key, sender, what, event.deleted_ts, private, private)

    async def _reaction(self, event: s.Happened) -> Envelope | None:
        item = event.item
        if event.user == self._me or event.item_user != self._me or item.type != "message":
            return None
        sender, emoji = await self._sender(event.user), sign_of(event.reaction)
        what = Noticed(IncomingKind.REACTION, f"{sender.name} reacted with {emoji}.", item.ts)
        key = f"r:{item.channel}:{item.ts}:{event.user}:{event.reaction}:{event.event_ts}"
        return Envelope(Address(self._door, item.channel), key, sender, what, item.ts, _private(item.channel))

    def _commanded(self, used: s.SlackCommand, key: str) -> Envelope:
        self._people.know(used.user_id, used.user_name)
        words = unescape(used.text.strip())
        if used.command != self._command:
            words = f"{used.command} {words}".strip()
        elif words.partition(" ")[0] in self._verbs:
            words = f"/{words}"
        sender = IncomingSender(used.user_id, used.user_name or used.user_id)
        where = Address(self._door, used.channel_id)
        return Envelope(where, f"c:{key}", sender, IncomingMessage(words or "/help"), private=_private(used.channel_id))

    def _pressed(self, used: s.SlackInteraction, key: str) -> Envelope | None:
        if used.type != "block_actions" or not used.actions:
            return None
        name = used.user.name or used.user.username
        self._people.know(used.user.id, name)
        on, chat = used.container.message_ts, used.container.channel_id
        where = Address(self._door, chat, "" if used.container.thread_ts == on else used.container.thread_ts)
        what = Pressed(used.actions[0].value, on)
        return Envelope(where, f"b:{key}", IncomingSender(used.user.id, name or used.user.id), what, on, _private(chat))

    def _no_person(self, message: s.SlackContent) -> bool:
        return message.user in ("", self._me, SLACKBOT) or bool(message.bot_id)

    async def _sender(self, user: str) -> IncomingSender:
        return IncomingSender(user, await self._people.name(user))

    async def _words(self, text: str) -> str:
        """Words as people see them: names instead of ids, and without our own ("Formatting text")."""
        parts, begin = [], 0
        for found in _LINK.finditer(text):
            parts += [text[begin : found.start()], await self._called(found[1])]
            begin = found.end()
        return unescape("".join([*parts, text[begin:]])).strip()

    async def _called(self, link: str) -> str:
        target, _, label = link.partition("|")
        match target[:1]:
            case "@":
                user = target[1:]
                return "" if user == self._me else f"@{label or await self._people.name(user)}"
            case "#":
                return f"#{label or target[1:]}"
            case "!":
                return label or f"@{target[1:].partition('^')[0]}"
            case _:
                return f"{label} ({target})" if label and label not in target else target


def _thread(message: s.SlackContent) -> str:
    """The thread that a message stands in; the one that began it stands in its chat."""
    inner = message.message if isinstance(message, s.Happened) and message.subtype == "message_changed" else message
    return "" if inner.thread_ts == inner.ts else inner.thread_ts


def _private(chat: str) -> bool:
    """Direct messages have ids with a D ("Conversations API")."""
    return chat.startswith("D")


def _unread(message: s.SlackContent) -> str:
    """What is told of a message without anything that is read here."""
    if message.text:
        return "(your name, and nothing else)"
    kind = message.subtype.replace("_", " ")
    return f"(something of the kind “{kind}”, which is not read here)" if kind else "(something that is not read here)"


def _links(message: s.SlackContent) -> list[str]:
    """What stands among the files, and is none that could be fetched."""
    found = []
    for file in message.files:
        if file.mode == "external":
            found.append(f"File: {file.title or file.name} ({file.external_url})")
        elif file.mode == "tombstone":
            found.append("(a file that was deleted)")
    return found


def _offer(file: s.SlackFile) -> OfferedFile:
    mime = file.mimetype.partition(";")[0]
    kind = {"image": Kind.PHOTO, "audio": Kind.AUDIO, "video": Kind.VIDEO}.get(mime.partition("/")[0], Kind.DOCUMENT)
    if mime == "image/gif":
        kind = Kind.ANIMATION
    if file.subtype == "slack_audio":
        kind = Kind.VOICE
    return OfferedFile(kind, f"{file.id} {file.url}".strip(), file.name, mime, file.size, file.duration_ms / 1000)
