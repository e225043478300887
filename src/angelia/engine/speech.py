"""An answer that is spoken before its turn is closed: asked for and answered in the log, and never paid for twice.

What is written down first is that it begins. Who finds that without what came of it does not try again: it may have
been paid for. Whatever fails, the words go out as text, with the reason.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.core.text import clean
from angelia.engine.log import Log
from angelia.engine.state import OWED
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
    """What speaks answers. People read its `name`; `speak` takes Markdown and the words that it answers, whose language
    is that of an answer which does not show its own, and ends within its own time-out.

    `may_cost` is as in `e.SpeechAsked`.
    """

    name: str
    speak: Callable[[str, str], Awaitable[SpokenWords]]
    may_cost: int = 0

    @property
    def owed(self) -> e.Payment:
        """What may have to be paid where nobody hears how it ends."""
        return e.Payment(self.name, self.may_cost) if self.may_cost else e.NO_PAYMENT


def words_before(log: Sequence[e.Entry]) -> str:
    """What was last said, also in recordings."""
    words: list[str] = []
    for entry in reversed(log):
        match entry.fact:
            case e.Transcribed(spoken=spoken):
                words += [one.text for one in spoken]
            case e.Opening(parts=parts):
                return " ".join([*words, *(part.text for part in parts if isinstance(part, Text))])
            case _:
                pass
    return ""


def lost_speech(speaking: Sequence[e.SpeechAsked], alive: Callable[[str], bool]) -> list[e.SpeechMade]:
    """What became of speech that was begun and has not ended: it is owed for, where nobody is left who waits for it."""
    return [
        e.SpeechMade(one.replies, why=OWED, paid=e.Payment(one.by, one.may_cost))
        for one in speaking
        if one.replies or not alive(one.life)
    ]


async def speak_answer(log: Log, replies: Sequence[int], words: str, by: AnswerSpeaker, lease: Lease) -> None:
    """Have these replies spoken, which say `words`; what came of it is in the log. A stop by a person counts."""
    spoken = tuple(replies)
    await log.append(e.SpeechAsked(spoken, by.name, by.may_cost), lease=lease)
    crash_point("speech.asked")
    try:
        made = await by.speak(words, words_before(log.entries))
    except AngeliaError as error:
        fact = e.SpeechMade(spoken, why=clean(str(error)))
    except asyncio.CancelledError:
        stopped = e.SpeechMade(spoken, why="it was stopped.", paid=by.owed)
        await asyncio.shield(log.append(stopped, lease=lease))
        raise
    else:
        fact = e.SpeechMade(spoken, made.media, clean(made.why), made.paid)
    crash_point("speech.made")
    await log.append(fact, lease=lease)
    crash_point("speech.kept")
