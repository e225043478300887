"""What is remembered of the last messages, as long as this process lives: WhatsApp names messages by their id alone."""

from typing import TypeVar

from msgspec import Struct

from angelia.channels.incoming import OfferedFile

T = TypeVar("T")

MOST = 5_000
"""Messages and chats that are remembered."""


class Remembered(Struct, frozen=True):
    """What a message says, and the files that came with it."""

    words: str
    offers: tuple[OfferedFile, ...] = ()


class WhatsAppMemory:
    """Messages by their id, and whose they are, for replies; each chat's last one, for the typing mark."""

    def __init__(self) -> None:
        self._messages: dict[str, Remembered] = {}
        self._ours: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def said(self, message: str, words: str) -> None:
        """We said this."""
        _keep(self._messages, message, Remembered(words))
        _keep(self._ours, message, "")

    def heard(self, message: str, chat: str, said: Remembered) -> None:
        """Somebody said this."""
        _keep(self._messages, message, said)
        _keep(self._last, chat, message)

    def message(self, message: str) -> Remembered | None:
        """What a message was; None if nobody remembers."""
        return self._messages.get(message)

    def is_ours(self, message: str) -> bool:
        """Whether we are known to have said it."""
        return message in self._ours

    def last(self, chat: str) -> str:
        """The id of the last message that came from a chat; empty if nobody remembers."""
        return self._last.get(chat, "")


def _keep(kept: dict[str, T], key: str, value: T) -> None:
    """Remember the newest, and forget the oldest."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > MOST:
        del kept[next(iter(kept))]
