"""Files that a final reply names are sent before the turn is closed; a refused one is told once, then noted."""

from typing import NoReturn

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import BlobRef, CallStatus, Media, MediaKind, Text
from angelia.core.failure import FailureKind
from angelia.core.ids import DeliveryId
from angelia.core.principal import OWNER
from angelia.core.profile import Profile
from angelia.core.sentences import sentence
from angelia.engine import machine as m
from angelia.engine.caps import TurnCaps
from angelia.engine.duplicate_sends import without_repeats
from angelia.engine.endings import closing_parts
from angelia.engine.live import Live
from angelia.engine.repairs import RemedyMeans, use_remedy
from angelia.tools.port import Delivery, ToolOutcome
from tests.engine.simulated import RULES, Simulated

HERE = e.Address("pigeon", "1")


def asked() -> Simulated:
    """A model that was asked."""
    simulated = Simulated()
    simulated.say("the report, please")
    simulated.until_asked()
    return simulated


async def unused(*_: object) -> NoReturn:
    """Nothing is turned to."""
    raise AssertionError


def closed(simulated: Simulated) -> tuple[end.Ending, str]:
    """How the turn ends, and what the person reads then."""
    while not isinstance(effect := simulated.decide(), m.Close):
        assert isinstance(effect, m.RunTools | m.Settle)
        simulated.perform(effect)
    (words,) = closing_parts(simulated.log, simulated.turn, effect)
    assert isinstance(words, Text)
    simulated.perform(effect)
    return effect.ending, words.text


def results(simulated: Simulated) -> list[tuple[str, CallStatus]]:
    return [(x.fact.call, x.fact.status) for x in simulated.log if isinstance(x.fact, e.ToolFinished)]


def told(simulated: Simulated) -> int:
    """How often the model was told of refused files."""
    return sum(isinstance(x.fact, e.RemedyUsed) and x.fact.remedy == "mend" for x in simulated.log)


def test_every_file_goes_out_before_the_turn_is_closed_and_its_line_is_not_shown() -> None:
    simulated = asked()
    simulated.reply("Here it is.\nMEDIA:a.pdf\nMEDIA:b.pdf")
    ending, words = closed(simulated)
    assert ending == end.Answered()
    assert words == "Here it is."
    assert results(simulated) == [("m2_0", CallStatus.OK), ("m2_1", CallStatus.OK)]
    kinds = [type(x.fact) for x in simulated.log]
    assert kinds.index(e.ToolFinished) < kinds.index(e.TurnClosed)


def test_the_log_keeps_the_reply_as_it_was() -> None:
    simulated = asked()
    simulated.reply("Here it is.\nMEDIA:a.pdf")
    closed(simulated)
    (said,) = [x.fact for x in simulated.log if isinstance(x.fact, e.ModelSaid)]
    assert said.parts == (Text("Here it is.\nMEDIA:a.pdf"),)


@pytest.mark.parametrize(
    ("text", "calls", "stop"),
    [
        ("On it.\nMEDIA:a.pdf", ("shell",), e.StopReason.TOOL_CALLS),
        ("On it.\nMEDIA:a.pdf", (), e.StopReason.LENGTH),
        ("On it.\nMEDIA:a.pdf", (), e.StopReason.PAUSE),
        ("It lies in /w/a.pdf.", (), e.StopReason.END),
    ],
)
def test_only_a_final_reply_names_files(text: str, calls: tuple[str, ...], stop: e.StopReason) -> None:
    simulated = asked()
    simulated.reply(text, *calls, stop=stop)
    assert not any(isinstance(x.fact, e.FilesNamed) for x in simulated.log)


def test_a_line_that_was_cut_in_two_is_read_once_it_is_whole() -> None:
    simulated = asked()
    simulated.reply("Here.\nMEDIA:gar", stop=e.StopReason.LENGTH)
    assert isinstance(simulated.until_asked(), m.AskModel)
    simulated.reply("den.pdf\nEnjoy.")
    _, words = closed(simulated)
    (named,) = [x.fact for x in simulated.log if isinstance(x.fact, e.FilesNamed)]
    assert named.files[0].call.arguments == '{"path":"garden.pdf"}'
    assert words == "Here.\nEnjoy."


