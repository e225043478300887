"""What Slack can do for apps (docs.slack.dev, as of 2026; each row names its page)."""

from angelia.channels.capabilities import As, Capabilities, IncomingKind, Kind, NativeMethod, Never, Units

GB = 1_000_000_000

TEXT = 12_000
"""Characters of all `markdown` blocks in one message ("Markdown block"). With what Slack makes of them, a message holds
about 13,200 (slackapi/bolt-js, issue 2509): plain words of this length fit, too.
"""

NOTICE = 3_000
"""Characters of the text beside the blocks, which only notifications show ("chat.postMessage": at most 4,000 are
recommended).
"""

CAPTION = 3_000
"""Characters beneath a file: no limit is published, and this is a section's ("Section block")."""

FILE = GB
"""Bytes (slack.com/help, "Add files to Slack")."""

FILES = 10
"""Files of one message, as people can attach them (the same page)."""

BUTTONS, LABEL = 25, 75
"""Elements of an actions block ("Actions block"), and characters on a button ("Button element")."""

_SHARE = "files.completeUploadExternal"
_NO_VOICE = "Slack has no voice messages for apps"
_NO_TYPING = "Slack shows that an app is at work only in its assistant threads"
_NO_REPLY = "Slack answers within threads"


def capabilities() -> Capabilities:
    """The table."""
    file = NativeMethod(_SHARE, FILE, CAPTION)
    return Capabilities(
        ways={
            Kind.TEXT: NativeMethod("chat.postMessage"),
            Kind.PHOTO: file,
            Kind.ANIMATION: file,
            Kind.VOICE: As(Kind.AUDIO, _NO_VOICE),
            Kind.AUDIO: file,
            Kind.VIDEO: file,
            Kind.DOCUMENT: file,
            Kind.ALBUM: NativeMethod(_SHARE, 0, CAPTION, most=FILES),
            # "assistant.threads.setStatus": a status needs a thread, which direct messages and channels have not
            Kind.TYPING: Never(_NO_TYPING),
            Kind.EDIT: NativeMethod("chat.update"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.DELETE: NativeMethod("chat.delete"),
            Kind.REACTION: NativeMethod("reactions.add"),
            Kind.REPLY: Never(_NO_REPLY),
            Kind.THREAD: NativeMethod("thread_ts"),
            Kind.BUTTONS: NativeMethod("actions block", most=BUTTONS),
        },
        hears={
            **dict.fromkeys(IncomingKind, NativeMethod("message")),
            IncomingKind.EDIT: NativeMethod("message_changed"),
            IncomingKind.DELETION: NativeMethod("message_deleted"),
            IncomingKind.REACTION: NativeMethod("reaction_added"),
            IncomingKind.COMMAND: NativeMethod("slash_commands"),
            IncomingKind.BUTTON: NativeMethod("block_actions"),
            IncomingKind.STICKER: Never("Slack has no stickers"),
            IncomingKind.LOCATION: Never("Slack has no places"),
            IncomingKind.CONTACT: Never("Slack has no contacts"),
        },
        text_limit=TEXT,
        units=Units.CHARACTERS,
        # "Rate limits": one message per second and channel; `client_msg_id` is no key of ours
        pace=1.0,
        # the same: "chat.update" is of tier 3, some 50 a minute for all chats together
        edit_pace=1.5,
    )
