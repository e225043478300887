"""Which calls may run next: those that only read go together, a writer alone, and none past an open question."""

import pytest

from angelia.core.ids import CallId
from angelia.engine.calls import Asked, CallState, OpenCall, Permitted, Wanted, runnable
from angelia.tools.port import Traits

TRAITS = {"look": Traits(reads_only=True), "write": Traits()}
W, P, A = Wanted(), Permitted(), Asked(3, 0, ())


@pytest.mark.parametrize(
    ("open_calls", "next_ones"),
    [
        ([], ""),
        ([("look", W)], "0"),
        ([("write", W)], "0"),
        ([("look", W), ("look", W), ("write", W), ("look", W)], "01"),
        ([("write", W), ("look", W), ("look", W)], "0"),
        ([("write", W), ("write", W)], "0"),
        ([("nobody knows it", W), ("look", W)], "0"),
        ([("write", A)], ""),
        ([("write", A), ("write", W)], ""),
        ([("write", A), ("look", W), ("write", W)], "1"),
        ([("write", P), ("write", A)], "0"),
        ([("write", A), ("write", P)], ""),
        ([("look", A), ("look", P)], "1"),
    ],
)
def test_the_next_calls_are(open_calls: list[tuple[str, CallState]], next_ones: str) -> None:
    calls = tuple(OpenCall(CallId(str(at)), name, state) for at, (name, state) in enumerate(open_calls))
    assert "".join(runnable(calls, TRAITS)) == next_ones
