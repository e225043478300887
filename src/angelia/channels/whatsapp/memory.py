"""What is remembered of the last messages, as long as this process lives: WhatsApp names messages by their id alone."""

MOST = 5_000
"""Messages and chats that are remembered."""


class WhatsAppMemory:
    """Words of messages by their id, and whose they are, for replies; each chat's last one, for the typing mark."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._ours: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def said(self, message: str, words: str) -> None:
        """We said this."""
        _keep(self._words, message, words)
        _keep(self._ours, message, "")

    def heard(self, message: str, chat: str, words: str) -> None:
        """Somebody said this."""
        _keep(self._words, message, words)
        _keep(self._last, chat, message)

    def words(self, message: str) -> str:
        """What a message says; empty if nobody remembers."""
        return self._words.get(message, "")

    def is_ours(self, message: str) -> bool:
        """Whether we are known to have said it."""
        return message in self._ours

    def last(self, chat: str) -> str:
        """The id of the last message that came from a chat; empty if nobody remembers."""
        return self._last.get(chat, "")


def _keep(kept: dict[str, str], key: str, value: str) -> None:
    """Remember the newest, and forget the oldest."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > MOST:
        del kept[next(iter(kept))]
