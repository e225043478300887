"""A prompt that waits for the end of its turn."""

import asyncio

from msgspec import Struct

from angelia.core import ending as end


class AskedBack(Struct, frozen=True):
    """The turn waits for the person's next prompt: the model's question stands in the conversation as text."""


class Waiting(Struct):
    """A prompt that is not answered yet. `seq` is its message, 0 until that is stored."""

    answer: "asyncio.Future[end.Ending | AskedBack]"
    seq: int = 0

    def resolve(self, answer: end.Ending | AskedBack) -> None:
        """Answer it, unless it is answered already."""
        if not self.answer.done():
            self.answer.set_result(answer)
