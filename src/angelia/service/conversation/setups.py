"""The setup that a conversation's last request was made with, read back from its blobs."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from angelia.context.request import ToolSpec
from angelia.core import entry as e
from angelia.core.profile import Profile
from angelia.store.media.blobs import BlobStore


class Setup(Struct, frozen=True):
    """System prompt, tools and profile."""

    system: str
    tools: tuple[ToolSpec, ...]
    profile: Profile


async def setup_in_force(blobs: BlobStore, log: Sequence[e.Entry]) -> Setup | None:
    """The setup that the last `SetupChanged` names; None before the first request.

    Raises:
        NotFound: one of its blobs is gone.
    """
    changed = next((entry.fact for entry in reversed(log) if isinstance(entry.fact, e.SetupChanged)), None)
    if changed is None:
        return None
    system = (await blobs.get(changed.prompt.sha256)).decode()
    tools = msgspec.json.decode(await blobs.get(changed.tools.sha256), type=tuple[ToolSpec, ...])
    profile = msgspec.json.decode(await blobs.get(changed.profile.sha256), type=Profile)
    return Setup(system, tools, profile)
