"""What has come of a reply, for who begins to watch in the middle of it."""

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId
from angelia.engine.live import Awaiting, Committed, Growing, Live, LiveEvent, Resting, Thinks, Working, Writing

ASKED = Committed((e.Entry(1, 0, e.ModelAsked("m", 1, ())),))
SAID = Committed((e.Entry(2, 0, e.ModelSaid("m", (Text("ab"),), e.StopReason.END)),))
FAILED = Committed((e.Entry(2, 0, e.ModelFailed("m", Failure(FailureKind.STREAM_CUT))),))
STEERED = Committed((e.Entry(2, 0, e.UserSaid((Text("And?"),), key="k")),))

COURSES: dict[str, tuple[tuple[LiveEvent, ...], list[Growing]]] = {
    "pieces of a kind are one": (
        (ASKED, Thinks("h"), Thinks("m"), Writing("a"), Writing("b"), Thinks("?")),
        [Thinks("hm"), Writing("ab"), Thinks("?")],
    ),
    "what is stored is told by the log": ((ASKED, Writing("a"), Writing("b"), SAID), []),
    "what was cut is over": ((ASKED, Writing("a"), FAILED), []),
    "what a process could not store is over with the next request": ((Writing("a"), ASKED), []),
    "who speaks meanwhile changes nothing": ((ASKED, Writing("a"), STEERED, Writing("b")), [Writing("ab")]),
    "what it is waited for stands until words come of it": (
        (ASKED, Awaiting("m", 1), Resting(5, "busy"), Working(CallId("c"), "out")),
        [Resting(5, "busy")],
    ),
}


@pytest.mark.parametrize(("events", "growing"), COURSES.values(), ids=COURSES)
def test_who_comes_in_the_middle_is_told(events: tuple[LiveEvent, ...], growing: list[Growing]) -> None:
    live = Live()
    for event in events:
        live.emit(event)
    assert live.growing == growing
