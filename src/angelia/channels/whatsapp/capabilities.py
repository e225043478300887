"""What WhatsApp can do for businesses (developers.facebook.com, "Cloud API", as of 2026; each row names its page)."""

from angelia.channels.capabilities import As, Capabilities, IncomingKind, Kind, NativeMethod, Never, Units

MB = 1_000_000

TEXT = 4096
"""Characters of a body ("Text messages"); in UTF-16 units, which is never more than what WhatsApp counts."""

CAPTION = 1024
"""Characters beneath a picture, film or file ("Image messages" and others)."""

BODY = 1024
"""Characters above reply buttons ("Interactive reply buttons messages")."""

BUTTONS, TITLE = 3, 20
"""Reply buttons in one message, and characters on each (the same page)."""

ROWS, ROW_TITLE = 10, 24
"""Rows of a list, and characters on each ("Interactive list messages"); above a list `TEXT` fits."""

PHOTO, SOUND, FILM, FILE = 5 * MB, 16 * MB, 16 * MB, 100 * MB
"""Bytes ("Media", Supported media types)."""

WINDOW_HOURS = 24
"""For how long after somebody's last message free text may be sent ("Customer service windows")."""

PICTURES = ("image/jpeg", "image/png")
SOUNDS = ("audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg")
FILMS = ("video/mp4", "video/3gpp")
_OOXML = "application/vnd.openxmlformats-officedocument"
PAPERS = (
    "application/pdf",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    f"{_OOXML}.wordprocessingml.document",
    f"{_OOXML}.spreadsheetml.sheet",
    f"{_OOXML}.presentationml.presentation",
)
WORDS = ("text/plain", "text/csv", "text/html", "text/markdown", "text/xml", "application/json", "application/xml")
"""Plain text by whatever name: the upload knows only the first."""

UPLOADED = (*PICTURES, "image/webp", *SOUNDS, *FILMS, *PAPERS, WORDS[0])
"""Every type that an upload takes ("Media", and its refusal of any other)."""

_NO_GROUP_OF_FILES = "WhatsApp takes one file a message from a business"
_NO_CHANGES = "WhatsApp lets a business change nothing that it has sent"
_NO_THREADS = "WhatsApp has no threads"


def capabilities() -> Capabilities:
    """The table of a chat with one person."""
    return Capabilities(
        ways={
            Kind.TEXT: NativeMethod("text"),
            Kind.PHOTO: NativeMethod("image", PHOTO, CAPTION, PICTURES),
            Kind.ANIMATION: As(Kind.VIDEO, "WhatsApp has no animations for businesses"),
            # "Audio messages": Ogg with Opus, mono; no caption
            Kind.VOICE: NativeMethod("audio with voice", SOUND, 0, ("audio/ogg",)),
            Kind.AUDIO: NativeMethod("audio", SOUND, 0, SOUNDS),
            Kind.VIDEO: NativeMethod("video", FILM, CAPTION, FILMS),
            Kind.DOCUMENT: NativeMethod("document", FILE, CAPTION, (*PAPERS, *WORDS, *PICTURES, *SOUNDS, *FILMS)),
            Kind.ALBUM: Never(_NO_GROUP_OF_FILES),
            # "Typing indicators": with the read mark of a message, for 25 seconds
            Kind.TYPING: NativeMethod("typing_indicator"),
            Kind.EDIT: Never(_NO_CHANGES),
            Kind.DRAFT: Never("WhatsApp shows whole messages"),
            Kind.DELETE: Never(_NO_CHANGES),
            Kind.REACTION: NativeMethod("reaction"),
            Kind.REPLY: NativeMethod("context"),
            Kind.THREAD: Never(_NO_THREADS),
            Kind.BUTTONS: NativeMethod("interactive", most=ROWS),
        },
        hears={
            **dict.fromkeys(IncomingKind, NativeMethod("messages")),
            # only of numbers that are in use in the WhatsApp Business app, too ("Edit" and "Revoke messages webhook")
            IncomingKind.EDIT: NativeMethod("edit"),
            IncomingKind.DELETION: NativeMethod("revoke"),
            IncomingKind.REACTION: NativeMethod("reaction"),
            IncomingKind.BUTTON: NativeMethod("interactive"),
        },
        text_limit=TEXT,
        units=Units.UTF16,
        # "Throughput": to one person one message in 6 seconds in the long run, and 45 in a burst
        pace=1.0,
        typing_seconds=25.0,
    )


def group_abilities(alone: Capabilities) -> Capabilities:
    """The table of a group, from that of a chat with one person ("Group messaging": words and media)."""
    never = Never("WhatsApp does not take it from a business in a group")
    less = dict.fromkeys((Kind.BUTTONS, Kind.TYPING, Kind.REACTION), never)
    return Capabilities(
        ways={**alone.ways, **less},
        hears=alone.hears,
        text_limit=alone.text_limit,
        units=alone.units,
        pace=alone.pace,
        typing_seconds=alone.typing_seconds,
    )
