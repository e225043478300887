"""The places that are open in this process: each once, for all conversations that work in it."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from angelia.core.ids import ConversationId, PlaceId
from angelia.sandboxes.port import Sandbox
from angelia.service.places.sandbox_locks import HeldSandbox, SandboxLock, SandboxLocks

Progress = Callable[[str], None]


class OpenPlace(Struct, frozen=True):
    """A place, and the conversations in it, each with what tells its person what takes long."""

    sandbox: Sandbox
    held: HeldSandbox
    inside: dict[ConversationId, Progress]


class OpenPlaces:
    """Places by their ids. `state` has the records of what is open, for other processes."""

    def __init__(self, state: Path) -> None:
        self._locks = SandboxLocks(state)
        self._open: dict[PlaceId, OpenPlace] = {}

    def enter(
        self, lock: SandboxLock, conversation: ConversationId, tell: Progress, make: Callable[[Progress], Sandbox]
    ) -> Sandbox:
        """The sandbox of a place, for one more conversation; `make` opens it if nobody is in it here.

        Raises:
            ConfigError, SandboxError: as `make`.
        """
        found = self._open.get(lock.place)
        if found is None:
            inside: dict[ConversationId, Progress] = {}

            def told(text: str) -> None:
                for each in tuple(inside.values()):
                    each(text)

            sandbox = make(told)
            found = self._open[lock.place] = OpenPlace(sandbox, self._locks.hold(lock), inside)
        found.inside[conversation] = tell
        return found.sandbox

    async def leave(self, place: PlaceId, conversation: ConversationId) -> None:
        """A conversation is done with a place: it is closed, with all that runs in it, when nobody else is inside."""
        found = self._open.get(place)
        if found is None or found.inside.pop(conversation, None) is None or found.inside:
            return
        del self._open[place]
        await found.sandbox.close()
        found.held.close()
