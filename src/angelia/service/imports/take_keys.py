"""Takes over keys: each is kept as a secret under a handle, which no setting names and no site may be given."""

import asyncio
import re

from angelia.core.errors import AngeliaError
from angelia.service.imports.port import OldKeys
from angelia.service.imports.taking import ImportTarget, KnownItem, LeftItem, TakenFrom, TakenItem, TakingOutcome
from angelia.service.secrets.store import KeptSecret

_NOT_IN_HANDLES = re.compile(r"[^A-Za-z0-9._@+-]+")
_LONGEST = 100


def handle_of(file: TakenFrom, name: str) -> str:
    """What a key is called here.

    >>> handle_of(TakenFrom("hermes", ".env", "profiles/work"), "OPENAI_API_KEY")
    'hermes/work/OPENAI_API_KEY'
    """
    steps = (file.agent, file.profile.rpartition("/")[2], name)
    bare = (_NOT_IN_HANDLES.sub("-", step).lstrip("._@+-") for step in steps)
    return "/".join(step for step in bare if step)[:_LONGEST]


async def take_keys(target: ImportTarget, file: TakenFrom, found: OldKeys) -> list[tuple[str, TakingOutcome]]:
    """Keep each of them; what became of it, by its handle. What stands under a handle already stays as it is."""
    return [(name, await _take(target, name, value)) for name, value in _handles(file, found).items()]


def _handles(file: TakenFrom, found: OldKeys) -> dict[str, str]:
    """Values by their handles; the first counts where two names come to the same one."""
    handles: dict[str, str] = {}
    for name, value in found.keys:
        handles.setdefault(handle_of(file, name), value)
    return handles


async def _take(target: ImportTarget, handle: str, value: str) -> TakingOutcome:
    try:
        if handle in target.secrets.kept():
            same = await target.secrets.value(handle) == value
            return KnownItem() if same else LeftItem(f"another secret is kept as {handle}")
        if not target.dry:
            await asyncio.to_thread(target.secrets.add, handle, KeptSecret(value=value))
    except AngeliaError as error:
        return LeftItem(f"{handle} could not be kept: {error.what}")
    return TakenItem("key")
