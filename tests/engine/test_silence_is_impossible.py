"""Every path through the remedies table ends, within its budgets, with a sentence somebody can read."""

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.failure import Failure, FailureKind
from angelia.core.principal import OWNER
from angelia.core.sentences import sentence
from angelia.engine import machine as m
from angelia.engine.caps import TurnCaps
from angelia.engine.remedies import DEFAULT, Remedy
from tests.engine.simulated import RULES, Simulated
from tests.examples import TIMES

ALL = tuple(FailureKind)
MOST_REQUESTS = sum(times for row in DEFAULT.values() for _, times in row.remedies) + 40
DEPTH = 4 if TIMES else 3
"""Failures in a row, each of every kind."""


def spoken(simulated: Simulated) -> bool:
    """Whether the turn has closed with something to read."""
    closed = simulated.endings[-1].ending
    return isinstance(closed, end.Answered) or bool(sentence(closed).strip())


def finish(simulated: Simulated, kind: FailureKind | None) -> None:
    """Go on with a good answer (None), or with the same failure for ever, until the turn is closed."""
    for _ in range(MOST_REQUESTS):
        if isinstance(simulated.until_asked(), m.Rest):
            break
        if kind is None:
            simulated.reply("The answer.")
        else:
            simulated.fail(kind)
    assert isinstance(simulated.decide(), m.Rest)
    assert len(simulated.endings) == 1
    assert spoken(simulated)


def explore(simulated: Simulated, depth: int) -> int:
    """Every failure at every step to `depth`, each path then finished in both ways; returns how many paths ended."""
    asked = simulated.until_asked()
    if isinstance(asked, m.Rest):
        assert spoken(simulated)
        return 1
    paths = 0
    for kind in ALL:
        branch = simulated.copy()
        branch.fail(kind)
        if depth > 1:
            paths += explore(branch, depth - 1)
        else:
            for last in (None, kind):
                finish(branch.copy(), last)
                paths += 1
    return paths


@pytest.mark.slow
def test_every_sequence_of_failures_ends_with_a_reason() -> None:
    simulated = Simulated()
    simulated.say()
    assert explore(simulated, DEPTH) > 10_000


@pytest.mark.parametrize("kind", ALL)
def test_the_same_failure_for_ever_ends_by_the_remedies_in_order(kind: FailureKind) -> None:
    simulated = Simulated()
    simulated.say()
    finish(simulated, kind)
    used = [entry.fact for entry in simulated.log if isinstance(entry.fact, e.RemedyUsed)]
    row: FailureKind | None = kind
    expected: list[tuple[FailureKind, Remedy]] = []
    while row:
        expected += [(row, remedy) for remedy, times in DEFAULT[row].remedies for _ in range(_possible(remedy, times))]
        row = DEFAULT[row].otherwise
    assert [(fact.failure, Remedy(fact.remedy)) for fact in used] == expected


def _possible(remedy: Remedy, times: int) -> int:
    """How often a remedy can be used with the simulated reserves: one more model, one more key."""
    return min(times, 1) if remedy in (Remedy.NEXT_MODEL, Remedy.NEXT_CREDENTIAL) else times


@pytest.mark.parametrize("empties", [1, 2, 3])
def test_empty_replies_after_progress_are_asked_again_and_the_turn_goes_on(empties: int) -> None:
    simulated = Simulated()
    simulated.say()
    simulated.until_asked()
    simulated.reply("Tests passed! Now dispatching task 5:", "shell")
    for _ in range(empties):
        assert isinstance(simulated.until_asked(), m.AskModel)
        simulated.fail(FailureKind.EMPTY_REPLY)
    assert isinstance(simulated.until_asked(), m.AskModel)
    simulated.reply("Task 5 is done.")
    simulated.until_asked()
    assert simulated.endings == [e.TurnClosed(end.Answered())]


