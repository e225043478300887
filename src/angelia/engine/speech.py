"""An answer that is spoken before its turn is closed: asked for and answered in the log, and never paid for twice.

What is written down first is that it begins. Who finds that without what came of it does not try again: it may have
been paid for. Whatever fails, the words go out as text, with the reason.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.core.text import clean
from angelia.engine.log import Log
from angelia.store.log.lease import Lease


class SpokenWords(Protocol):
    """What speaking came to: `media` is the sound with its words, None where `why` says why there is none."""

    @property
    def media(self) -> Media | None: ...

    @property
    def why(self) -> str: ...

    @property
    def paid(self) -> e.Payment: ...


class AnswerSpeaker(Struct, frozen=True):
    """What speaks answers. People read its `name`; `speak` takes Markdown, and ends within its own time-out."""

    name: str
    speak: Callable[[str], Awaitable[SpokenWords]]


async def speak_answer(log: Log, replies: Sequence[int], words: str, by: AnswerSpeaker, lease: Lease) -> None:
    """Have these replies spoken, which say `words`; what came of it is in the log. A stop by a person counts."""
    spoken = tuple(replies)
    await log.append(e.SpeechAsked(spoken, by.name), lease=lease)
    crash_point("speech.asked")
    try:
        made = await by.speak(words)
    except AngeliaError as error:
        fact = e.SpeechMade(spoken, why=clean(str(error)))
    except asyncio.CancelledError:
        await asyncio.shield(log.append(e.SpeechMade(spoken, why="it was stopped."), lease=lease))
        raise
    else:
        fact = e.SpeechMade(spoken, made.media, clean(made.why), made.paid)
    crash_point("speech.made")
    await log.append(fact, lease=lease)
    crash_point("speech.kept")
