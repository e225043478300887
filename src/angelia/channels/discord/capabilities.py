"""What Discord can do for bots (docs.discord.com, API version 10; each row names its section)."""

from angelia.channels.capabilities import Capabilities, IncomingKind, Kind, NativeMethod, Never, Units

MiB = 1024 * 1024

UPLOAD = 10 * MiB
"""Bytes of one file where no boosts raise it ("Uploading Files")."""

BOOSTED = {2: 50 * MiB, 3: 100 * MiB}
"""The same in a server of that boost level (support.discord.com, "Server Boosting FAQ")."""

TEXT = 2000
"""Characters of `content` ("Create Message"); Discord counts code points (discord-api-docs, issue 1315)."""

FILES = 10
"""Attachments of one message ("Create Message": `attachments`)."""

_MESSAGE = "Create Message"
_NO_PLACES = "Discord has no places"
_NO_CONTACTS = "Discord has no contacts"


def capabilities(upload: int = UPLOAD) -> Capabilities:
    """The table, with the largest file that a chat takes."""
    file = NativeMethod(_MESSAGE, upload, TEXT)
    return Capabilities(
        ways={
            Kind.TEXT: NativeMethod(_MESSAGE),
            Kind.PHOTO: file,
            Kind.ANIMATION: file,
            # "Voice Messages": Ogg with Opus, alone in its message
            Kind.VOICE: NativeMethod(_MESSAGE, upload, 0, ("audio/ogg", "audio/opus")),
            Kind.AUDIO: file,
            Kind.VIDEO: file,
            Kind.DOCUMENT: file,
            Kind.ALBUM: NativeMethod(_MESSAGE, 0, TEXT, most=FILES),
            Kind.TYPING: NativeMethod("Trigger Typing Indicator"),
            Kind.EDIT: NativeMethod("Edit Message"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.DELETE: NativeMethod("Delete Message"),
            Kind.REACTION: NativeMethod("Create Reaction"),
            Kind.REPLY: NativeMethod("message_reference"),
            Kind.THREAD: NativeMethod("Threads"),
            # "Action Row": five rows of five buttons
            Kind.BUTTONS: NativeMethod("components", most=25),
        },
        hears={
            **dict.fromkeys(IncomingKind, NativeMethod("MESSAGE_CREATE")),
            IncomingKind.EDIT: NativeMethod("MESSAGE_UPDATE"),
            IncomingKind.DELETION: NativeMethod("MESSAGE_DELETE"),
            IncomingKind.REACTION: NativeMethod("MESSAGE_REACTION_ADD"),
            IncomingKind.COMMAND: NativeMethod("INTERACTION_CREATE"),
            IncomingKind.BUTTON: NativeMethod("INTERACTION_CREATE"),
            IncomingKind.LOCATION: Never(_NO_PLACES),
            IncomingKind.CONTACT: Never(_NO_CONTACTS),
        },
        text_limit=TEXT,
        units=Units.CHARACTERS,
        # "Create Message": `enforce_nonce`, for a few minutes
        idempotent=True,
        # "Rate Limits" are per route and told with each answer; five messages in five seconds is what is seen
        pace=1.0,
        edit_pace=1.2,
        # "Trigger Typing Indicator": 10 seconds
        typing_seconds=10.0,
    )
