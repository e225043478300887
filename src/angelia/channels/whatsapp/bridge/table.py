"""What WhatsApp can do for a linked device (faq.whatsapp.com; Baileys 7, `AnyMessageContent`)."""

from angelia.channels.abilities import Abilities, Heard, Kind, Native, Never, Units
from angelia.channels.whatsapp.table import CAPTION, FILE, FILMS, PICTURES, SOUND, SOUNDS, TEXT

FILM = SOUND
"""Bytes of a picture, film or recording; larger ones go as files."""

_NO_ALBUMS = "each file is a message of its own"
_NO_THREADS = "WhatsApp has no threads"
_NO_BUTTONS = "WhatsApp shows buttons of businesses only"


def abilities() -> Abilities:
    """The table."""
    return Abilities(
        ways={
            Kind.TEXT: Native("text"),
            Kind.PHOTO: Native("photo", FILM, CAPTION, PICTURES),
            Kind.ANIMATION: Native("animation", FILM, CAPTION, FILMS[:1]),
            Kind.VOICE: Native("voice", SOUND, 0, ("audio/ogg",)),
            Kind.AUDIO: Native("audio", SOUND, 0, SOUNDS),
            Kind.VIDEO: Native("video", FILM, CAPTION, FILMS),
            Kind.DOCUMENT: Native("document", FILE, CAPTION),
            Kind.ALBUM: Never(_NO_ALBUMS),
            Kind.TYPING: Native("composing"),
            Kind.EDIT: Native("edit"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.DELETE: Native("delete"),
            Kind.REACTION: Native("react"),
            Kind.REPLY: Native("quoted"),
            Kind.THREAD: Never(_NO_THREADS),
            Kind.BUTTONS: Never(_NO_BUTTONS),
        },
        hears={**dict.fromkeys(Heard, Native("messages.upsert")), Heard.BUTTON: Never(_NO_BUTTONS)},
        text_limit=TEXT,
        units=Units.UTF16,
        # a person does not write faster; WhatsApp bans numbers that behave like machines
        pace=1.0,
        edit_pace=2.0,
        typing_seconds=10.0,
    )
