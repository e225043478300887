"""What the person answers while the store takes nothing is told as not stored, and can be answered again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from angelia.core.content import CallStatus
from angelia.faces.acp import permission_requests
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.acp.editor import Editor, Refused, first
from tests.acp.test_folder_questions import answered as folder_questions
from tests.acp.test_folder_questions import choose as folder_answer
from tests.acp.test_folder_questions import told
from tests.acp.test_questions import AGAIN, ASKING, answered, asking, choose, results
from tests.delegation.test_store_away import FullDisk

pytestmark = pytest.mark.anyio


async def at_rest(editor: Editor, session: str) -> FullDisk:
    """The disk of a home, once nobody writes to it: the turn waits for the person, and its lease was given back."""
    runner: Any = editor._agent._open[session].session._runner
    while not (runner._idle and runner._releasing.done()):  # noqa: ASYNC110 - nobody is told
        await asyncio.sleep(0)
    return FullDisk(editor._app)


def allow(editor: Editor) -> None:
    """Say yes to the last question."""
    asked = editor.asked[-1]
    editor.reply(asked, choose("allow_once")(asked["params"]))


async def test_a_yes_that_cannot_be_stored_is_told_and_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permission_requests, "AGAIN_S", 0.01)
    async with ModelServer(AGAIN) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with asyncio.timeout(60), Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            waiting = editor.begin(session, "Write.")
            await editor.until(lambda editor: editor.asked)
            (await at_rest(editor, session)).left = 1
            allow(editor)
            await editor.until(lambda editor: len(editor.asked) == 2)
            allow(editor)
            assert (await waiting)["stopReason"] == "end_turn"
            assert "could not be stored, and you are asked again" in editor.text()
        assert await results(place) == [CallStatus.OK]


async def test_words_that_cannot_be_stored_are_an_answer_when_they_are_said_again(tmp_path: Path) -> None:
    async with ModelServer(by_replies(asking(question="Who are you?"))) as server:
        place = first(server, tmp_path)
        async with asyncio.timeout(60), Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            assert await editor.prompt(session, "Ask me.") == "end_turn"
            (await at_rest(editor, session)).left = 1
            with pytest.raises(Refused, match="full"):
                await editor.prompt(session, "Ada")
            assert await editor.prompt(session, "Ada") == "end_turn"
        assert "The user answered: Ada" in await answered(place)


async def test_a_trust_that_cannot_be_stored_is_told_and_asked_for_after_the_next_turn(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("Yes.")) as server:
        place = first(server, tmp_path)
        (place.workspace / "AGENTS.md").write_text("Use tabs.")
        async with asyncio.timeout(60), Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.until(lambda editor: editor.asked)
            FullDisk(editor._app).left = 1
            editor.reply(editor.asked[0], folder_answer("trust")({}))
            await folder_questions(editor, 1)
            assert "could not be stored" in str(told(editor)[0])
            assert await editor.prompt(session, "Hello.") == "end_turn"
            await editor.until(lambda editor: len(editor.asked) == 2)