@pytest.mark.anyio
async def test_a_refused_file_is_told_to_the_model_which_mends_it() -> None:
    simulated = asked()
    simulated.reply("Here it is.\nMEDIA:gone.pdf")
    request = simulated.until_asked()
    assert isinstance(request, m.AskModel)
    remedy = next(effect for effect in simulated.effects if isinstance(effect, m.UseRemedy))
    profile = Profile("test:model", "test", "model", "openai-chat")
    used, note = await use_remedy(remedy, RemedyMeans(simulated.log, Live(), profile, "", 0, unused, unused))
    assert isinstance(used, e.RemedyUsed)
    assert isinstance(note, e.SystemSaid)
    assert "MEDIA:gone.pdf: There is no such file." in note.text
    simulated.reply("MEDIA:a.pdf")
    ending, words = closed(simulated)
    assert (ending, words) == (end.Answered(), "Here it is.")


def test_a_file_that_stays_refused_keeps_its_line_and_is_noted() -> None:
    simulated = asked()
    simulated.reply("Here it is.\nMEDIA:gone.pdf\nMEDIA:a.pdf")
    assert isinstance(simulated.until_asked(), m.AskModel)
    simulated.reply("Again.\nMEDIA:gone.pdf")
    ending, words = closed(simulated)
    assert told(simulated) == 1
    assert isinstance(ending, end.Answered)
    assert words.startswith("Here it is.\nMEDIA:gone.pdf\n\nAgain.\nMEDIA:gone.pdf\n\n")
    assert "gone.pdf was not sent: There is no such file." in words
    assert "MEDIA:a.pdf" not in words


def test_a_model_that_explains_instead_of_mending_leaves_the_note() -> None:
    simulated = asked()
    simulated.reply("Here it is.\nMEDIA:gone.pdf")
    simulated.until_asked()
    simulated.reply("I could not find it after all.")
    ending, words = closed(simulated)
    assert sentence(ending) == "gone.pdf was not sent: There is no such file."
    assert words == f"Here it is.\nMEDIA:gone.pdf\n\nI could not find it after all.\n\n{sentence(ending)}"


@pytest.mark.parametrize("kind", [FailureKind.EMPTY_REPLY, FailureKind.OUT_OF_CREDIT, FailureKind.UNREACHABLE])
def test_an_answer_stands_whatever_becomes_of_its_mending(kind: FailureKind) -> None:
    simulated = asked()
    simulated.reply("I look.", "shell")
    simulated.until_asked()
    simulated.reply("The answer.\nMEDIA:gone.pdf")
    for _ in range(30):
        if isinstance(simulated.until_asked(), m.Rest):
            break
        simulated.fail(kind)
    effect = simulated.effects[-2]
    assert isinstance(effect, m.Close)
    assert sentence(effect.ending).startswith("gone.pdf was not sent")


def test_no_request_is_made_for_a_file_once_a_cap_is_reached() -> None:
    simulated = Simulated(m.Rules(TurnCaps(max_steps=1), traits=RULES.traits))
    simulated.say()
    simulated.until_asked()
    simulated.reply("The answer.\nMEDIA:gone.pdf")
    ending, words = closed(simulated)
    assert told(simulated) == 0
    assert isinstance(ending, end.Answered)
    assert words.startswith("The answer.\nMEDIA:gone.pdf\n\ngone.pdf was not sent")


def test_a_file_that_is_being_sent_when_the_time_is_up_leaves_the_answer_standing() -> None:
    simulated = Simulated(m.Rules(TurnCaps(max_seconds=60), traits=RULES.traits))
    simulated.say()
    simulated.until_asked()
    simulated.reply("The answer.\nMEDIA:a.pdf")
    simulated.now += 61_000
    ending, words = closed(simulated)
    assert isinstance(ending, end.Answered)
    assert words.startswith("The answer.\nMEDIA:a.pdf\n\na.pdf was not sent: The turn's time was up")


