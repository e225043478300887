"""What WhatsApp can do for a linked device (faq.whatsapp.com; Baileys 7, `AnyMessageContent`)."""

from angelia.channels.capabilities import Capabilities, IncomingKind, Kind, NativeMethod, Never, Units
from angelia.channels.whatsapp.capabilities import CAPTION, FILE, FILMS, PICTURES, SOUND, SOUNDS, TEXT

FILM = SOUND
"""Bytes of a picture, film or recording; larger ones go as files."""

_NO_ALBUMS = "each file is a message of its own"
_NO_THREADS = "WhatsApp has no threads"
_NO_BUTTONS = "WhatsApp shows buttons of businesses only"


def capabilities() -> Capabilities:
    """The table."""
    return Capabilities(
        ways={
            Kind.TEXT: NativeMethod("text"),
            Kind.PHOTO: NativeMethod("photo", FILM, CAPTION, PICTURES),
            Kind.ANIMATION: NativeMethod("animation", FILM, CAPTION, FILMS[:1]),
            Kind.VOICE: NativeMethod("voice", SOUND, 0, ("audio/ogg",)),
            Kind.AUDIO: NativeMethod("audio", SOUND, 0, SOUNDS),
            Kind.VIDEO: NativeMethod("video", FILM, CAPTION, FILMS),
            Kind.DOCUMENT: NativeMethod("document", FILE, CAPTION),
            Kind.ALBUM: Never(_NO_ALBUMS),
            Kind.TYPING: NativeMethod("composing"),
            Kind.EDIT: NativeMethod("edit"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.DELETE: NativeMethod("delete"),
            Kind.REACTION: NativeMethod("react"),
            Kind.REPLY: NativeMethod("quoted"),
            Kind.THREAD: Never(_NO_THREADS),
            Kind.BUTTONS: Never(_NO_BUTTONS),
        },
        hears={**dict.fromkeys(IncomingKind, NativeMethod("messages.upsert")), IncomingKind.BUTTON: Never(_NO_BUTTONS)},
        text_limit=TEXT,
        units=Units.UTF16,
        # a person does not write faster; WhatsApp bans numbers that behave like machines
        pace=1.0,
        edit_pace=2.0,
        typing_seconds=10.0,
    )
