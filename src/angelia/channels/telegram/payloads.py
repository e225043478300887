"""The Bot API's objects, as far as they are read here (core.telegram.org/bots/api, "Available types")."""

from typing import Any

from msgspec import Struct, field


class TelegramUser(Struct, frozen=True):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""

    @property
    def name(self) -> str:
        """For people to read."""
        return f"{self.first_name} {self.last_name}".strip() or self.username or str(self.id)


class Chat(Struct, frozen=True):
    """A private chat, a group, a supergroup or a channel."""

    id: int
    type: str
    title: str = ""


class TelegramMark(Struct, frozen=True):
    """`MessageEntity`: offsets are UTF-16 units."""

    type: str
    offset: int
    length: int
    user: TelegramUser | None = None


class TelegramMedia(Struct, frozen=True):
    """Any of the types that name a file; fields that a type lacks keep their defaults. `length` is a round video's."""

    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: int = -1
    duration: float = 0.0
    width: int = 0
    height: int = 0


class TelegramSticker(Struct, frozen=True):
    """A sticker: a WebP picture, a Lottie animation or a WebM film."""

    file_id: str
    file_size: int = -1
    emoji: str = ""
    is_animated: bool = False
    is_video: bool = False


class Location(Struct, frozen=True):
    """A place; `live_period` is seconds for one that moves."""

    latitude: float
    longitude: float
    live_period: int = 0


class Venue(Struct, frozen=True):
    """A place with a name."""

    title: str
    address: str


class TelegramContact(Struct, frozen=True):
    """A person's number."""

    phone_number: str
    first_name: str
    last_name: str = ""


class TelegramOption(Struct, frozen=True):
    """One answer of a poll, or one task of a list."""

    text: str


class TelegramPoll(Struct, frozen=True):
    """A question with answers to choose from."""

    question: str
    options: tuple[TelegramOption, ...] = ()


class Checklist(Struct, frozen=True):
    """A list of tasks."""

    title: str
    tasks: tuple[TelegramOption, ...] = ()


class Dice(Struct, frozen=True):
    """A throw of luck."""

    emoji: str
    value: int


class TelegramQuote(Struct, frozen=True):
    """The part of a message that an answer quotes."""

    text: str


class TelegramMessage(Struct, frozen=True, kw_only=True):
    """A message. What it holds is whichever field is there; service messages hold nothing that is read here.

    `unknown` is no field of Telegram's: it names what else a message holds, of a kind that is not read here.
    """

    message_id: int
    chat: Chat
    date: int = 0
    from_: TelegramUser | None = field(default=None, name="from")
    sender_chat: Chat | None = None
    message_thread_id: int = 0
    is_topic_message: bool = False
    reply_to_message: "TelegramMessage | None" = None
    quote: TelegramQuote | None = None
    media_group_id: str = ""
    edit_date: int = 0
    text: str = ""
    caption: str = ""
    entities: tuple[TelegramMark, ...] = ()
    caption_entities: tuple[TelegramMark, ...] = ()
    photo: tuple[TelegramMedia, ...] = ()
    voice: TelegramMedia | None = None
    audio: TelegramMedia | None = None
    video: TelegramMedia | None = None
    video_note: TelegramMedia | None = None
    animation: TelegramMedia | None = None
    document: TelegramMedia | None = None
    sticker: TelegramSticker | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: TelegramContact | None = None
    poll: TelegramPoll | None = None
    checklist: Checklist | None = None
    dice: Dice | None = None
    story: dict[str, Any] | None = None
    paid_media: dict[str, Any] | None = None
    game: dict[str, Any] | None = None
    invoice: dict[str, Any] | None = None
    rich_message: dict[str, Any] | None = None
    forward_origin: dict[str, Any] | None = None
    via_bot: TelegramUser | None = None
    unknown: str = ""

    @property
    def of_others(self) -> bool:
        """Whether its words and files are not its sender's: forwarded, or made by a bot that they called inline."""
        return self.forward_origin is not None or self.via_bot is not None


class TelegramReaction(Struct, frozen=True):
    """`ReactionType`: an emoji of everybody's, one of somebody's own, or a paid star."""

    type: str
    emoji: str = ""


class TelegramReacted(Struct, frozen=True):
    """`MessageReactionUpdated`: somebody changed their marks on a message."""

    chat: Chat
    message_id: int
    date: int = 0
    user: TelegramUser | None = None
    actor_chat: Chat | None = None
    new_reaction: tuple[TelegramReaction, ...] = ()


class TelegramStands(Struct, frozen=True):
    """`MaybeInaccessibleMessage`: the message that a button stands on."""

    message_id: int
    chat: Chat
    message_thread_id: int = 0
    is_topic_message: bool = False


class Press(Struct, frozen=True):
    """`CallbackQuery`: somebody pressed a button."""

    id: str
    from_: TelegramUser = field(name="from")
    message: TelegramStands | None = None
    data: str = ""


class Left(Struct, frozen=True, kw_only=True):
    """What is left of a message that cannot be read: where it stands and who wrote it."""

    chat: Chat
    from_: TelegramUser = field(name="from")


class TelegramUnreadable(Struct, frozen=True):
    """What is left of an update that cannot be read."""

    update_id: int
    message: Left | None = None
    edited_message: Left | None = None


class Update(Struct, frozen=True):
    """Something that happened; one of the fields is there, or none that was asked for.

    `unreadable` is no field of Telegram's: it is what is left of an update that has none of the others.
    """

    update_id: int
    message: TelegramMessage | None = None
    edited_message: TelegramMessage | None = None
    callback_query: Press | None = None
    message_reaction: TelegramReacted | None = None
    unreadable: Left | None = None


WANTED = ("message", "edited_message", "callback_query", "message_reaction")
"""The kinds of update that are asked for."""


class Numbered(Struct, frozen=True):
    """An update of which only the number is read; the rest is kept as it came."""

    update_id: int


class TelegramSent(Struct, frozen=True):
    """A message of ours."""

    message_id: int


class TelegramFile(Struct, frozen=True):
    """Where the bytes of a file are."""

    file_path: str = ""


class WebhookInfo(Struct, frozen=True):
    """How Telegram's visits to our webhook go. Dates are Unix seconds."""

    url: str = ""
    pending_update_count: int = 0
    last_error_date: int = 0
    last_error_message: str = ""
