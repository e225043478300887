"""What goes out to a terminal: words are printed by whoever is attached, files are copied to the person's folder."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.content import Media, MediaKind, Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.core.text import file_name, numbered
from angelia.path_queries import exists
from angelia.service.conversation.session import Session
from angelia.store.media.blobs import BlobStore

TERMINAL = e.Address("terminal")

AGAIN = "An earlier process ended before it could note that this was shown; it may stand there already."

Draw = Callable[[Path], Awaitable[None]]
"""Shows a picture to whoever is attached, if that can be done."""

_LONGEST = 240
"""Bytes of a name that gets a number."""


class TerminalDelivery:
    """Settles what is addressed to the terminal, in order, once each. Answers that are spoken go to `spoken`, if that
    is given, and other files to `folder`.
    """

    def __init__(self, session: Session, blobs: BlobStore, folder: Path, spoken: Path | None = None) -> None:
        self._session = session
        self._blobs = blobs
        self._folder = folder
        self._spoken = spoken

    def unsettled(self) -> list[e.DeliveryQueued]:
        """What was queued for this door and has no receipt yet, oldest first."""
        facts = [entry.fact for entry in self._session.log.entries]
        settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
        queued = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
        return [fact for fact in queued if fact.id not in settled and fact.address.door == TERMINAL.door]

    def due(self) -> list[e.DeliveryQueued]:
        """What is unsettled, and the words that closed the last turn even if another process has shown them too:
        whoever waited for a turn is told how it ended.
        """
        due = self.unsettled()
        entries = self._session.log.entries
        closed = max((entry.seq for entry in entries if isinstance(entry.fact, e.TurnClosed)), default=len(entries))
        said = [entry.fact for entry in entries[closed:] if isinstance(entry.fact, e.DeliveryQueued)]
        return [fact for fact in said[:1] if fact not in due and fact.address.door == TERMINAL.door] + due

    async def deliver(self, queued: e.DeliveryQueued, show: Callable[[str], None], draw: Draw) -> None:
        """Show or copy every part, then settle, unless another process did. `show` prints and flushes; a file's
        path is shown like words, and `draw` shows a picture, where that can be done.

        The receipt says where files were put. One that cannot be copied settles as failed. Person and model see both.
        """
        failures: list[str] = []
        put: list[str] = []
        for part in queued.parts:
            match part:
                case Text(text=text):
                    show(text)
                case Media():
                    try:
                        await self._blobs.local(part.blob.sha256)
                        path = await asyncio.to_thread(self._copied, part, queued.origin)
                    except (OSError, AngeliaError) as error:
                        why = error.strerror or error if isinstance(error, OSError) else error
                        failures.append(f"{part.name}: {why}")
                        continue
                    put.append(f"{part.name or 'file'}: {path}")
                    show(put[-1])
                    if part.media is MediaKind.IMAGE:
                        await draw(path)
        crash_point("delivery.shown")
        status = e.DeliveryStatus.FAILED if failures else e.DeliveryStatus.SENT
        detail = "; ".join(failures or put)
        await self._session.log.refresh()
        if queued in self.unsettled():
            await self._session.log.append(e.DeliverySettled(queued.id, status, detail=detail))
        crash_point("delivery.settled")
        if failures:
            show(f"Could not be saved to {self._folder}: {detail.rstrip('.')}. It is kept in the conversation.")

    def _copied(self, media: Media, origin: str) -> Path:
        if self._spoken and origin == "answer":
            return copied(replace(media, name=self._spoken.name), self._blobs, self._spoken.absolute().parent)
        return copied(media, self._blobs, self._folder)

    async def keep(self, queued: e.DeliveryQueued) -> None:
        """Nobody is attached: the log keeps it, and it is shown when somebody is."""
        await self._session.log.append(e.DeliverySettled(queued.id, e.DeliveryStatus.KEPT))


def copied(media: Media, blobs: BlobStore, folder: Path) -> Path:
    """Copy a file into a folder under its own name; the same bytes are not copied twice, others get a number.

    Disk blocks are shared where the file system can. The copy is read back before it gets its name.

    Raises:
        NotFound, StoreDamaged: the bytes are not in the store, or are not what they were.
        OSError: the folder cannot be written.
    """
    from filecmp import cmp

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_leftovers(folder)
    name = file_name(media.name) or f"file-{media.blob.sha256[:8]}"
    unfinished = folder / f".{media.blob.sha256[:12]}.{os.getpid()}.part"
    try:
        blobs.copy(media.blob, unfinished)
        unfinished.chmod(0o600)  # for the person alone, whatever the umask says
        for number in count(1):
            target = folder / (name if number == 1 else numbered(file_name(name, _LONGEST), number))
            if _put_in_place(unfinished, target) or cmp(target, unfinished, shallow=False):
                break
        return target
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove the unfinished copies of processes that died: their deliveries are unsettled, and so copied again."""
    for left in folder.glob(".????????????.*.part"):
        owner = left.name.removesuffix(".part").rpartition(".")[2]
        if owner.isdecimal() and not _lives(int(owner)):
            left.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's, and alive
    return True


def _put_in_place(unfinished: Path, target: Path) -> bool:
    """Give a whole file its name; False if another file, perhaps of another process, has that name."""
    try:
        os.link(unfinished, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        if exists(target):
            return False
        unfinished.rename(target)
    return True
