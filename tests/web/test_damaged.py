"""What is damaged keeps nothing else from being listed on the page, and stands there with why."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import OWNER
from angelia.testing.model.server import ModelServer
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio


async def test_a_question_and_a_decision_that_cannot_be_read_stand_among_the_others(tmp_path: Path) -> None:
    calls = [CallId(f"c{number}_0") for number in range(2)]
    asked = [e.ApprovalAsked(call, f"May I do {call}?", "d") for call in calls]
    async with ModelServer([]) as server, opened(tmp_path, server.base_url) as app, visiting(app) as page:
        talk = ConversationId("talk0001")
        facts: list[e.AnyFact] = [e.ConversationOpened("web", "/w"), *asked, e.CancelAsked(OWNER), e.CancelAsked(OWNER)]
        await app.transcript.append(talk, facts)
        await app.db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
        torn = "UPDATE entries SET body = x'7b2278' WHERE seq IN (2, 4)"
        await app.db.write(lambda connection: connection.execute(torn))
        first, second = (await page.json("/api/waiting"))["questions"]
        assert (first["asks"], first["digest"], second["call"]) == ("unreadable", "", calls[1])
        assert "Entry 2 of talk0001 cannot be read" in first["why"]
        assert "angelia store salvage" in first["why"]
        newest, damaged = (await page.json("/api/audit"))["decided"]
        assert (newest["did"], damaged["by"], damaged["seq"]) == ("stopped a turn", "", 4)
        assert "Entry 4 of talk0001 cannot be read" in damaged["did"]
