"""How near passages are to a question: the port of what orders anew what a search by words has found."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class PassageScores(Struct, frozen=True):
    """A number for each passage, the nearest highest; `tokens` is what was read for it, 0 if unknown."""

    scores: tuple[float, ...]
    tokens: int = 0


class Ranker(Protocol):
    """Something that compares a question with passages."""

    async def scores(self, question: str, passages: Sequence[str]) -> PassageScores:
        """Compare them, a hundred at most, in one request that is never repeated by itself.

        Raises:
            AngeliaError: it could not be; says why.
        """
        ...
