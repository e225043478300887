"""Discord's objects, as far as they are read here (docs.discord.com, "Message", "Channel", "Gateway Events")."""

from typing import Any

from msgspec import Raw, Struct

DM = 1
THREADS = frozenset({10, 11, 12})
"""Types of channels ("Channel Types")."""

DEFAULT, REPLY = 0, 19
"""Types of messages that somebody wrote ("Message Types"); forwarded ones are of the first."""

COMMAND, COMPONENT = 2, 3
"""Types of interactions ("Interaction Type")."""

EPOCH = 1_420_070_400_000
"""Unix milliseconds at which ids begin to count ("Snowflakes")."""


class DiscordUser(Struct, frozen=True):
    """A person or a bot."""

    id: str
    username: str = ""
    global_name: str = ""
    bot: bool = False

    @property
    def name(self) -> str:
        """For people to read."""
        return self.global_name or self.username or self.id


class Member(Struct, frozen=True):
    """Somebody in a server."""

    nick: str = ""
    user: DiscordUser | None = None


class DiscordAttachment(Struct, frozen=True):
    """A file; `title` is its name before Discord shortened it, without the ending."""

    id: str
    filename: str
    size: int
    url: str
    title: str = ""
    content_type: str = ""
    duration_secs: float = 0.0


class DiscordSticker(Struct, frozen=True):
    """A sticker; `format_type` is PNG, APNG, Lottie, GIF from 1 to 4."""

    id: str
    name: str
    format_type: int


class PollWords(Struct, frozen=True):
    """The words of a question or an answer."""

    text: str = ""


class PollAnswer(Struct, frozen=True):
    """An answer to choose."""

    poll_media: PollWords = PollWords()


class DiscordPoll(Struct, frozen=True):
    """A question with answers to choose from."""

    question: PollWords
    answers: tuple[PollAnswer, ...] = ()


class Snapshot(Struct, frozen=True):
    """What was forwarded."""

    message: "DiscordContent"


class EmbedField(Struct, frozen=True):
    """One entry of an embed."""

    name: str = ""
    value: str = ""


class DiscordEmbed(Struct, frozen=True):
    """A framed text: a bot's own (`type` is `rich`), or what Discord unfolds of a page."""

    type: str = ""
    title: str = ""
    description: str = ""
    url: str = ""
    fields: tuple[EmbedField, ...] = ()

    @property
    def words(self) -> str:
        """Its words, a line each."""
        entries = (f"{one.name}: {one.value}" for one in self.fields)
        return "\n".join(filter(None, (self.title, self.description, *entries, self.url)))


class DiscordContent(Struct, frozen=True, kw_only=True):
    """What a message says."""

    content: str = ""
    attachments: tuple[DiscordAttachment, ...] = ()
    sticker_items: tuple[DiscordSticker, ...] = ()
    embeds: tuple[DiscordEmbed, ...] = ()
    mentions: tuple[DiscordUser, ...] = ()
    flags: int = 0


class DiscordMessage(DiscordContent, frozen=True, kw_only=True):
    """A message. `guild_id` and `member` come by the gateway only."""

    id: str
    channel_id: str
    author: DiscordUser | None = None
    type: int = DEFAULT
    guild_id: str = ""
    member: Member | None = None
    webhook_id: str = ""
    edited_timestamp: str = ""
    mention_roles: tuple[str, ...] = ()
    referenced_message: "DiscordMessage | None" = None
    message_snapshots: tuple[Snapshot, ...] = ()
    poll: DiscordPoll | None = None


class DiscordChannelInfo(Struct, frozen=True):
    """A channel or thread; `parent_id` is a thread's channel."""

    id: str
    type: int
    guild_id: str = ""
    parent_id: str = ""
    name: str = ""
    last_message_id: str = ""


class RoleTags(Struct, frozen=True):
    """Whose role it is."""

    bot_id: str = ""


class DiscordRole(Struct, frozen=True):
    """A role in a server."""

    id: str
    tags: RoleTags = RoleTags()


class Guild(Struct, frozen=True):
    """A server; its lists come when it can be seen."""

    id: str
    premium_tier: int = 0
    channels: tuple[DiscordChannelInfo, ...] = ()
    threads: tuple[DiscordChannelInfo, ...] = ()
    roles: tuple[DiscordRole, ...] = ()


class Application(Struct, frozen=True):
    """The bot as an application."""

    id: str


class DiscordReady(Struct, frozen=True):
    """A session has begun."""

    session_id: str
    resume_gateway_url: str
    user: DiscordUser
    application: Application


class Deleted(Struct, frozen=True):
    """A message was deleted; nobody says by whom."""

    id: str
    channel_id: str
    guild_id: str = ""


class Emoji(Struct, frozen=True):
    """An emoji of everybody's has no id."""

    name: str = ""
    id: str = ""


class DiscordReacted(Struct, frozen=True):
    """Somebody marked a message."""

    user_id: str
    channel_id: str
    message_id: str
    emoji: Emoji
    guild_id: str = ""
    member: Member | None = None
    message_author_id: str = ""


class DiscordOption(Struct, frozen=True):
    """A command's argument."""

    name: str
    value: Any = ""


class DiscordChosen(Struct, frozen=True):
    """What an interaction is about: a command with its arguments, or a button."""

    name: str = ""
    options: tuple[DiscordOption, ...] = ()
    custom_id: str = ""


class DiscordStands(Struct, frozen=True):
    """The message that a button stands on."""

    id: str


class DiscordInteraction(Struct, frozen=True):
    """Somebody used a command or pressed a button."""

    id: str
    type: int
    token: str
    application_id: str = ""
    data: DiscordChosen = DiscordChosen()
    channel: DiscordChannelInfo | None = None
    channel_id: str = ""
    guild_id: str = ""
    member: Member | None = None
    user: DiscordUser | None = None
    message: DiscordStands | None = None

    @property
    def person(self) -> DiscordUser | None:
        """Who it was: servers tell it within the member."""
        return self.member.user if self.member else self.user


class DiscordFrame(Struct, frozen=True):
    """What comes by the gateway ("Payload Structure")."""

    op: int
    d: Raw = Raw(b"null")
    s: int | None = None
    t: str | None = None


class Hello(Struct, frozen=True):
    """The first frame."""

    heartbeat_interval: float


class GatewayBot(Struct, frozen=True):
    """Where the gateway is."""

    url: str


class DiscordSent(Struct, frozen=True):
    """A message of ours."""

    id: str


class DiscordSession(Struct, frozen=True):
    """What a connection can be resumed with. `seq` is the last event that was handled."""

    id: str
    url: str
    seq: int = 0


class DiscordEvent(Struct, frozen=True):
    """One event; `data` is what it tells."""

    name: str
    data: bytes
    seq: int
