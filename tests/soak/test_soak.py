"""A short run of faults of each kind balances, and books that do not balance are told."""

import io
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import DeliveryId
from angelia.core.principal import OWNER
from angelia.testing.networks.telegram_world import HERE
from tests.soak.books import breaches
from tests.soak.run import Soak

SHORT = (
    *("chats: CUT", "model: HALF", "both: HTML_502"),
    *("killed", "clock_jumps", "files_out", "disk_full", "database_away"),
)


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.soak
async def test_after_a_short_run_of_faults_of_each_kind_the_books_balance(tmp_path: Path) -> None:
    told = io.StringIO()
    found = await Soak(tmp_path / "soak", 7, told.write, SHORT).run(0)
    assert not found, told.getvalue()


ANSWER = DeliveryId("d1")
SAID = e.UserSaid((Text("hello"),), OWNER, HERE, "k1")
TURN: list[e.AnyFact] = [
    SAID,
    e.TurnClosed(end.Answered()),
    e.DeliveryQueued(ANSWER, HERE, (Text("Here."),), "answer"),
    e.DeliverySettled(ANSWER, e.DeliveryStatus.SENT),
]


@pytest.mark.parametrize(
    ("facts", "said", "shown", "wrong"),
    [
        (TURN, 1, ["Here."], ""),
        (TURN, 2, ["Here."], "2 messages were sent, and 1 have a disposition"),
        ([SAID, *TURN], 1, ["Here."], "k1 has 2 dispositions"),
        (TURN[:1], 1, [], "the last turn did not end"),
        (TURN[:3], 1, ["Here."], "was never settled"),
        (TURN, 1, [], "stands there 0 times"),
        (TURN, 1, ["Here.", "Here."], "stands there 2 times"),
    ],
)
def test_books_that_do_not_balance_are_told(facts: list[e.AnyFact], said: int, shown: list[str], wrong: str) -> None:
    found = breaches(facts, said, shown)
    assert (not found) if not wrong else any(wrong in one for one in found)
