"""Programs that ask at the same time in one conversation: one turn is begun, nobody is told another's answer."""

import asyncio
from pathlib import Path

import pytest
from tests.web.v1.programs import served

from angelia.core.content import Text
from angelia.faces.web.v1.refusals import ApiRefused
from angelia.faces.web.v1.turn import FollowedTurn
from angelia.faces.web.v1.turns import USUAL, ApiTurns, ProgramMessage
from angelia.testing.model.steps import say

pytestmark = pytest.mark.anyio


async def test_of_messages_at_once_one_is_begun_and_the_others_are_told_that_it_runs(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Noted."), say("Ann.")]) as (programs, model):
        key = await programs.page.door.keys.known(await programs.key())
        assert key
        turns = ApiTurns(programs.app, programs.page.door.conversations)
        usual = await turns.model(key, USUAL)
        messages = [ProgramMessage(f"ide:m{number}", usual, [Text("I am Ann.")]) for number in range(4)]
        first = await turns.begin(key, None, messages[0])
        await first.ended()
        more = (turns.begin(key, first.conversation, one) for one in messages[1:])
        came = await asyncio.gather(*more, return_exceptions=True)
        [begun] = [one for one in came if isinstance(one, FollowedTurn)]
        assert [one.code for one in came if isinstance(one, ApiRefused)] == ["busy", "busy"]
        assert (await begun.ended()).words == "Ann."
        assert len(model.requests) == 2
