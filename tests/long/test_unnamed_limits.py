"""A server that refuses what is too large without a number: its limit is found, and not run into again and again."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.context.limits import LEAST_BYTES, learnt_limits
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.failure import Failure, FailureKind
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Fail, Speak, say
from tests.long.home import home, opened, turn
from tests.long.test_pictures import noise

LIMIT = 1_500_000
TOO_LARGE = Failure(FailureKind.BODY_TOO_LARGE, status=413)


@given(st.lists(st.integers(LEAST_BYTES, 40_000_000), min_size=1, max_size=30), st.integers(200_000, 30_000_000))
def test_what_is_learnt_is_below_all_that_was_refused_and_half_of_it_at_least(sizes: list[int], limit: int) -> None:
    log = [
        e.Entry(seq, 0, e.ModelFailed("m", TOO_LARGE, body=size) if size > limit else _taken(size))
        for seq, size in enumerate(sizes, 1)
    ]
    learnt, refused = learnt_limits(log, "m").bytes, [size for size in sizes if size > limit]
    taken = max((size for size in sizes if size <= limit), default=0)
    assert bool(learnt) == bool(refused)
    assert not refused or max(taken, min(refused) // 2) <= learnt < min(refused)


@pytest.mark.anyio
async def test_a_limit_that_nobody_names_is_run_into_a_few_times_and_then_no_more(tmp_path: Path) -> None:
    refused: list[int] = []

    def answer(request: ReceivedRequest) -> Speak | Fail:
        if len(request.raw) > LIMIT:
            refused.append(len(request.raw))
            return Fail(FailureKind.BODY_TOO_LARGE)
        return say("seen")

    pictures = [noise(number, 200) for number in range(40)]
    async with ModelServer(answer) as server, home(tmp_path, server, window=200_000) as app:
        session = await opened(app, tmp_path)
        early = 0
        for number, data in enumerate(pictures):
            early = len(refused) if number == len(pictures) // 2 else early
            closed = await turn(session, Text("see"), await app.intake.to_media(data, f"{number}.png"))
            assert closed.ending == end.Answered()
            server.requests.clear()
        assert 1 <= len(refused) <= 4
        assert len(refused) == early, "in the second half nobody is refused any more"


def _taken(size: int) -> e.ModelSaid:
    return e.ModelSaid("m", (Text("ok"),), e.StopReason.END, body=size)
