"""The end of what a command wrote to its standard error: some lines that say why it ended."""

from angelia.sandboxes.port import KEPT_ERRORS


class ErrorTail:
    """Takes in any amount and keeps the last `KEPT_ERRORS` bytes."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, data: bytes | memoryview) -> None:
        """Some more was written."""
        self._kept += data[-KEPT_ERRORS:]
        del self._kept[:-KEPT_ERRORS]

    @property
    def last(self) -> bytes:
        """The end of all that was added."""
        return bytes(self._kept)
