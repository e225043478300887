"""What a person sends is put where tools can work on it, before any request carries the message that brought it."""

from collections.abc import Awaitable, Callable

from angelia.context.media_forms import label
from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.core.ids import delivery_id
from angelia.core.text import clean
from angelia.engine.log import Log
from angelia.store.log.lease import Lease

Place = Callable[[Media], Awaitable[str]]
"""Puts a file into the sandbox, and says where: a path relative to the workspace. Done again, it finds it there.

May raise any AngeliaError, whose sentence both sides are told.
"""


async def place_files(log: Log, seq: int, place: Place, lease: Lease) -> None:
    """Put the files of one message into the sandbox. What cannot be put is told to its sender, in the same commit."""
    said = log.entries[seq - 1].fact
    assert isinstance(said, e.Opening)
    files: list[e.Placed] = []
    for part, media in enumerate(said.parts):
        if isinstance(media, Media):
            files.append(await _placed(part, media, place))
            crash_point("file.placed")
    facts: list[e.AnyFact] = [e.FilesPlaced(seq, tuple(files))]
    if failed := [file for file in files if file.why]:
        words = "\n".join(f"The {file.what}, could not be put into the sandbox: {file.why}" for file in failed)
        name = delivery_id(log.conversation, f"p{seq}")
        facts.append(e.DeliveryQueued(name, said.address, (Text(words),), "notice", said.reply_to))
    await log.append(*facts, lease=lease)
    crash_point("files.told")


async def _placed(part: int, media: Media, place: Place) -> e.Placed:
    try:
        return e.Placed(part, label(media), clean(await place(media)))
    except AngeliaError as error:
        return e.Placed(part, label(media), why=clean(str(error)))
