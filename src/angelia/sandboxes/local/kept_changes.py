"""Where the changes of a conversation's confined commands are kept, as long as this machine can do it."""

import asyncio
from typing import TYPE_CHECKING

from angelia.sandboxes.port import Command, SandboxError
from angelia.sandboxes.undo.store import UndoStore

if TYPE_CHECKING:
    from angelia.sandboxes.undo.supervision import Supervision, Watch


class KeptChanges:
    """Whether it works is only known once a command was tried; until then it is `offered`."""

    def __init__(self, store: UndoStore, conversation: str) -> None:
        self._store, self._conversation = store, conversation
        self.offered = True

    async def watch(self, command: Command, supervision: "Supervision") -> "Watch | None":
        """For one command that is about to start; None where it is not offered.

        Raises:
            SandboxError: it does not work here, and the command was allowed as if it did.
            SandboxClosed: that was done meanwhile.
        """
        if not self.offered:
            return None
        begun = asyncio.ensure_future(asyncio.to_thread(self._begun, command, supervision))
        try:
            watch = await asyncio.shield(begun)
        except asyncio.CancelledError:  # the thread goes on: what it begins is for nobody
            begun.add_done_callback(_end_unused)
            raise
        if watch is None:
            self.offered = False
            raise SandboxError(
                "What this command would change cannot be kept: this machine does not let its calls be watched.",
                "It was judged as if it could, so it was not run.",
                "Run it again: it is judged anew, and runs without being watched.",
            )
        return watch

    def _begun(self, command: Command, supervision: "Supervision") -> "Watch | None":
        from angelia.sandboxes.undo.supervision import can_watch

        if not can_watch(supervision.program, self._store.own_folder()):
            return None
        supervision.begin()
        return supervision.watch(self._store, command.conversation or self._conversation, command.call)


def _end_unused(begun: "asyncio.Future[Watch | None]") -> None:
    if not begun.cancelled() and begun.exception() is None and (watch := begun.result()) is not None:
        asyncio.get_running_loop().run_in_executor(None, watch.end)
