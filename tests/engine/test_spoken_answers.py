"""An answer that is wanted as sound: spoken once before its turn is closed, and in words where that fails."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Media, MediaKind, Text
from angelia.core.errors import BadInput
from angelia.engine.caps import TurnCaps
from angelia.engine.machine import AskModel, Close, Moment, Rules, SpeakAnswer, decide
from angelia.engine.speech import AnswerSpeaker, lost_speech
from angelia.engine.state import OWED, Turn, advance
from angelia.store.media.blobs import BlobStore
from angelia.testing.logs.playbook import Line, reply
from angelia.testing.model.steps import say
from tests.engine.driven import Driven, World, driven

pytestmark = pytest.mark.anyio

BOTH, VOICE = e.AnswerForm.BOTH, e.AnswerForm.VOICE


class Sound(Struct, frozen=True):
    """What speaking came to."""

    media: Media | None
    why: str = ""
    paid: e.Payment = e.Payment("mouth", 7)


class Mouth:
    """Remembers what it was to speak; speaks it unless it is to fail."""

    def __init__(self, folder: Path, failure: Exception | None = None) -> None:
        self.blobs = BlobStore(folder / "home")
        self.spoken: list[str] = []
        self.failure = failure
        self.asked = ""

    async def speak(self, text: str, asked: str) -> Sound:
        """See `AnswerSpeaker`."""
        self.spoken.append(text)
        self.asked = asked
        if self.failure:
            raise self.failure
        blob = await self.blobs.put(text.encode(), mime="audio/ogg")
        return Sound(Media(blob, MediaKind.VOICE, "voice.ogg", words=text))

    @property
    def world(self) -> World:
        """A world in which it speaks."""
        return World(speaker=AnswerSpeaker("mouth", self.speak))


def answer(one: Driven) -> tuple[list[str], list[str]]:
    """The words and what is said in the sounds of the last thing that went out."""
    parts = one.facts(e.DeliveryQueued)[-1].parts
    return (
        [part.text for part in parts if isinstance(part, Text)],
        [part.words for part in parts if isinstance(part, Media)],
    )


@pytest.mark.parametrize(("form", "words"), [(BOTH, ["It is five."]), (VOICE, [])])
async def test_it_is_spoken_once_and_goes_out_with_the_ending(
    tmp_path: Path, form: e.AnswerForm, words: Sequence[str]
) -> None:
    mouth = Mouth(tmp_path)
    async with driven(tmp_path, [say("It is five.")], mouth.world) as one:
        await one.say("What time is it?", answer=form)
        await one.drive()
        assert answer(one) == (list(words), ["It is five."])
        assert [type(entry.fact) for entry in one.log.entries][-4:] == [
            e.SpeechAsked,
            e.SpeechMade,
            e.TurnClosed,
            e.DeliveryQueued,
        ]
    assert mouth.spoken == ["It is five."]


async def test_the_speaker_knows_what_it_answers_also_if_that_was_said_aloud(tmp_path: Path) -> None:
    mouth = Mouth(tmp_path)
    async with driven(tmp_path, [say("OK."), say("OK.")], mouth.world) as one:
        await one.say("What time is it?", answer=BOTH)
        await one.drive()
        assert mouth.asked == "What time is it?"
        await one.say(await one.voice(), answer=BOTH)
        await one.given(e.Transcribed(len(one.log.entries), "ear", (e.Spoken(0, "Ist das der Zug?"),)))
        await one.drive()
        assert mouth.asked == "Ist das der Zug?"


async def test_what_fails_is_written_with_the_reason(tmp_path: Path) -> None:
    async with driven(tmp_path, [say("It is five.")], Mouth(tmp_path, BadInput("It has no breath.")).world) as one:
        await one.say("What time is it?", answer=VOICE)
        await one.drive()
        assert answer(one) == (["It is five.\n\nThis was not spoken: It has no breath."], [])


async def test_what_a_dead_life_began_to_speak_is_never_begun_again(tmp_path: Path) -> None:
    mouth = Mouth(tmp_path)
    async with driven(tmp_path, [], mouth.world) as one:
        await one.say("What time is it?", answer=VOICE)
        await one.given(reply("It is five."))
        await one.given(e.SpeechAsked((len(one.log.entries),), "mouth"))
        await one.drive()
        [words], sounds = answer(one)
    assert (mouth.spoken, sounds) == ([], [])
    assert words.startswith("It is five.\n\nThis was not spoken: Angelia was interrupted")


def test_what_is_owed_is_booked_where_nobody_is_left_who_waits_for_it() -> None:
    at_a_door = e.SpeechAsked((), "mouth", -1, "life 1")
    known = turn(reply("It is five."), e.SpeechAsked((4,), "mouth", 40), at_a_door, e.SpeechAsked((), "free"))
    made = lost_speech(known.speaking, lambda life: life == "life 1")
    assert made == [e.SpeechMade((4,), why=OWED, paid=e.Payment("mouth", 40))]
    assert [fact.paid.cost for fact in lost_speech(known.speaking, lambda life: False)] == [40, -1]
    later = turn(reply("It is five."), at_a_door, e.SpeechMade((), paid=e.Payment("mouth", 9)))
    assert (later.speaking, later.cost, later.speeches) == ((), 9, ())


async def test_an_answer_that_is_overtaken_after_it_was_spoken_goes_out_before_the_next(tmp_path: Path) -> None:
    mouth = Mouth(tmp_path)
    async with driven(tmp_path, [say("It is six.")], mouth.world) as one:
        await one.say("What time is it?", answer=VOICE)
        await one.given(reply("It is five."))
        first = (len(one.log.entries),)
        await one.given(e.SpeechAsked(first, "mouth"))
        await one.given(e.SpeechMade(first, replace(await one.voice(), words="It is five.")))
        await one.say("In London?")
        await one.drive()
        assert answer(one) == ([], ["It is five.", "It is six."])
    assert mouth.spoken == ["It is six."]


async def test_answers_that_overtake_each_other_unspoken_are_spoken_together(tmp_path: Path) -> None:
    mouth = Mouth(tmp_path)
    async with driven(tmp_path, [say("It is six.")], mouth.world) as one:
        await one.say("What time is it?", answer=VOICE)
        await one.given(reply("It is five."))
        await one.say("In London?")
        await one.drive()
        assert answer(one)[0] == []
    assert mouth.spoken == ["It is five.\n\nIt is six."]


def turn(*facts: Line) -> Turn:
    """Where a turn stands after these."""
    log: list[e.Entry] = []
    for line in (e.ConversationOpened("chat", "/"), e.UserSaid((Text("Hi."),), answer=VOICE), *facts):
        for fact in line(log) if callable(line) else (line,):
            log.append(e.Entry(len(log) + 1, 1_000, fact))
    return advance(Turn(), log)


def test_money_and_time_that_are_spent_let_nobody_speak() -> None:
    paid = e.Transcribed(2, "ear", (), cost=50)
    said = turn(paid, reply("It is five."))
    assert isinstance(decide(said, Rules(can_speak=True), Moment(2_000)), SpeakAnswer)
    for rules, now, why in (
        (Rules(limits=TurnCaps(max_cost=50), can_speak=True), 2_000, "cost this turn has reached"),
        (Rules(limits=TurnCaps(max_seconds=1), can_speak=True), 3_000, "the turn's time is up"),
        (Rules(), 2_000, "nothing is set any more that speaks"),
    ):
        effect = decide(said, rules, Moment(now))
        assert isinstance(effect, Close)
        assert isinstance(effect.ending, end.Answered)
        assert why in effect.ending.note


def test_who_speaks_meanwhile_is_answered_first() -> None:
    waits = turn(reply("It is five."), e.UserSaid((Text("In London?"),)))
    assert isinstance(decide(waits, Rules(can_speak=True), Moment(2_000)), AskModel)
