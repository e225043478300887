"""What is addressed to a program that asked: words become notes, files are copied, and each gets its receipt."""

import asyncio
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import copied
from angelia.store.media.blobs import BlobStore


class SentFile(Struct, frozen=True):
    """A file that the model sent: `path` is the copy that is yours, `name` what the model called it."""

    name: str
    path: Path
    mime: str
    size: int


class ProgramDelivery:
    """Settles what is addressed to `door`, once each: files are copied into `folder` under their own names."""

    def __init__(self, session: Session, door: str, blobs: BlobStore, folder: Path) -> None:
        self._session = session
        self._door = door
        self._blobs = blobs
        self._folder = folder
        self._order = asyncio.Lock()

    def unsettled(self) -> list[e.DeliveryQueued]:
        """What was queued for this door and has no receipt yet, oldest first."""
        facts = [entry.fact for entry in self._session.log.entries]
        settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
        queued = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
        return [fact for fact in queued if fact.id not in settled and fact.address.door == self._door]

    async def hand_over(self) -> tuple[list[SentFile], list[str]]:
        """Copy and settle what is due: the files, and sentences about what has to be known of the rest."""
        files: list[SentFile] = []
        notes: list[str] = []
        async with self._order:
            await self._session.log.refresh()
            for queued in self.unsettled():
                failures = [why for part in queued.parts if (why := await self._take(part, files))]
                if queued.origin not in ("answer", "ending"):
                    notes += [part.text for part in queued.parts if isinstance(part, Text)]
                notes += failures
                crash_point("delivery.shown")
                status = e.DeliveryStatus.FAILED if failures else e.DeliveryStatus.SENT
                await self._session.log.append(e.DeliverySettled(queued.id, status, detail="; ".join(failures)))
                crash_point("delivery.settled")
        return files, notes

    async def files_of(self, opened: int, closed: int) -> list[SentFile]:
        """The files of the turn between these entries, once more: what lies in the folder already is not copied again.

        What cannot be copied is left out: `hand_over` has told of it.
        """
        log = self._session.log.entries
        behind = takewhile(lambda entry: isinstance(entry.fact, e.DeliveryQueued), log[closed:])
        files: list[SentFile] = []
        for entry in [*log[opened - 1 : closed], *behind]:
            if isinstance(entry.fact, e.DeliveryQueued) and entry.fact.address.door == self._door:
                for part in entry.fact.parts:
                    await self._take(part, files)
        return files

    async def _take(self, part: object, files: list[SentFile]) -> str:
        """Copy a file; why it could not be, if so."""
        if not isinstance(part, Media):
            return ""
        name = part.name or "file"
        try:
            await self._blobs.local(part.blob.sha256)
            path = await asyncio.to_thread(copied, part, self._blobs, self._folder)
        except (OSError, AngeliaError) as error:
            why = error.strerror or error if isinstance(error, OSError) else error
            return f"{name} could not be saved to {self._folder}: {why}. It is kept in the conversation."
        files.append(SentFile(name, path, part.blob.mime, part.blob.size))
        return ""
