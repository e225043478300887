"""Where the end of a log is enough to know which turn is open, it says what the whole log says."""

from hypothesis import given

from angelia.core import entry as e
from angelia.engine.state import Turn, advance
from angelia.service.conversation.turn_at_entry import TURNS, after_rest
from angelia.testing.logs.strategies import logs


@given(logs())
def test_the_end_of_a_log_tells_the_open_turn_as_all_of_it_does(log: list[e.Entry]) -> None:
    """Messages that were left, queued, or waited over a cancelled turn are seen to be: for them more is read."""
    told = [entry for entry in log if isinstance(entry.fact, TURNS)]
    for end in range(1, len(told) + 1):
        whole = advance(Turn(), log[: told[end - 1].seq])
        for start in range(end):
            if begin := after_rest(told[start:end]):
                found = advance(Turn(), told[start + begin : end])
                assert (found.opened, found.opener) == (whole.opened, whole.opener if found.opened else found.opener)
