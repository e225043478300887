"""What Matrix takes, and what it brings: the table."""

from angelia.channels.capabilities import FILES, Capabilities, IncomingKind, Kind, NativeMethod, Never, Units
from angelia.channels.matrix.payloads import MESSAGE_TYPES
from angelia.channels.matrix.settings import MatrixSettings

TEXT = 8_000
"""Bytes: an edit says them three times, escaped to twice as many, and an event holds 65,536 ("Size limits")."""

EDIT_PACE = 3.0
"""Seconds. A Synapse with its own defaults takes ten messages or edits at once, and one each five seconds beyond them
(`rc_message` of its configuration manual): an answer of a minute may grow, and what follows it is not held up.
"""

GROWS_FROM = 200
"""Characters: what is shorter is there before it would have grown twice, and is marked as edited for nothing."""

TYPING = 20.0
"""Seconds for which people are shown that we write."""


def capabilities(settings: MatrixSettings) -> Capabilities:
    """The table."""
    no_buttons = Never("Matrix has no buttons that all clients show")
    return Capabilities(
        ways={
            **{kind: NativeMethod(MESSAGE_TYPES[kind], settings.upload, TEXT // 4) for kind in FILES},
            **{kind: NativeMethod(f"m.{kind}") for kind in (Kind.TEXT, Kind.TYPING, Kind.REACTION, Kind.THREAD)},
            Kind.EDIT: NativeMethod("m.replace"),
            Kind.DELETE: NativeMethod("m.room.redaction"),
            Kind.REPLY: NativeMethod("m.in_reply_to"),
            Kind.ALBUM: Never("a Matrix event holds one file"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.BUTTONS: no_buttons,
        },
        hears={
            **dict.fromkeys(IncomingKind, NativeMethod("m.room.message")),
            IncomingKind.STICKER: NativeMethod("m.sticker"),
            IncomingKind.DELETION: NativeMethod("m.room.redaction"),
            IncomingKind.REACTION: NativeMethod("m.reaction"),
            IncomingKind.CONTACT: Never("Matrix shares no contacts"),
            IncomingKind.BUTTON: no_buttons,
        },
        text_limit=TEXT,
        units=Units.BYTES,
        idempotent=True,
        edit_pace=EDIT_PACE,
        typing_seconds=TYPING,
        grows_from=GROWS_FROM,
    )
