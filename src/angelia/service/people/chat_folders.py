"""The folder in which a person's chat works, as far as it was made for that chat alone."""

from collections.abc import Sequence
from pathlib import Path

from angelia.core.entry import ConversationOpened, Entry
from angelia.sandboxes.workspace import work_folder


def own_folder(home: Path, log: Sequence[Entry]) -> Path | None:
    """The folder of the chat in which a conversation began; None where it works in a folder that was named to it."""
    opened = log[0].fact
    assert isinstance(opened, ConversationOpened)
    folder = Path(opened.workspace)
    made = folder.parent.parent == work_folder(home) and folder.parent.name == opened.door
    return folder if made and opened.sandbox == "local" and folder.is_dir() else None
