"""What a chat network can do: a row for every kind of thing, natively, as something else, or never."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """What goes out. Every channel's table has a row for each."""

    TEXT = "text"
    PHOTO = "photo"
    ANIMATION = "animation"
    VOICE = "voice"
    AUDIO = "audio"
    VIDEO = "video"
    DOCUMENT = "document"
    ALBUM = "album"
    """Several pictures and films, or several files, that stand together."""
    TYPING = "typing"
    EDIT = "edit"
    DRAFT = "draft"
    """Words that are shown for a while and vanish by themselves, before a message brings them."""
    DELETE = "delete"
    REACTION = "reaction"
    REPLY = "reply"
    THREAD = "thread"
    BUTTONS = "buttons"


FILES = (Kind.PHOTO, Kind.ANIMATION, Kind.VOICE, Kind.AUDIO, Kind.VIDEO, Kind.DOCUMENT)
"""The kinds that carry bytes."""


class IncomingKind(StrEnum):
    """What comes in."""

    TEXT = "text"
    PHOTO = "photo"
    VOICE = "voice"
    AUDIO = "audio"
    VIDEO = "video"
    DOCUMENT = "document"
    STICKER = "sticker"
    LOCATION = "location"
    CONTACT = "contact"
    EDIT = "edit"
    DELETION = "deletion"
    REACTION = "reaction"
    COMMAND = "command"
    BUTTON = "button"


class NativeMethod(Struct, frozen=True):
    """The network has it, by its own `method`.

    `limit` is bytes, 0 for none known. `caption` is characters beneath a file, 0 where there is none. `mimes` are
    the types it takes, empty for any. `longest` bounds a picture's width plus height in pixels and `ratio` its longer
    by its shorter side, 0 for no bound. `most` is how many one album or row of buttons holds.
    """

    method: str
    limit: int = 0
    caption: int = 0
    mimes: tuple[str, ...] = ()
    longest: int = 0
    ratio: float = 0.0
    most: int = 0


class As(Struct, frozen=True):
    """The network has none of it, and it goes as another kind, `because`; people are told."""

    kind: Kind
    because: str


class Never(Struct, frozen=True):
    """It cannot be had, `because`."""

    because: str


Way = NativeMethod | As | Never


class Units(StrEnum):
    """What a network counts when it limits a text."""

    UTF16 = "utf16"
    CHARACTERS = "characters"
    BYTES = "bytes"


class Capabilities(Struct, frozen=True):
    """One network's table. `ways` has a row for every `Kind`, `hears` one for every `IncomingKind`.

    `text_limit` is the longest single message after markup, in `units`. `idempotent` says that the network itself
    absorbs a repeat under the same key; without it a time-out after our bytes left is `Unsure`. `pace` is the seconds
    between two messages to one chat, `edit_pace` between two edits of one message or two drafts, `typing_seconds` how
    long a typing mark stays, `draft_seconds` how long a draft does. `grows_from` is how many characters of an answer
    there have to be before a message shows it growing.
    """

    ways: Mapping[Kind, Way]
    hears: Mapping[IncomingKind, Way]
    text_limit: int
    units: Units = Units.CHARACTERS
    idempotent: bool = False
    pace: float = 0.0
    edit_pace: float = 1.0
    typing_seconds: float = 5.0
    draft_seconds: float = 0.0
    grows_from: int = 0

    def can(self, kind: Kind) -> bool:
        """Whether the network has it natively."""
        return isinstance(self.ways[kind], NativeMethod)


def faults(capabilities: Capabilities) -> list[str]:
    """What is wrong with a table: rows that are missing, and ways that lead in a circle or to a missing kind."""
    found = [f"no row for sending {kind}" for kind in Kind if kind not in capabilities.ways]
    found += [f"no row for hearing {heard}" for heard in IncomingKind if heard not in capabilities.hears]
    for kind in capabilities.ways:
        seen, way = {kind}, capabilities.ways[kind]
        while isinstance(way, As):
            if way.kind in seen or way.kind not in capabilities.ways:
                found.append(f"{kind} leads nowhere")
                break
            seen.add(way.kind)
            way = capabilities.ways[way.kind]
    return found
