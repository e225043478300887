"""What Discord need not bring again: the last event before which all were taken in, and the same for messages."""

import asyncio

from angelia.channels.discord.payloads import EPOCH


class DiscordLedger:
    """`seq` and `message` only grow, whatever order things are taken in; `message` is an id, and so a moment."""

    def __init__(self, seq: int, message: int) -> None:
        self._seq, self._message = seq, message
        self._open: dict[object, tuple[int, int]] = {}

    def note(self, seq: int, message: int, taken: asyncio.Future[str]) -> None:
        """An event came; 0 for what has no number, or is no message."""
        mark = object()
        self._open[mark] = (seq, message)
        self._seq, self._message = max(self._seq, seq), max(self._message, message)
        taken.add_done_callback(lambda done: None if done.cancelled() else self._open.pop(mark, None))

    def passed(self, seq: int) -> None:
        """An event that is nothing to hand in."""
        self._seq = max(self._seq, seq)

    def begin(self) -> None:
        """A new session counts its events from the start."""
        self._open = {mark: (0, message) for mark, (_, message) in self._open.items()}
        self._seq = 0

    @property
    def seq(self) -> int:
        """The last event before which all were taken in."""
        return min([self._seq, *(seq - 1 for seq, _ in self._open.values() if seq)])

    @property
    def message(self) -> int:
        """The last message before which all were taken in, 0 for none."""
        return min([self._message, *(message - 1 for _, message in self._open.values() if message)])


def id_at(moment: int) -> int:
    """The id of a message at a moment, in Unix milliseconds ("Snowflakes")."""
    return max(moment - EPOCH, 0) << 22
