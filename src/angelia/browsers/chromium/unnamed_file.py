"""A file that has no name anywhere: it is gone with whoever has it open, however that ends."""

import tempfile
from collections.abc import AsyncIterator

_PIECE = 1_000_000


class UnnamedFile:
    """Written once, then read as often as is wished."""

    def __init__(self) -> None:
        """Raises:
        OSError: there is no place for one.
        """
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed by `close`
        self.size = 0

    def write(self, piece: bytes) -> None:
        """Add to it.

        Raises:
            OSError: there is no space for that.
        """
        self._file.write(piece)
        self.size += len(piece)

    async def pieces(self) -> AsyncIterator[bytes]:
        """All of it."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece

    def close(self) -> None:
        """Have it gone. Idempotent."""
        self._file.close()
