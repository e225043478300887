"""What an event of the gateway tells, as an envelope."""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.discord import payloads as s
from angelia.channels.discord.places import Places
from angelia.channels.discord.send import IS_VOICE_MESSAGE
from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender, Noticed, OfferedFile, Pressed
from angelia.channels.lenient import read

REMEMBERED = 1000
"""Messages whose authors are remembered, to tell who lost one when it is deleted: Discord does not say."""

_NAMED = re.compile(r"<(@!?|@&|#|a?:)(\w+)(?::\d+)?>")
_ESCAPE = re.compile(r"\\([^\w\s])|<(https?://[^>]+)>")
_LOTTIE = 3
_MOVING = 4


class DiscordReader:
    """Reads for the bot `me`; `cdn` is where stickers are."""

    def __init__(self, me: str, places: Places, cdn: str, *, sees_all: bool = True) -> None:
        """`sees_all`: what others say in servers has its content, which Discord withholds otherwise."""
        self._me = me
        self._sees_all = sees_all
        self._places = places
        self._cdn = cdn.rstrip("/")
        self._authors: OrderedDict[str, IncomingSender] = OrderedDict()

    async def envelope(self, event: s.DiscordEvent, guild: str = "") -> Envelope | None:
        """The envelope of one event; None for what nobody says to anybody: bots, ourselves, and all other events.
        A message of the history does not tell its server: it is in `guild`.

        Raises:
            MsgspecError: Discord tells it in a form that is not known.
            ChannelError: where it was said had to be asked for, and there was no answer.
        """
        match event.name:
            case "MESSAGE_CREATE":
                message = read(event.data, s.DiscordMessage)
                return await self._message(replace(message, guild_id=message.guild_id or guild))
            case "MESSAGE_UPDATE":
                message = read(event.data, s.DiscordMessage)
                return await self._message(message) if message.edited_timestamp else None
            case "MESSAGE_DELETE":
                return await self._deletion(read(event.data, s.Deleted))
            case "MESSAGE_REACTION_ADD":
                return await self._reaction(read(event.data, s.DiscordReacted), event)
            case "INTERACTION_CREATE":
                return await self._interaction(read(event.data, s.DiscordInteraction))
            case _:
                return None

    async def _message(self, message: s.DiscordMessage) -> Envelope | None:
        """The envelope of one message, new or edited."""
        sender = self._sender(message.author, message.member)
        said = self._said(message)
        if sender is None or said is None or message.webhook_id or message.type not in (s.DEFAULT, s.REPLY):
            return None
        self._authors[message.id] = sender
        if len(self._authors) > REMEMBERED:
            self._authors.popitem(last=False)
        edited = message.edited_timestamp
        return Envelope(
            await self._places.address(message.channel_id, message.guild_id),
            f"e:{message.id}:{edited}" if edited else f"m:{message.id}",
            sender,
            said,
            message.id,
            not message.guild_id,
            not message.guild_id or self._to_us(message),
            time_of(message.id),
        )

    async def _deletion(self, gone: s.Deleted) -> Envelope | None:
        sender = self._authors.get(gone.id)
        if sender is None:
            return None
        what = Noticed(IncomingKind.DELETION, f"A message of {sender.name} was deleted.", gone.id)
        where = await self._places.address(gone.channel_id, gone.guild_id)
        return Envelope(where, f"d:{gone.id}", sender, what, gone.id, not gone.guild_id, not gone.guild_id)

    async def _reaction(self, reacted: s.DiscordReacted, event: s.DiscordEvent) -> Envelope | None:
        ours = reacted.message_author_id in ("", self._me)
        person = (reacted.member.user if reacted.member else None) or s.DiscordUser(reacted.user_id)
        sender = self._sender(person, reacted.member)
        if sender is None or not ours:
            return None
        emoji = f":{reacted.emoji.name}:" if reacted.emoji.id else reacted.emoji.name
        what = Noticed(IncomingKind.REACTION, f"{sender.name} reacted with {emoji}.", reacted.message_id)
        where = await self._places.address(reacted.channel_id, reacted.guild_id)
        private, key = not reacted.guild_id, f"r:{reacted.message_id}:{reacted.user_id}:{emoji}:{event.seq}"
        return Envelope(where, key, sender, what, reacted.message_id, private, True)

    async def _interaction(self, used: s.DiscordInteraction) -> Envelope | None:
        sender = self._sender(used.person, used.member)
        if sender is None or used.type not in (s.COMMAND, s.COMPONENT):
            return None
        on = used.message.id if used.message else ""
        words = " ".join([f"/{used.data.name}", *(str(one.value) for one in used.data.options)])
        what = Pressed(used.data.custom_id, on) if used.type == s.COMPONENT else IncomingMessage(words)
        channel = used.channel_id or (used.channel.id if used.channel else "")
        where = await self._places.address(channel, used.guild_id, used.channel)
        return Envelope(where, f"i:{used.id}", sender, what, on, not used.guild_id, True, time_of(used.id))

    def _sender(self, person: s.DiscordUser | None, member: s.Member | None) -> IncomingSender | None:
        if person is None or person.bot or person.id == self._me:
            return None
        known = next((one for one in self._authors.values() if one.id == person.id), None)
        name = (member.nick if member else "") or (person.name if person.username else "")
        return IncomingSender(person.id, name or (known.name if known else person.id))

    def _said(self, message: s.DiscordMessage) -> IncomingMessage | None:
        passed_on = [one.message for one in message.message_snapshots]
        words = [self._words(message), _poll(message.poll) if message.poll else ""]
        framed = [one.words for part in passed_on for one in part.embeds if one.type == "rich"]
        shared = "\n".join(filter(None, (*map(self._words, passed_on), *framed)))
        where = f"{message.channel_id}/{message.id}"
        offers = tuple(offer for part in (message, *passed_on) for offer in self._offers(part, where))
        text = "\n".join(one for one in words if one)
        if not text and not shared and not offers:
            if message.type not in (s.DEFAULT, s.REPLY):
                return None  # what happened to the channel: somebody joined, something was pinned
            if message.guild_id and not self._sees_all and not self._to_us(message):
                return None  # its content is withheld from us: it is empty whatever was said
            shared = "\n".join(filter(None, (one.words for one in message.embeds)))
            text = "" if shared else "(something that is not read here)"
        offers += tuple(self._answered_files(message))
        edits = message.id if message.edited_timestamp else ""
        return IncomingMessage(text, offers, self._quoted(message), edits, shared, bool(passed_on) and not text)

    def _words(self, part: s.DiscordContent) -> str:
        """Its words as people see them: names instead of ids, and without our own in front."""
        names = {user.id: user.name for user in part.mentions}
        text = _NAMED.sub(lambda found: self._called(found, names), part.content).strip()
        unseen = [f"(the sticker “{one.name}”)" for one in part.sticker_items if one.format_type == _LOTTIE]
        return "\n".join(one for one in (text, *unseen) if one)

    def _called(self, found: re.Match[str], names: Mapping[str, str]) -> str:
        sign, what = found[1], found[2]
        if sign in ("a:", ":"):
            return f":{what}:"
        if sign == "#":
            return f"#{self._places.name(what)}" if self._places.name(what) else found[0]
        if what == self._me or what in self._places.roles:
            return ""
        return f"@{names[what]}" if what in names else found[0]

    def _offers(self, part: s.DiscordContent, where: str) -> Iterator[OfferedFile]:
        for one in part.attachments:
            kind = Kind.VOICE if part.flags & IS_VOICE_MESSAGE else _kind(one.content_type)
            ending = one.filename[one.filename.rfind(".") :] if "." in one.filename else ""
            name = one.title + ending if one.title else one.filename
            mime = one.content_type.partition(";")[0]
            yield OfferedFile(kind, f"{where}/{one.id} {one.url}", name, mime, one.size, one.duration_secs)
        for sticker in part.sticker_items:
            if sticker.format_type == _MOVING:
                url = f"https://media.discordapp.net/stickers/{sticker.id}.gif"
                yield OfferedFile(Kind.ANIMATION, f"sticker {url}", f"{sticker.name}.gif", "image/gif")
            elif sticker.format_type != _LOTTIE:
                url = f"{self._cdn}/stickers/{sticker.id}.png"
                yield OfferedFile(Kind.PHOTO, f"sticker {url}", f"{sticker.name}.png", "image/png")

    def _answered_files(self, message: s.DiscordMessage) -> Iterator[OfferedFile]:
        """The files of what a message answers: who asks about a picture by answering it means that picture."""
        answered = message.referenced_message
        if answered is not None and message.type == s.REPLY:
            yield from self._offers(answered, f"{answered.channel_id}/{answered.id}")

    def _quoted(self, message: s.DiscordMessage) -> str:
        answered = message.referenced_message
        if answered is None or message.type != s.REPLY:
            return ""
        ours = answered.author is not None and answered.author.id == self._me
        words = _ESCAPE.sub(r"\1\2", answered.content) if ours else self._words(answered)
        framed = "\n".join(filter(None, (one.words for one in answered.embeds)))
        return words or framed or ", ".join(f"({one.kind.value})" for one in self._answered_files(message))

    def _to_us(self, message: s.DiscordMessage) -> bool:
        answered = message.referenced_message
        if answered and answered.author and answered.author.id == self._me:
            return True
        return any(user.id == self._me for user in message.mentions) or bool(
            self._places.roles & set(message.mention_roles)
        )


def time_of(snowflake: str) -> int:
    """Unix milliseconds at which an id was made ("Snowflakes")."""
    return (int(snowflake) >> 22) + s.EPOCH


def _kind(mime: str) -> Kind:
    if mime.startswith("image/gif"):
        return Kind.ANIMATION
    return {"image": Kind.PHOTO, "audio": Kind.AUDIO, "video": Kind.VIDEO}.get(mime.partition("/")[0], Kind.DOCUMENT)


def _poll(poll: s.DiscordPoll) -> str:
    return "\n".join([f"Poll: {poll.question.text}", *(f"• {one.poll_media.text}" for one in poll.answers)])
