"""What Telegram can do for bots (core.telegram.org/bots/api, 10.2 of 2026-07-14; each row names its section)."""

from msgspec.structs import replace

from angelia.channels.capabilities import Capabilities, IncomingKind, Kind, NativeMethod, Never, Units
from angelia.core.entry import Address

MB = 1_000_000

UPLOAD = 50 * MB
"""What a bot may send ("Sending files")."""

LOCAL_UPLOAD = 2_000 * MB
"""The same through a Bot API server of one's own ("Using a Local Bot API Server")."""

PHOTO = 10 * MB
CAPTION = 1024
TEXT = 4096
"""Counted after markup, in UTF-16 units as `MessageEntity` counts: never less than what Telegram counts."""

_PICTURES = ("image/jpeg", "image/png", "image/webp")
_VOICES = ("audio/ogg", "audio/mpeg", "audio/mp4", "audio/x-m4a")
_SONGS = ("audio/mpeg", "audio/mp4", "audio/x-m4a")
_FILMS = ("video/mp4",)
_MUTE = ("image/gif", "video/mp4")

_NO_DRAFTS = "Telegram takes drafts in private chats only"
_NO_DELETIONS = "Telegram does not tell bots when a message is deleted"


def capabilities(upload: int = UPLOAD) -> Capabilities:
    """The table, with the largest file that its server takes."""
    return Capabilities(
        ways={
            Kind.TEXT: NativeMethod("sendMessage"),
            # "sendPhoto": 10 MB, width and height 10000 together, 20 to 1
            Kind.PHOTO: NativeMethod("sendPhoto", PHOTO, CAPTION, _PICTURES, longest=10_000, ratio=20.0),
            Kind.ANIMATION: NativeMethod("sendAnimation", upload, CAPTION, _MUTE),
            Kind.VOICE: NativeMethod("sendVoice", upload, CAPTION, _VOICES),
            Kind.AUDIO: NativeMethod("sendAudio", upload, CAPTION, _SONGS),
            Kind.VIDEO: NativeMethod("sendVideo", upload, CAPTION, _FILMS),
            Kind.DOCUMENT: NativeMethod("sendDocument", upload, CAPTION),
            # "sendMediaGroup": 2 to 10 parts
            Kind.ALBUM: NativeMethod("sendMediaGroup", 0, CAPTION, most=10),
            Kind.TYPING: NativeMethod("sendChatAction"),
            Kind.EDIT: NativeMethod("editMessageText"),
            Kind.DRAFT: NativeMethod("sendMessageDraft"),
            Kind.DELETE: NativeMethod("deleteMessage"),
            Kind.REACTION: NativeMethod("setMessageReaction"),
            Kind.REPLY: NativeMethod("reply_parameters"),
            Kind.THREAD: NativeMethod("message_thread_id"),
            Kind.BUTTONS: NativeMethod("inline_keyboard", most=8),
        },
        hears={heard: NativeMethod("getUpdates") for heard in IncomingKind}
        | {IncomingKind.DELETION: Never(_NO_DELETIONS)},
        text_limit=TEXT,
        units=Units.UTF16,
        # core.telegram.org/bots/faq, "My bot is hitting limits": one message a second in a chat
        pace=1.0,
        edit_pace=1.0,
        # "sendChatAction": 5 seconds or less
        typing_seconds=5.0,
        # "sendMessageDraft": a temporary 30-second preview
        draft_seconds=30.0,
    )


def is_private(to: Address) -> bool:
    """Whether a chat is one with a person: ids of groups and channels are negative (core.telegram.org/api/bots/ids)."""
    return to.chat.isdecimal()


def without_drafts(table: Capabilities) -> Capabilities:
    """The table of a chat that has none."""
    return replace(table, ways={**table.ways, Kind.DRAFT: Never(_NO_DRAFTS)})
