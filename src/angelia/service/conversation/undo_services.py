"""What taking back works with, and what a person is shown before they say yes to it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from angelia.core.ids import ConversationId
from angelia.sandboxes.undo.store import UndoStore
from angelia.service.conversation.session import Session
from angelia.store.log.transcript import Transcript

if TYPE_CHECKING:
    from angelia.sandboxes.undo.mirror import Mirror


class UndoPreview(Struct, frozen=True):
    """What taking back a turn would do, for people. `digest` names just this: `take_back` does nothing else."""

    turn: int
    lines: tuple[str, ...]
    digest: str
    empty: bool


class UndoServices(Struct, frozen=True):
    """What taking back works with. `alive` is where our processes are known by; `shown` is what a person may say yes
    to, by conversation. `elsewhere` gives the copies of a workspace that is not on this machine.
    """

    store: UndoStore
    transcript: Transcript
    redact: Callable[[str], str]
    alive: Path
    elsewhere: Callable[[Session], AbstractAsyncContextManager["Mirror | None"]]
    shown: dict[ConversationId, UndoPreview] = field(default_factory=dict)
