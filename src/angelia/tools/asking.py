"""A question of a call that runs, and what the person says to it."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct

from angelia.policy.verdict import OfServer


class Said(Struct, frozen=True):
    """They answered, in these words; empty where a yes was all that was wanted."""

    words: str


class SaidNo(Struct, frozen=True):
    """They do not want it; `why` may be empty."""

    why: str


class NotAsked(Struct, frozen=True):
    """Nobody answers it: nobody is here who could, or they went on to something else; `why` is a sentence."""

    why: str


PersonReply = Said | SaidNo | NotAsked

AskMeanwhile = Callable[[OfServer], Awaitable[PersonReply]]
"""Puts a question to whoever may answer it, and waits. One call asks one after the other."""


class QuestionAccess(Protocol):
    """`ask` puts a question in the middle of the call."""

    @property
    def ask(self) -> AskMeanwhile: ...


async def nobody(_: OfServer) -> PersonReply:
    """Asks nobody."""
    return NotAsked("Nobody can be asked here.")