def test_a_model_that_stays_silent_after_work_is_named_and_its_progress_is_quoted_not_promoted() -> None:
    simulated = Simulated()
    simulated.say()
    simulated.until_asked()
    simulated.reply("Tests passed! Now dispatching task 5:", "shell")
    while isinstance(simulated.until_asked(), m.AskModel):
        simulated.fail(FailureKind.EMPTY_REPLY)
    ending = simulated.endings[-1].ending
    assert isinstance(ending, end.NothingToSay)
    assert "Now dispatching task 5" in sentence(ending)


def test_text_with_housekeeping_alone_is_the_answer_once_every_remedy_is_spent() -> None:
    simulated = Simulated()
    simulated.say("thanks")
    simulated.until_asked()
    simulated.reply("You're welcome!", "todo")
    asked = 0
    while isinstance(simulated.until_asked(), m.AskModel):
        asked += 1
        simulated.fail(FailureKind.EMPTY_REPLY)
    ending = simulated.endings[-1].ending
    assert asked > 3
    assert isinstance(ending, end.Answered)
    assert "added nothing" in ending.note


def test_no_remedy_resets_the_count_of_another() -> None:
    simulated = Simulated()
    simulated.say()
    for _ in range(MOST_REQUESTS):
        if isinstance(simulated.until_asked(), m.Rest):
            break
        simulated.fail(FailureKind.THINKING_ONLY if len(simulated.log) % 2 else FailureKind.EMPTY_REPLY)
    assert isinstance(simulated.endings[-1].ending, end.NothingToSay)


def test_a_busy_provider_is_waited_for_as_long_as_it_says() -> None:
    simulated = Simulated(m.Rules(traits=RULES.traits))
    simulated.say()
    simulated.until_asked()
    simulated.fail(FailureKind.BUSY, retry_after=300_000)
    effect = simulated.decide()
    assert isinstance(effect, m.UseRemedy)
    assert effect.delay == 300_000


@pytest.mark.parametrize(("asked", "remedy"), [(119_000, Remedy.WAIT), (121_000, Remedy.NEXT_MODEL)])
def test_a_wait_of_more_than_two_minutes_tries_the_fallback_first(asked: int, remedy: Remedy) -> None:
    simulated = Simulated(m.Rules(traits=RULES.traits, credentials=(1, 1)))
    simulated.say()
    simulated.until_asked()
    simulated.fail(FailureKind.BUSY, retry_after=asked)
    effect = simulated.decide()
    assert isinstance(effect, m.UseRemedy)
    assert effect.choice.remedy is remedy


@pytest.mark.parametrize(("door", "least", "most"), [("terminal", 3, 8), ("chat", 200, 300)])
def test_an_outage_is_outlived_for_minutes_where_nobody_looks(door: str, least: int, most: int) -> None:
    simulated = Simulated(m.Rules(traits=RULES.traits))
    simulated.say(address=e.Address(door))
    waits = []
    while isinstance(simulated.until_asked(), m.AskModel):
        simulated.fail(FailureKind.UNREACHABLE)
        if isinstance(effect := simulated.decide(), m.UseRemedy):
            waits.append(effect.delay)
    assert least * 1000 <= sum(waits) <= most * 1000
    assert max(waits) <= 30_000
    assert isinstance(simulated.endings[-1].ending, end.ModelUnavailable)


def test_a_cut_reply_is_asked_again_with_a_pause_that_grows() -> None:
    simulated = Simulated(m.Rules(traits=RULES.traits))
    simulated.say()
    pauses = []
    for _ in range(2):
        simulated.until_asked()
        simulated.fail(FailureKind.STREAM_CUT)
        effect = simulated.decide()
        assert isinstance(effect, m.UseRemedy)
        pauses.append((effect.choice.remedy, effect.delay))
    assert pauses == [(Remedy.ASK_AGAIN, 500), (Remedy.ASK_AGAIN, 1000)]


def test_a_wait_beyond_the_turns_time_moves_on_to_the_next_remedy() -> None:
    limits = TurnCaps(max_seconds=60)
    simulated = Simulated(m.Rules(limits=limits, traits=RULES.traits, credentials=(2,)))
    simulated.say()
    simulated.until_asked()
    simulated.fail(FailureKind.BUSY, retry_after=300_000)
    effect = simulated.decide()
    assert isinstance(effect, m.UseRemedy)
    assert effect.choice.remedy is Remedy.NEXT_CREDENTIAL


