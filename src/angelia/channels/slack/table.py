"""What Slack can do for apps (docs.slack.dev, as of 2026; each row names its page)."""

from angelia.channels.abilities import Abilities, As, Heard, Kind, Native, Never, Units

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


def abilities() -> Abilities:
    """The table."""
    file = Native(_SHARE, FILE, CAPTION)
    return Abilities(
        ways={
            Kind.TEXT: Native("chat.postMessage"),
            Kind.PHOTO: file,
            Kind.ANIMATION: file,
            Kind.VOICE: As(Kind.AUDIO, _NO_VOICE),
            Kind.AUDIO: file,
            Kind.VIDEO: file,
            Kind.DOCUMENT: file,
            Kind.ALBUM: Native(_SHARE, 0, CAPTION, most=FILES),
            # "assistant.threads.setStatus": a status needs a thread, which direct messages and channels have not
            Kind.TYPING: Never(_NO_TYPING),
            Kind.EDIT: Native("chat.update"),
            Kind.DRAFT: Never("a preview is a message there"),
            Kind.DELETE: Native("chat.delete"),
            Kind.REACTION: Native("reactions.add"),
            Kind.REPLY: Never(_NO_REPLY),
            Kind.THREAD: Native("thread_ts"),
            Kind.BUTTONS: Native("actions block", most=BUTTONS),
        },
        hears={
            **dict.fromkeys(Heard, Native("message")),
            Heard.EDIT: Native("message_changed"),
            Heard.DELETION: Native("message_deleted"),
            Heard.REACTION: Native("reaction_added"),
            Heard.COMMAND: Native("slash_commands"),
            Heard.BUTTON: Native("block_actions"),
            Heard.STICKER: Never("Slack has no stickers"),
            Heard.LOCATION: Never("Slack has no places"),
            Heard.CONTACT: Never("Slack has no contacts"),
        },
        text_limit=TEXT,
        units=Units.CHARACTERS,
        # "Rate limits": one message per second and channel; `client_msg_id` is no key of ours
        pace=1.0,
        # the same: "chat.update" is of tier 3, some 50 a minute for all chats together
        edit_pace=1.5,
    )
