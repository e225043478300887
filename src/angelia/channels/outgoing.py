"""What goes out to a chat network, one message each."""

from pathlib import Path

from msgspec import Struct

from angelia.channels.capabilities import Kind


class Button(Struct, frozen=True):
    """Something to press: `label` for people, `value` (at most 64 bytes) for us."""

    label: str
    value: str


class OutText(Struct, frozen=True):
    """One message of words: `marked` in the network's dialect, `plain` without markup. An empty `marked` means: plain.

    `reply_to` is the id of the message that it answers, empty for none.
    """

    plain: str
    marked: str = ""
    reply_to: str = ""
    buttons: tuple[Button, ...] = ()


class OutFile(Struct, frozen=True):
    """One file, as a kind that the network has natively. `path` is its bytes on this machine, `size` their number.

    `peaks` is how a recording's loudness goes, a byte for each stretch of it; empty where that is not known.
    """

    kind: Kind
    path: Path
    size: int
    name: str
    mime: str
    caption: OutText | None = None
    width: int = 0
    height: int = 0
    seconds: float = 0.0
    peaks: bytes = b""
    reply_to: str = ""


class OutAlbum(Struct, frozen=True):
    """Two or more files that stand together, by one call (`HasAlbums`); only the first may have a caption."""

    files: tuple[OutFile, ...]
    reply_to: str = ""


Outgoing = OutText | OutFile
"""What is a message of its own."""
