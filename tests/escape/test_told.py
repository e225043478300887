"""Whatever is taken back, the model reads it in the result and the person at the door."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place as Home
from tests.promise.pipes import pipes, written

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

PLANT = "git init -q x && cd x/.git && printf '[core]\\n pager = evil\\n' > new && cp new config"
EVIL = "sh plant"
"""What it does stands in a file, where no reading of the command line finds it."""


async def test_model_and_person_are_told_of_what_a_command_left(tmp_path: Path) -> None:
    async with ModelServer([call("shell", {"command": EVIL}), say("Done.")]) as server:
        home = Home(tmp_path, server)
        (home.workspace / "plant").write_text(PLANT)
        async with conversation(home) as chat:
            await chat.say("Begin.")
            assert await chat.ending() == end.Answered()
        assert "x/.git/config" in text(chat.facts(e.ToolFinished)[0].parts)
        assert len(notices(chat)) == 1


async def test_and_of_what_a_process_in_the_background_left(tmp_path: Path) -> None:
    behind = call("shell", {"command": f"{EVIL}; echo runs > runs; sleep 600", "background": True})
    async with ModelServer([behind, say("Done.")]) as server:
        home = Home(tmp_path, server)
        (home.workspace / "plant").write_text(PLANT)
        pipes(home.workspace, "runs")
        async with conversation(home) as chat:
            await chat.say("Begin.")
            assert await chat.ending() == end.Answered()
            await written(home.workspace / "runs")
        assert "x/.git/config" in text(chat.facts(e.WorkEnded)[0].parts)
        assert len(notices(chat)) == 1
        assert not (home.workspace / "x/.git/config").exists()


def notices(chat: Conversation) -> list[str]:
    """What the person was sent of it."""
    sent = [text(fact.parts) for fact in chat.facts(e.DeliveryQueued) if fact.origin == "notice"]
    return [said for said in sent if "`x/.git/config` was moved out" in said]


def text(parts: tuple[object, ...]) -> str:
    """The words of a fact."""
    return "".join(part.text for part in parts if isinstance(part, Text))
