"""What Discord can do for bots (docs.discord.com, API version 10; each row names its section)."""

from angelia.channels.abilities import Abilities, Heard, Kind, Native, Never, Units

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


def abilities(upload: int = UPLOAD) -> Abilities:
    """The table, with the largest file that a chat takes."""
    file = Native(_MESSAGE, upload, TEXT)
    return Abilities(
        ways={
            Kind.TEXT: Native(_MESSAGE),
            Kind.PHOTO: file,
            Kind.ANIMATION: file,
            # "Voice Messages": Ogg with Opus, alone in its message
            Kind.VOICE: Native(_MESSAGE, upload, 0, ("audio/ogg", "audio/opus")),
            Kind.AUDIO: file,
            Kind.VIDEO: file,
            Kind.DOCUMENT: file,
            Kind.ALBUM: Native(_MESSAGE, 0, TEXT, most=FILES),
            Kind.TYPING: Native("Trigger Typing Indicator"),
            Kind.EDIT: Native("Edit Message"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.DELETE: Native("Delete Message"),
            Kind.REACTION: Native("Create Reaction"),
            Kind.REPLY: Native("message_reference"),
            Kind.THREAD: Native("Threads"),
            # "Action Row": five rows of five buttons
            Kind.BUTTONS: Native("components", most=25),
        },
        hears={
            **dict.fromkeys(Heard, Native("MESSAGE_CREATE")),
            Heard.EDIT: Native("MESSAGE_UPDATE"),
            Heard.DELETION: Native("MESSAGE_DELETE"),
            Heard.REACTION: Native("MESSAGE_REACTION_ADD"),
            Heard.COMMAND: Native("INTERACTION_CREATE"),
            Heard.BUTTON: Native("INTERACTION_CREATE"),
            Heard.LOCATION: Never(_NO_PLACES),
            Heard.CONTACT: Never(_NO_CONTACTS),
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
