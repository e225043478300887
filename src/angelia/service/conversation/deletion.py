"""Erasing a conversation for good, with all that is kept because of it; the one way, whichever door asks for it."""

import asyncio
from pathlib import Path

from msgspec import Struct

from angelia.core.entry import AdminAct
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.sandboxes.port import SandboxError
from angelia.sandboxes.undo.store import UndoStore
from angelia.sandboxes.workspace import earlier_files_folder
from angelia.service.audit import LOG, Audit
from angelia.service.places.places import SandboxPlaces
from angelia.store.log.references import blobs_in
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.media.renditions import Renditions
from angelia.store.port import Job


class Deletion(Struct, frozen=True):
    """What is kept of the conversations of one home."""

    home: Path
    transcript: Transcript
    blobs: BlobStore
    renditions: Renditions
    undo: UndoStore
    places: SandboxPlaces
    audit: Audit

    async def delete(
        self, conversation: ConversationId, condition: Job[None] | None = None, by: Principal = OWNER
    ) -> str:
        """Erase it and what its helpers said, the files that no other conversation refers to, what `/undo` kept, its
        sandbox, and the copy of a folder in which a fork or a replay worked. Returns why its sandbox is left behind,
        empty where it is not. What `condition` raises in the transaction that erases is raised, and it stays.

        Raises:
            NotFound: there is no such conversation.
            BadInput: it is the record of what was done to the home.
            HeldElsewhere: somebody is working on it.
        """
        from angelia.service.delegation.tree import below

        if conversation == LOG:
            raise BadInput("The record of what was done to this home is not erased.", then="`angelia audit` shows it.")
        known = await self.transcript.summary(OWNER, conversation)
        entries, _ = await self.transcript.legible(conversation)
        await self.audit.record(AdminAct.CONVERSATION_ERASED, by, conversation)
        for one in [*await below(self.transcript, conversation), conversation]:
            await self.transcript.erase(one, self.blobs, condition)
            await asyncio.to_thread(self.undo.forget, one)
        kept = set(await self.blobs.all())
        for sha256 in {ref.sha256 for entry in entries for ref in blobs_in(entry.fact)} - kept:
            await self.renditions.forget(sha256)
        try:
            await self.places.forget(known.place)
        except SandboxError as error:
            return str(error)
        await self._remove_copy(Path(known.workspace))
        return ""

    async def _remove_copy(self, folder: Path) -> None:
        import shutil

        if folder.parent == earlier_files_folder(self.home) and not await self.transcript.works_in(str(folder)):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
