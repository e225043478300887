"""What has to be known of a sandbox at Modal to have it again: its last snapshot, and whether it may still run."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.errors import fault_words
from angelia.core.ids import sortable_id
from angelia.sandboxes.port import SandboxError


class Saved(Struct, frozen=True):
    """`snapshot` is an image's id, taken at `taken` (Unix seconds); both are empty where there is none yet.

    `running` says whether the sandbox was started since, at `started`, and not saved: what it holds is newer.
    """

    app: str
    image: str
    snapshot: str = ""
    taken: float = 0.0
    running: bool = False
    started: float = 0.0


class Note:
    """One conversation's, in a file of `folder`. What is written is on the disk before it returns."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "saved.json"

    def read(self) -> Saved | None:
        """None where nothing was ever written.

        Raises:
            SandboxError: it cannot be understood.
        """
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Saved)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, OSError) as error:
            raise SandboxError(
                f"{self._path} cannot be read: {fault_words(error)}.",
                "It names the snapshot that this conversation's sandbox is restored from.",
                "Bring it back from a copy, or begin a new conversation.",
            ) from error

    def write(self, saved: Saved) -> None:
        """Replace it, whole."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._path.with_name(f".{sortable_id()}")
        with draft.open("xb") as file:
            file.write(msgspec.json.encode(saved))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self) -> None:
        """Forget it."""
        self._path.unlink(missing_ok=True)
