"""Whatever opens a turn, its end reaches the address that the opener gave."""

from typing import get_args

import pytest
from hypothesis import given

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import ANGELIA, OWNER
from angelia.engine.endings import closing_facts
from angelia.engine.machine import AskModel, Close, Moment, Rules, decide
from angelia.engine.state import Turn, advance
from angelia.testing.logs.strategies import ending_of

CHAT = e.Address("telegram", "7")
TERMINAL = e.Address("terminal")


class ClockStruck(e.Opening, frozen=True):
    """A fact of this test alone: something that is no person opens a turn."""


def log_of(*facts: e.Fact) -> list[e.Entry]:
    return [e.Entry(seq, 1_000 * seq, fact) for seq, fact in enumerate(facts, 1)]  # type: ignore[arg-type]  # not ours


HEARD = [kind for kind in get_args(end.Ending) if kind is not end.StayedSilent]
"""The endings that somebody is told: all but the one that says why there is nothing to tell."""


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("kind", HEARD, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("opening", [e.UserSaid, ClockStruck])
def test_every_ending_of_a_turn_is_delivered_to_whoever_opened_it(
    opening: type[e.Opening], kind: type[end.Outcome]
) -> None:
    log = log_of(opening((Text("wake up"),), ANGELIA, CHAT, reply_to="m1"))
    turn = advance(Turn(), log)
    assert isinstance(decide(turn, Rules(), Moment(2_000)), AskModel)

    @given(ending_of(kind))
    def is_delivered(ending: end.Ending) -> None:
        facts = closing_facts(ConversationId("c"), log, turn, Close(ending))
        [queued] = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
        assert (queued.address, queued.reply_to) == (CHAT, "m1")

    is_delivered()


def test_who_spoke_too_late_for_a_closed_turn_opens_the_next_one_under_their_own_address() -> None:
    log = log_of(
        e.UserSaid((Text("one"),), address=TERMINAL),
        e.ModelAsked("m", 1, heard=(1,)),
        ClockStruck((Text("two"),), ANGELIA, CHAT),
        e.TurnClosed(end.Answered()),
    )
    turn = advance(Turn(), log)
    assert (turn.opened, turn.opener) == (3, e.Opener(ANGELIA, CHAT))


def test_after_the_last_turn_the_opener_is_still_known() -> None:
    log = log_of(
        e.UserSaid((Text("one"),), address=CHAT), e.ModelAsked("m", 1, heard=(1,)), e.TurnClosed(end.Answered())
    )
    turn = advance(Turn(), log)
    assert (turn.opened, turn.opener) == (0, e.Opener(OWNER, CHAT))


def test_a_scheduled_turn_with_nothing_to_tell_ends_without_a_word_unless_somebody_wrote_meanwhile() -> None:
    quiet = ToolCall(CallId("c2_0"), "stay_silent", "{}")
    log = log_of(
        e.Occurred((Text("look"),), OWNER, CHAT, schedule=ConversationId("s"), due=1),
        e.ModelAsked("m", 1, heard=(1,)),
        e.ModelSaid("m", (quiet,), e.StopReason.TOOL_CALLS),
        e.ToolStarted(quiet.id),
        e.ToolFinished(quiet.id, CallStatus.OK, (Text("nothing new"),)),
    )
    turn = advance(Turn(), log)
    effect = decide(turn, Rules(), Moment(6_000))
    assert effect == Close(end.StayedSilent("nothing new"))
    assert closing_facts(ConversationId("c"), log, turn, effect) == [e.TurnClosed(effect.ending)]
    asked = log_of(*(entry.fact for entry in log), e.UserSaid((Text("well?"),), address=CHAT))
    assert isinstance(decide(advance(Turn(), asked), Rules(), Moment(7_000)), AskModel)
