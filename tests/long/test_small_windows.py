"""Windows that are smaller than one would wish: the summariser's, and one that not even the tools fit into."""

from pathlib import Path

import pytest

from angelia.context.summary import INSTRUCTIONS, prompt
from angelia.context.tokens import text_tokens
from angelia.context.view import project
from angelia.core import ending as end
from angelia.core.content import Text
from angelia.engine.compaction import ContextBudget, Summariser, Written, allowed_for
from angelia.testing.model.server import ModelServer, ServerLimits
from angelia.testing.model.steps import say
from tests.context.long_logs import PROFILE, Story
from tests.long.home import home, opened, turn

pytestmark = pytest.mark.anyio


async def _never(_: str, __: int) -> Written:
    raise AssertionError("nobody asked for a summary")


def test_the_smaller_of_both_windows_counts() -> None:
    story = Story()
    story.turn(Text("hello"))
    view = project(story.log, PROFILE)
    alone = allowed_for(view, ContextBudget(0.5, 1_000))
    together = allowed_for(view, ContextBudget(0.5, 1_000, Summariser("v:small", 20_000, _never)))
    assert alone.tokens == 100_000 - 1_000
    assert together.tokens == 10_000 - 1_000


def test_what_a_summariser_reads_fits_its_window() -> None:
    asked = prompt("the last summary", "a long story " * 50_000, "the names", 4_000)
    assert text_tokens(asked) + text_tokens(INSTRUCTIONS) <= 4_000 * 1.05
    assert "the names" in asked
    assert "the last summary" in asked


async def test_tools_that_do_not_fit_the_window_end_the_turn_aloud_without_a_request(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("ok"), limits=ServerLimits(window=1_200)) as server:
        async with home(tmp_path, server, window=1_200) as app:
            session = await opened(app, tmp_path)
            closed = await turn(session, Text("hello"))
            assert isinstance(closed.ending, end.ContextFull)
            again = await turn(session, Text("hello again"))
            assert isinstance(again.ending, end.ContextFull)
        assert not server.requests


@pytest.mark.parametrize(("window", "spared"), [(8_000, True), (200_000, False)])
async def test_a_small_window_is_not_filled_with_tools(tmp_path: Path, window: int, spared: bool) -> None:
    async with (
        ModelServer([say("noted")]) as server,
        home(tmp_path, server, "openai-chat", window=window) as app,
    ):
        await turn(await opened(app, tmp_path), Text("hello"))
        offered = {tool["function"]["name"] for tool in server.requests[0].body["tools"]}
    assert {"shell", "read", "edit", "fetch", "stay_silent"} <= offered
    assert ({"remember", "search_past", "schedule"} & offered == set()) is spared
