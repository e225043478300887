"""Whose words a schedule may stand on."""

from msgspec.structs import replace

from angelia.context.in_view import InView
from angelia.policy.judge import judge
from angelia.policy.situation import Mode, Situation
from angelia.policy.verdict import Allow, Ask, ChangeSchedule, Deny

HERE = Situation("/work", "/home/ann", "/home/ann/.angelia")
WISH = ChangeSchedule("Schedule “look” (18:00)?")


def test_with_words_that_nobody_answers_for_in_view_scheduling_asks() -> None:
    seen = InView(private=True, untrusted=True)
    for mode in (Mode.ASK, Mode.EDIT, Mode.AUTONOMOUS):
        verdict = judge(WISH, replace(HERE, mode=mode, seen=seen))
        assert isinstance(verdict, Ask)
        assert verdict.question == WISH.question
        assert not verdict.pattern  # each is asked about


def test_the_persons_own_wish_is_scheduled_at_once_but_not_in_plan_mode() -> None:
    assert isinstance(judge(WISH, replace(HERE, seen=InView(private=True))), Allow)
    assert isinstance(judge(WISH, replace(HERE, mode=Mode.PLAN)), Deny)