def test_a_long_turn_may_be_busy_many_times_as_long_as_it_moves() -> None:
    simulated = Simulated()
    simulated.say()
    for _ in range(20):
        assert isinstance(simulated.until_asked(), m.AskModel)
        simulated.fail(FailureKind.BUSY)
        assert isinstance(simulated.until_asked(), m.AskModel)
        simulated.reply("", "shell")
    assert not simulated.endings


def test_a_message_that_kills_the_process_is_given_up_after_three_tries() -> None:
    simulated = Simulated()
    simulated.say()
    for _ in range(3):
        assert isinstance(simulated.until_asked(), m.AskModel)
    simulated.until_asked()
    assert isinstance(simulated.endings[-1].ending, end.ModelUnavailable)


def test_a_message_whose_turn_was_stopped_before_it_was_read_goes_along_with_the_next_request() -> None:
    simulated = Simulated()
    simulated.say("first")
    simulated.add(e.CancelAsked(OWNER))
    assert isinstance(simulated.until_asked(), m.Rest)
    simulated.say("second")
    asked = simulated.until_asked()
    assert isinstance(asked, m.AskModel)
    assert asked.heard == (1, 4)


def test_a_message_that_comes_while_a_turn_is_closed_opens_the_next_one() -> None:
    simulated = Simulated()
    simulated.say("first")
    simulated.until_asked()
    simulated.reply("The answer.")
    effect = simulated.decide()
    assert isinstance(effect, m.Close)
    simulated.say("second")
    simulated.add(e.TurnClosed(effect.ending))
    assert isinstance(simulated.until_asked(), m.AskModel)
    simulated.reply("The other answer.")
    simulated.until_asked()
    assert len(simulated.endings) == 2


def test_room_that_a_person_asks_for_is_made_also_between_turns() -> None:
    simulated = Simulated()
    simulated.say()
    simulated.until_asked()
    simulated.reply("The answer.")
    simulated.until_asked()
    simulated.add(e.CompactionRequested())
    assert isinstance(simulated.decide(), m.Compact)
    simulated.until_asked()
    assert isinstance(simulated.decide(), m.Rest)


def test_a_wait_that_was_begun_under_a_clock_years_ahead_is_over_when_the_clock_is_right() -> None:
    simulated = Simulated()
    simulated.say()
    simulated.until_asked()
    simulated.now += 94_608_000_000
    simulated.add(e.ModelFailed("test:model", Failure(FailureKind.BUSY)))
    waiting = simulated.decide()
    assert isinstance(waiting, m.UseRemedy)
    simulated.perform(waiting)
    assert isinstance(simulated.decide(), m.Rest)
    simulated.now -= 94_608_000_000
    assert isinstance(simulated.decide(), m.AskModel)


@pytest.mark.parametrize("arrival", e.Arrival)
def test_a_message_that_was_taken_back_asks_for_nothing(arrival: e.Arrival) -> None:
    """Neither at the next step nor in a turn of its own. What opened the turn is not taken back, nor what was read."""
    simulated = Simulated()
    simulated.say("first")
    opened = len(simulated.log)
    simulated.add(e.MessageTakenBack(opened))
    assert simulated.until_asked() == m.AskModel((opened,), 1)
    simulated.say("second", arrival)
    second = len(simulated.log)
    simulated.add(e.MessageTakenBack(second))
    simulated.reply("The answer.")
    assert simulated.until_asked() == m.Rest()
    assert len(simulated.endings) == 1
    simulated.say("third")
    third = simulated.until_asked()
    assert isinstance(third, m.AskModel)
    assert second not in third.heard
    before = simulated.turn
    simulated.add(e.MessageTakenBack(third.heard[0]))
    assert simulated.turn.unread == before.unread == ()
