"""Where copies of folders lie in which forks and repeated conversations work, and the making of one."""

from pathlib import Path

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId, sortable_id
from angelia.sandboxes.registry import works_here
from angelia.sandboxes.undo.store import UndoStore
from angelia.sandboxes.workspace import earlier_files_folder
from angelia.service.conversation.forks import same_folder
from angelia.service.places.presets import kept
from angelia.service.replays.earlier_files import EarlierFiles
from angelia.service.settings.config import Loaded
from angelia.store.log.transcript import Transcript


class OwnCopies:
    """Those that one command makes; `lost` says what could not be had of the files, a sentence each."""

    def __init__(self, loaded: Loaded, files: EarlierFiles) -> None:
        self._loaded = loaded
        self._files = files
        self.lost: list[str] = []

    @classmethod
    def of(cls, loaded: Loaded, undo: UndoStore, transcript: Transcript) -> "OwnCopies":
        """Those of a home."""
        return cls(loaded, EarlierFiles(undo, transcript, loaded.config.delegation.copy_bytes))

    async def lay_out_or_beside(self, transcript: Transcript, source: ConversationId, upto: int) -> str:
        """As `lay_out`; where it works elsewhere, in a sandbox of its own there, without the files."""
        if self._works_here(await transcript.opening(source)):
            return await self.lay_out(transcript, source, upto)
        self.lost.append("It works in a new sandbox, without the files that the original found or made in its own.")
        return await same_folder(transcript, source, upto)

    def _works_here(self, first: e.ConversationOpened) -> bool:
        at = kept(self._loaded.config.sandbox, first.sandbox, first.preset)
        return works_here(at.spec, at.settings)

    def new_folder(self) -> Path:
        """Where one may be laid out; it is not made yet."""
        return earlier_files_folder(self._loaded.home) / sortable_id()

    async def lay_out(self, transcript: Transcript, source: ConversationId, upto: int) -> str:
        """Lay out the files of this conversation in a new folder; see `forks.LayOut`.

        Raises:
            BadInput: it works elsewhere; or as `EarlierFiles.lay_out`.
        """
        entries = await transcript.entries(source)
        first = entries[0].fact
        assert isinstance(first, e.ConversationOpened)
        if not self._works_here(first):
            raise BadInput(
                "It does not work in a folder of this machine, so nobody keeps what files there were before.",
                then="`angelia fork` without --files begins in a sandbox of its own.",
            )
        folder = self.new_folder()
        self.lost += await self._files.lay_out(source, entries, upto, folder)
        return str(folder)
