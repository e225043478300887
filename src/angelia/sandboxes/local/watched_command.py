"""A running command whose changes of the workspace are made for it; its end tells which they were."""

import asyncio

from msgspec.structs import replace

from angelia.core.text import clean, one_line
from angelia.sandboxes.port import Exit, Running, SandboxError
from angelia.sandboxes.shared.wrapped import WrappedRunning
from angelia.sandboxes.undo.supervision import Watch

_MOST_NAMED = 8


class WatchedCommand(WrappedRunning):
    """See `sandboxes.port.Running`. What it was kept from is told as a note."""

    def __init__(self, inner: Running, watch: Watch) -> None:
        super().__init__(inner)
        self._watch = watch
        self.end: asyncio.Task[Exit] = asyncio.get_running_loop().create_task(self._until_end())
        self.end.add_done_callback(lambda end: end.cancelled() or end.exception())

    async def wait(self) -> Exit:
        """See the port."""
        return await asyncio.shield(self.end)

    async def _until_end(self) -> Exit:
        try:
            ended = await self._inner.wait()
        except BaseException:
            await asyncio.shield(asyncio.to_thread(self._watch.end))
            raise
        try:
            left = await asyncio.to_thread(self._watch.end)
        except SandboxError as error:
            return replace(ended, notes=(*ended.notes, f"workspace: {error}"))
        refused = [f"{one_line(clean(path), 120)} ({why})" for path, why in left.refused.items()]
        more = f" and {len(refused) - _MOST_NAMED} more" if len(refused) > _MOST_NAMED else ""
        notes = (f"workspace: not changed: {'; '.join(refused[:_MOST_NAMED])}{more}.",) if refused else ()
        return replace(ended, notes=(*ended.notes, *notes), changed=left.changed)
