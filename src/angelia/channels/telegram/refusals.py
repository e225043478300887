"""What the Bot API's error codes and descriptions mean for us.

The descriptions are those of its server, which is public (tdlib/telegram-bot-api, `Client.cpp`); upper-case ones come
from Telegram itself.
"""

from msgspec import Struct

from angelia.channels.failures import (
    CannotFetch,
    ChannelError,
    Later,
    MarkupRejected,
    MessageGone,
    NotSent,
    Rejected,
)

FETCH_LIMIT = 20 << 20
"""Bytes that a bot may download, unless the server is its own ("getFile": 20 MB)."""


UNNAMED = 5.0
"""Seconds to wait where the flood control names none."""


class TelegramRefusal(Struct, frozen=True):
    """A request that was refused. `moved` is the chat's new id, 0 if it has not moved."""

    method: str
    code: int
    description: str
    retry_after: float = 0.0
    moved: int = 0


class ChatMoved(Rejected):
    """The group has become a supergroup, with the id `chat`."""

    def __init__(self, chat: int) -> None:
        self.chat = chat
        super().__init__("The group has become a supergroup.", f"Telegram gave it the id {chat}.")


class NotModified(Rejected):
    """The message has these words already."""


class NoText(Rejected):
    """The message is a file: its words are a caption."""


class _Row(Struct, frozen=True):
    """What to say when the description holds `part`."""

    part: str
    kind: type[ChannelError]
    what: str
    why: str = ""
    then: str = ""


_GONE = "The message is not there any more, or Telegram does not let it be changed any more."
_TOO_BIG = _Row(
    "file is too big",
    CannotFetch,
    f"The file is larger than the {FETCH_LIMIT >> 20} MB that Telegram hands to bots.",
    then="Send it in smaller parts, or use a Bot API server of your own (`angelia docs telegram`).",
)

_ROWS = (
    _Row("can't parse entities", MarkupRejected, "Telegram cannot read the message's markup."),
    _Row("message is not modified", NotModified, "The message has these words already."),
    _Row("there is no text in the message to edit", NoText, "The message is a file."),
    _Row("message to edit not found", MessageGone, _GONE),
    _Row("message can't be edited", MessageGone, _GONE),
    _Row("message_id_invalid", MessageGone, _GONE),
    _Row("message to delete not found", MessageGone, _GONE),
    _Row("message can't be deleted", MessageGone, _GONE),
    _Row(
        "chat not found",
        Rejected,
        "Telegram does not find this chat.",
        "A bot finds a person only after they have written to it, and a group only while it is a member.",
        "Write to the bot first.",
    ),
    _Row(
        "bot was blocked by the user",
        Rejected,
        "The person has blocked the bot in Telegram.",
        then="They can unblock it in the chat's menu.",
    ),
    _Row("user is deactivated", Rejected, "The person's Telegram account does not exist any more."),
    _Row("bot was kicked", Rejected, "The bot is not in this group any more.", then="Add it again."),
    _Row("bot is not a member", Rejected, "The bot is not in this group.", then="Add it."),
    _Row(
        "not enough rights",
        Rejected,
        "The bot may not do this here.",
        then="Give it the right in the group's settings.",
    ),
    _Row(
        "have no rights", Rejected, "The bot may not do this here.", then="Give it the right in the group's settings."
    ),
    # Until 9.5 of 2026-03-01, from bots without topics in private chats; and in any other chat
    _Row("textdraft_peer_invalid", Rejected, "Telegram takes no drafts in this chat."),
    _Row("method not found", Rejected, "This Bot API server does not know the method; it is older than Angelia."),
    _Row("message thread not found", Rejected, "The topic is not there any more."),
    _Row("topic_closed", Rejected, "The topic is closed.", then="Somebody who may can open it again."),
    _Row("request entity too large", Rejected, "The file is larger than Telegram takes from bots."),
    _Row("file must be non-empty", Rejected, "Telegram takes no empty files."),
    _Row("photo_invalid_dimensions", Rejected, "Telegram cannot show a picture of this shape as a photo."),
    _Row("image_process_failed", Rejected, "Telegram cannot read this picture."),
    _Row("message is too long", Rejected, "The text is longer than a Telegram message may be (4096 characters)."),
    _Row("caption is too long", Rejected, "The caption is longer than Telegram takes (1024 characters)."),
    _Row("reaction_invalid", Rejected, "Telegram does not have this emoji as a reaction."),
)


def told(refusal: TelegramRefusal) -> ChannelError:
    """A refusal by what can be done about it."""
    if refusal.moved:
        return ChatMoved(refusal.moved)
    if refusal.code == 429:
        return Later(refusal.retry_after or UNNAMED)
    if refusal.code >= 500:
        return NotSent(f"Telegram says that it failed ({refusal.code} {refusal.description}).")
    if refusal.code == 409:
        return NotSent(f"Another program asks for this bot's messages ({refusal.description}).")
    said = refusal.description.lower()
    if refusal.method in ("getFile", "download"):
        gone = CannotFetch("Telegram does not have this file any more.", then="Send it once more.")
        return _error(_TOO_BIG) if _TOO_BIG.part in said else gone
    found = next((row for row in _ROWS if row.part in said), None)
    return _error(found) if found else Rejected(f"Telegram refuses this: {refusal.description or refusal.code}.")


def _error(row: _Row) -> ChannelError:
    return row.kind(row.what, row.why, row.then)
