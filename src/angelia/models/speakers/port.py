"""Words to sound: the port of what speaks."""

from typing import Protocol

from msgspec import Struct


class SpokenSound(Struct, frozen=True):
    """What was spoken, in any format that is known by its content; `cost` is millionths of a US dollar, -1 when the
    price is unknown.
    """

    data: bytes
    cost: int = 0


class VoiceName(Struct, frozen=True):
    """One voice: what it is called in settings and calls, its language (ISO 639-1, empty for any), more about it."""

    name: str
    language: str = ""
    about: str = ""


class Speaker(Protocol):
    """Something that speaks one text at a time. `most` is how many characters it takes at once."""

    @property
    def most(self) -> int: ...

    async def speak(self, text: str, voice: str, language: str) -> SpokenSound:
        """Speak a text of whole sentences on one line; in its usual voice for that language if `voice` is empty.

        What may have been paid for is never asked for again by itself.

        Raises:
            BadInput: there is no such voice.
            AngeliaError: it could not be; says why.
        """
        ...

    async def voices(self) -> tuple[VoiceName, ...]:
        """Those that can be had, the usual one first; none where nobody says which there are.

        Raises:
            AngeliaError: they could not be asked for.
        """
        ...

    async def close(self) -> None:
        """Give back what is kept loaded. Idempotent; the next text loads it again."""
        ...
