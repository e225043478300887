"""A conversation on the page: said, answered, followed from the log, and asked in."""

from pathlib import Path

import pytest
from tests.web.visitor import opened, visiting

from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say

pytestmark = pytest.mark.anyio


async def test_a_message_is_answered_and_every_entry_has_its_place(tmp_path: Path) -> None:
    async with (
        ModelServer([say("It is **blue**.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        assert await page.says(conversation, "Which colour?") == {"stored": True, "new": True}
        told = await page.until(conversation, "TurnClosed")
        assert [one["seq"] for one in told] == list(range(1, len(told) + 1))
        assert next(one for one in told if one["kind"] == "UserSaid")["parts"][0]["text"] == "Which colour?"
        reply = next(one for one in told if one["kind"] == "ModelSaid")
        assert reply["nodes"] == [["p", {}, ["It is ", ["strong", {}, ["blue"]], "."]]]
        assert told[-1]["ending"] == "Answered"