def test_a_stop_while_files_are_sent_still_gives_the_answer() -> None:
    simulated = asked()
    simulated.reply("The answer.\nMEDIA:a.pdf")
    simulated.add(e.CancelAsked(OWNER))
    ending, words = closed(simulated)
    assert isinstance(ending, end.Cancelled)
    assert words.startswith("The answer.\nMEDIA:a.pdf\n\na.pdf was not sent: The person stopped the turn")
    assert words.endswith(sentence(ending))


def test_a_send_that_a_dead_life_began_is_made_again() -> None:
    simulated = asked()
    simulated.reply("Here.\nMEDIA:a.pdf")
    simulated.add(e.ToolStarted(simulated.turn.calls[0].id, replayable=True))
    assert simulated.decide() == m.RunTools((simulated.turn.calls[0].id,))


def test_an_answer_that_is_nothing_but_files_still_says_something() -> None:
    simulated = asked()
    simulated.reply("MEDIA:a.pdf\nMEDIA:b.pdf")
    _, words = closed(simulated)
    assert words == "Here is the file."


def test_a_message_that_comes_meanwhile_is_read_and_both_answers_are_given() -> None:
    simulated = asked()
    simulated.reply("First.\nMEDIA:a.pdf")
    simulated.say("and b?")
    request = simulated.until_asked()
    assert isinstance(request, m.AskModel)
    assert len(request.heard) == 1
    simulated.reply("Second.\nMEDIA:b.pdf")
    assert closed(simulated)[1] == "First.\n\nSecond."


URL = "https://example.com/a.png"


def test_a_picture_by_a_url_that_was_known_is_shown_and_any_other_stays_a_link() -> None:
    simulated = Simulated()
    simulated.say(f"What is on {URL}?")
    simulated.until_asked()
    simulated.reply(f"![This]({URL})\n![That](https://evil.example/?all=secrets)")
    _, words = closed(simulated)
    assert words == "![That](https://evil.example/?all=secrets)"
    (named,) = [x.fact for x in simulated.log if isinstance(x.fact, e.FilesNamed)]
    assert [file.call.arguments for file in named.files] == [f'{{"path":"{URL}","as_":"picture","caption":"This"}}']


def test_a_picture_that_cannot_be_had_stays_a_link_and_troubles_nobody() -> None:
    gone = "https://example.com/gone.png"
    simulated = Simulated()
    simulated.say(f"Show {gone}")
    simulated.until_asked()
    simulated.reply(f"![This]({gone})")
    assert closed(simulated) == (end.Answered(), f"![This]({gone})")
    assert told(simulated) == 0


def queued(name: str, sha: str, address: e.Address = HERE) -> e.DeliveryQueued:
    return e.DeliveryQueued(DeliveryId(name), address, (Media(BlobRef(sha, 1, "x/y"), MediaKind.DOCUMENT, "a"),), "c1")


@pytest.mark.parametrize(
    ("before", "goes"),
    [
        ([queued("d1", "aa")], False),
        ([queued("d1", "bb")], True),
        ([queued("d1", "aa", e.Address("terminal"))], True),
        ([queued("d1", "aa"), e.TurnClosed(end.Answered())], True),
        ([queued("d1", "aa"), e.DeliverySettled(DeliveryId("d1"), e.DeliveryStatus.SENT)], False),
        ([queued("d1", "aa"), e.DeliverySettled(DeliveryId("d1"), e.DeliveryStatus.FAILED)], True),
    ],
)
def test_a_file_that_is_on_its_way_to_somebody_is_not_sent_twice_in_a_turn(before: list[e.AnyFact], goes: bool) -> None:
    log = [e.Entry(seq, 0, fact) for seq, fact in enumerate(before, 1)]
    outcome = ToolOutcome((Text("Queued."),), deliveries=(Delivery(HERE, queued("d2", "aa").parts),))
    assert bool(without_repeats(log, outcome).deliveries) is goes
