"""Whatever is erased from a log, its turns open and end as they did, and a model can be asked as before."""

from hypothesis import given
from msgspec.structs import replace

from angelia.context.view import project
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.principal import OWNER, Principal
from angelia.core.profile import Ability, Profile
from angelia.engine.state import Turn, advance
from angelia.service.people.blanked import without
from angelia.service.people.theirs import theirs
from angelia.testing.logs.strategies import any_fact, logs

ANN = Principal("irc", "ann!")
SECRET = "canaryofann"
PROFILE = Profile("scripted:m", "scripted", "m", "openai-chat", images=Ability.YES)


def in_two_voices(log: list[e.Entry]) -> list[e.Entry]:
    """The same with every other message said by Ann, with her secret in it."""

    def voiced(entry: e.Entry) -> e.Entry:
        fact = entry.fact
        if isinstance(fact, e.Opening | e.SetAside | e.CommandGiven | e.ResultsBrought) and entry.seq % 2:
            said = {"parts": (*fact.parts, Text(SECRET))} if isinstance(fact, e.Opening | e.SetAside) else {}
            return replace(entry, fact=replace(fact, sender=ANN, **said))
        return entry

    return [voiced(entry) for entry in log]


def steps(log: list[e.Entry]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Where the turn stands after each entry."""
    turn, found = Turn(), []
    for upto in range(1, len(log) + 1):
        turn = advance(turn, log[:upto])
        found.append((turn.opened, turn.asked, tuple(one.seq for one in turn.unread)))
    return found


@given(logs(most=120))
def test_turns_stand_as_they_stood_and_a_model_is_asked_without_a_word_of_theirs(log: list[e.Entry]) -> None:
    before = in_two_voices(log)
    for who in (ANN, OWNER):
        facts = without(before, theirs(before, who), who)
        after = [replace(entry, fact=facts.get(entry.seq, entry.fact)) for entry in before]
        assert steps(after) == steps(before)
        shown = str(project(after, PROFILE))
        assert (SECRET in shown) <= (who != ANN)
        assert not any(repr(who) in repr(entry) for entry in after)


@given(any_fact())
def test_nobody_is_named_in_a_fact_without_them(fact: e.AnyFact) -> None:
    """Whatever the fact, of today or of tomorrow: names are found by their type."""
    log = [e.Entry(1, 0, fact)]
    for who in {one for one in (OWNER, ANN) if repr(one) in repr(fact)}:
        after = without(log, theirs(log, who), who)
        assert repr(who) not in repr(after[1])
