"""How a conversation that was imported begins here: in its own folder, where that is one to work in."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.principal import Principal
from angelia.sandboxes.port import SandboxError
from angelia.sandboxes.registry import fit_workspace
from angelia.service.places.presets import chosen
from angelia.service.settings.config import Loaded


def beginnings(loaded: Loaded, workspace: Path) -> Callable[[str, Principal, str], e.ConversationOpened]:
    """Begins conversations of a door and a person; `workspace` is for those whose own folder is not here, and refused
    with the first of them if nobody can work in it.
    """
    at = chosen(loaded.config.sandbox, "")

    def begun(door: str, owner: Principal, folder: str) -> e.ConversationOpened:
        own = Path(folder)
        try:
            here = own.is_absolute() and own.is_dir()
            inside = fit_workspace(at.spec, own, loaded.home) if here else ""
        except (SandboxError, OSError, ValueError):
            inside = ""
        return e.ConversationOpened(door, inside or usual(), at.spec, owner, at.preset)

    @cache
    def usual() -> str:
        try:
            return fit_workspace(at.spec, workspace, loaded.home)
        except SandboxError as refused:
            raise BadInput(
                f"Conversations whose folder is not here would work in {workspace}: {refused.what}",
                then="Name a folder to work in with -C.",
            ) from refused

    return begun
