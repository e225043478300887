"""What is addressed to the program that asked: words become notes, files are copied, and each gets its receipt."""

import asyncio
from pathlib import Path

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.faces.python.answers import SentFile
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import copied
from angelia.store.media.blobs import BlobStore

PYTHON = e.Address("python")


class PythonDelivery:
    """Settles what is addressed to this door, once each: files are copied into `folder` under their own names."""

    def __init__(self, session: Session, blobs: BlobStore, folder: Path) -> None:
        self._session = session
        self._blobs = blobs
        self._folder = folder
        self._order = asyncio.Lock()

    def unsettled(self) -> list[e.DeliveryQueued]:
        """What was queued for this door and has no receipt yet, oldest first."""
        facts = [entry.fact for entry in self._session.log.entries]
        settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
        queued = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
        return [fact for fact in queued if fact.id not in settled and fact.address.door == PYTHON.door]

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

    async def _take(self, part: object, files: list[SentFile]) -> str:
        """Copy a file; why it could not be, if so."""
        if not isinstance(part, Media):
            return ""
        name = part.name or "file"
        try:
            path = await asyncio.to_thread(copied, part, self._blobs, self._folder)
        except (OSError, AngeliaError) as error:
            why = error.strerror or error if isinstance(error, OSError) else error
            return f"{name} could not be saved to {self._folder}: {why}. It is kept in the conversation."
        files.append(SentFile(name, path, part.blob.mime, part.blob.size))
        return ""
