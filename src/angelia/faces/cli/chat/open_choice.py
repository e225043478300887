"""A question of ours that waits for one of a few words; what is typed meanwhile is an answer to it."""

import asyncio
from collections.abc import Mapping

YES_OR_NO = {"y": "yes", "yes": "yes", "n": "no", "no": "no"}
"""What may be typed, and what it means."""


class OpenChoice:
    """`words` are what may be typed, with their meanings; `escape` is what Esc means, empty if nothing."""

    def __init__(self, words: Mapping[str, str], escape: str) -> None:
        self.words = words
        self.escape = escape
        self.taken: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def please(self) -> str:
        """What to say to anything else."""
        *most, last = [word for word in self.words if len(word) == 1]
        return f"{', '.join(most)} or {last}, please"

    def take(self, meaning: str) -> bool:
        """Take a meaning as the answer; False for none, and when there is an answer already."""
        if not meaning or self.taken.done():
            return False
        self.taken.set_result(meaning)
        return True
