"""Claims that every speaker must meet: what a package that brings one runs against it.

@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
async def test_my_speaker(check: SpeakerCheck) -> None:
    await check.run(lambda: MySpeaker(...))
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import AngeliaError
from angelia.models.speakers.port import Speaker
from angelia.store.media.voice_notes import encode_voice
from angelia.testing.claims import expect

MakeSpeaker = Callable[[], Speaker]
"""Gives a speaker; its usual voice speaks English."""

SENTENCE = "The meeting is at seven o'clock on Monday morning."


@dataclass(frozen=True, slots=True)
class SpeakerCheck:
    """One claim about a speaker. `run` raises `CheckFailed`, or `TimeoutError` when something hangs."""

    name: str
    claim: Callable[[Speaker], Awaitable[None]]
    seconds: float = 120.0

    async def run(self, make: MakeSpeaker) -> None:
        """Put the claim to a test."""
        speaker = make()
        try:
            async with asyncio.timeout(self.seconds):
                await self.claim(speaker)
        finally:
            await speaker.close()


async def a_sentence_comes_back_whole(speaker: Speaker) -> None:
    await _whole(speaker, SENTENCE)


async def as_much_as_it_takes_comes_back_whole(speaker: Speaker) -> None:
    count = min(speaker.most, 600) // (len(SENTENCE) + 1)
    await _whole(speaker, " ".join([SENTENCE] * count))


async def signs_and_scripts_do_not_stop_it(speaker: Speaker) -> None:
    await _whole(speaker, "Ω is a letter; “quotes” — and 'these', $HOME, %s, \\n, ümläut: all are said.")


async def texts_that_begin_like_options_are_said(speaker: Speaker) -> None:
    await _whole(speaker, "--help is what one asks for when nothing else helps.")


async def several_texts_at_once_do_not_mix(speaker: Speaker) -> None:
    short, long = "One word, or two.", " ".join([SENTENCE] * 3)
    sounds = await asyncio.gather(speaker.speak(short, "", "en"), speaker.speak(long, "", "en"))
    first, second = (encode_voice([sound.data]).seconds for sound in sounds)
    expect(first < second, f"a short text lasts {first} s, a long one {second} s")


async def its_first_voice_can_be_named(speaker: Speaker) -> None:
    for voice in (await speaker.voices())[:1]:
        sound = await speaker.speak(SENTENCE, voice.name, voice.language or "en")
        expect(encode_voice([sound.data]).seconds > 1, f"the voice {voice.name} says nothing")


async def a_voice_that_there_is_not_is_told(speaker: Speaker) -> None:
    if not await speaker.voices():
        return
    try:
        await speaker.speak(SENTENCE, "no-such-voice", "en")
    except AngeliaError as error:
        expect(bool(error.what), "an unknown voice is refused without a word")
    else:
        expect(False, "an unknown voice is taken for another one without a word")


async def a_price_is_known_or_said_to_be_unknown(speaker: Speaker) -> None:
    cost = (await speaker.speak(SENTENCE, "", "en")).cost
    expect(cost >= -1, f"a price is {cost}")


async def stopped_in_the_middle_it_speaks_again(speaker: Speaker) -> None:
    speaking = asyncio.ensure_future(speaker.speak(" ".join([SENTENCE] * 5), "", "en"))
    await asyncio.sleep(0)
    await cancel_and_wait(speaking)
    await _whole(speaker, SENTENCE)


async def closed_it_speaks_again(speaker: Speaker) -> None:
    await _whole(speaker, SENTENCE)
    await speaker.close()
    await speaker.close()
    await _whole(speaker, SENTENCE)


async def _whole(speaker: Speaker, text: str) -> None:
    sound = await speaker.speak(text, "", "en")
    found = encode_voice([sound.data])
    expect(max(found.peaks) > 2, "the sound is silent")
    expect(found.seconds * 30 > len(text), f"{len(text)} characters came back as {found.seconds} s of sound")


_CLAIMS = (
    a_sentence_comes_back_whole,
    as_much_as_it_takes_comes_back_whole,
    signs_and_scripts_do_not_stop_it,
    texts_that_begin_like_options_are_said,
    several_texts_at_once_do_not_mix,
    its_first_voice_can_be_named,
    a_voice_that_there_is_not_is_told,
    a_price_is_known_or_said_to_be_unknown,
    stopped_in_the_middle_it_speaks_again,
    closed_it_speaks_again,
)


def checks() -> tuple[SpeakerCheck, ...]:
    """All claims, in the order in which they are best read."""
    return tuple(SpeakerCheck(claim.__name__, claim) for claim in _CLAIMS)
