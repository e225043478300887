"""Matrix's events and answers as they are told: JSON objects of which anybody may have written any field."""

from typing import Any

from angelia.channels.capabilities import Kind
from angelia.channels.failures import Unsure
from angelia.channels.lenient import within

Body = dict[str, Any]

MEDIA_KINDS = {"m.image": Kind.PHOTO, "m.audio": Kind.AUDIO, "m.video": Kind.VIDEO, "m.file": Kind.DOCUMENT}
"""What each `msgtype` of a file is ("m.room.message msgtypes")."""

MESSAGE_TYPES = {kind: name for name, kind in MEDIA_KINDS.items()} | {Kind.ANIMATION: "m.image", Kind.VOICE: "m.audio"}
"""The `msgtype` by which each kind of file goes out."""

VOICE, AUDIO = "org.matrix.msc3245.voice", "org.matrix.msc1767.audio"
"""What makes a voice note of an `m.audio`, and where its length stands; clients know them by these names."""


def needed(told: Body, name: str) -> str:
    """A field without which nothing can be done.

    Raises:
        Unsure: it is not there, or is no text.
    """
    value = within(told, name, default="")
    if not value:
        raise Unsure(f"The homeserver's answer has no {name}.")
    return value


def is_edit(relation: Body) -> bool:
    """Whether an event with this `m.relates_to` replaces another."""
    return relation.get("rel_type") == "m.replace"


def thread_of(relation: Body) -> str:
    """The event that began the thread in which an event with this `m.relates_to` stands; empty outside of threads."""
    return within(relation, "event_id", default="") if relation.get("rel_type") == "m.thread" else ""
