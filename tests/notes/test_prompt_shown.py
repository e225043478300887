"""What the model was shown is one command away, byte for byte, on every wire: notes and AGENTS.md together."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from angelia.testing.model.server import ModelServer
from tests.notes.test_notes import FISH, noting, turn
from tests.promise.inside import conversation
from tests.promise.lives import WIRES, Place

pytestmark = pytest.mark.anyio

WORDS = "Größen stehen in ½ cm.\n\tTabs, “quotes” and \\ stay."


@pytest.mark.parametrize("wire", WIRES)
async def test_show_prompt_prints_the_very_bytes_that_were_sent(tmp_path: Path, wire: str) -> None:
    async with ModelServer(noting(kind="rule")) as server:
        place = Place(tmp_path, server, wire=wire)
        (place.workspace / "AGENTS.md").write_text(WORDS)
        async with conversation(place) as talk:
            await turn(talk, "note it")
        async with conversation(place) as talk:
            prompt = talk.app.conversations.prompt(talk.session)
            await prompt.look()
            assert prompt.in_question
            await prompt.answer(prompt.in_question, trusted=True, at=1)
            await turn(talk, "hello")
        sent = server.requests[-1].heard.system
        assert WORDS in sent
        assert FISH in sent
        argv = (sys.executable, "-m", "angelia", "show", "--prompt")
        shown = await asyncio.create_subprocess_exec(*argv, env=place.env, stdout=PIPE)
        printed, _ = await shown.communicate()
        assert printed == sent.encode() + b"\n"
