"""The turn is a fold of the log: total, and the same however it is cut."""

from random import Random

from angelia.core.content import Text
from angelia.core.entry import Entry, ModelFailed, StopReason
from angelia.core.failure import STOPPED, Failure, FailureKind
from angelia.engine.machine import AskModel, Moment, Rules, UseRemedy, decide
from angelia.engine.reply_text import said_text
from angelia.engine.state import Turn, advance
from angelia.testing.logs.playbook import asked, log, reply, said
from angelia.testing.logs.random_logs import log_from

CUT = ModelFailed("m", Failure(FailureKind.STREAM_CUT))


def test_folding_in_two_steps_is_folding_in_one_wherever_the_cut() -> None:
    random = Random(11)
    for _ in range(1_500):
        entries = log_from(random.randbytes(random.randrange(10, 300)))
        whole = advance(Turn(), entries)
        cut = random.randrange(len(entries) + 1)
        assert advance(advance(Turn(), entries[:cut]), entries) == whole


def test_every_entry_in_every_order_has_a_meaning() -> None:
    random = Random(12)
    for _ in range(800):
        facts = [entry.fact for entry in log_from(random.randbytes(200))]
        random.shuffle(facts)
        shuffled = [Entry(seq, seq, fact) for seq, fact in enumerate(facts, 1)]
        assert advance(Turn(), shuffled).seen == len(shuffled)


def test_an_answer_that_a_later_message_went_beyond_is_delivered_with_the_last_one() -> None:
    entries = log(said("one"), asked, said("two"), reply("First."), reply("Second."))
    turn = advance(Turn(), entries)
    assert said_text(entries, turn.overtaken) == "First."
    assert said_text(entries, turn.answer) == "Second."
    assert said_text(entries, (*turn.overtaken, *turn.answer)) == "First.\n\nSecond."


def test_what_was_cut_at_the_length_limit_goes_on_where_it_stopped() -> None:
    entries = log(said("one"), reply("Half an ans", stop=StopReason.LENGTH), asked, reply("wer."))
    assert said_text(entries, advance(Turn(), entries).answer) == "Half an answer."


def test_a_request_that_we_stopped_is_asked_again_at_once_however_often_and_counts_nowhere() -> None:
    stopped = (asked, ModelFailed("m", STOPPED, (Text("Half an ans"),)))
    lives = log(said("one"), *stopped * 9)
    turn = advance(Turn(), lives)
    assert decide(turn, Rules(), Moment(now=lives[-1].at)) == AskModel((), 10)
    assert (turn.uses, turn.orphans, turn.trouble_since) == ({}, 0, 0)
    again = decide(advance(turn, log(said("one"), *stopped * 9, asked, CUT)), Rules(), Moment(now=0))
    assert isinstance(again, UseRemedy)
    assert again.choice.use == 1
