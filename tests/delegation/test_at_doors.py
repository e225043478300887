"""Helpers at the doors: in a chat and in an editor they ask, in the terminal they go on by the command that is told."""

import re
from pathlib import Path
from typing import Any

import pytest

from angelia.channels.incoming import Pressed
from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Hang, Step, call, filtered, say
from tests.acp.editor import Editor, first
from tests.chats.town import town
from tests.delegation.family import WAIT, by_task, delegate
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

RISKY = call("shell", {"command": "rm -rf /etc/nothing-of-ours", "reach": "outside"})
SCRIPT = {"clean it": [RISKY, say("Clean.")], "Begin": [delegate("clean it"), WAIT, say("All clean.")]}


async def test_in_a_chat_it_has_buttons_and_the_answer_reaches_the_helper(tmp_path: Path) -> None:
    far = FarEnd()
    async with ModelServer(by_task(SCRIPT)) as server, town(tmp_path, server, far) as life:
        await life.says("Begin.")
        await far.when(lambda far: any(message.buttons for message in far.in_chat("7")))
        asked = next(message for message in far.in_chat("7") if message.buttons)
        assert "[h1]" in asked.text
        assert all(len(button.value.encode()) <= 64 for button in asked.buttons)
        assert await life.says(Pressed(asked.buttons[0].value)) == "Allowed"
        await far.when(lambda far: "All clean." in far.texts("7"))
        ends = [fact for fact in await life.facts() if isinstance(fact, e.WorkEnded)]
        assert [fact.status for fact in ends] == [CallStatus.OK]


async def test_in_an_editor_it_is_a_permission_of_its_own(tmp_path: Path) -> None:
    def once(params: dict[str, Any]) -> dict[str, Any]:
        option = next(one["optionId"] for one in params["options"] if one["kind"] == "allow_once")
        return {"outcome": {"outcome": "selected", "optionId": option}}

    async with ModelServer(by_task(SCRIPT)) as server:
        place = first(server, tmp_path)
        async with Editor(place, {"session/request_permission": once}) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Begin.") == "end_turn"
            [asked] = editor.asked
        assert asked["params"]["toolCall"]["title"].startswith("helper h1")
        assert "[h1]" in str(asked["params"]["toolCall"]["content"])
        ends = [fact for fact in await place.facts() if isinstance(fact, e.WorkEnded)]
    assert [fact.status for fact in ends] == [CallStatus.OK]


@pytest.mark.parametrize(
    ("reply", "status", "how"),
    [
        (say("It is 42."), 0, "The helper h1 (look it up) has answered: It is 42."),
        (filtered(), 1, "The helper h1 (look it up) has ended without an answer: "),
    ],
    ids=["answers", "does not"],
)
async def test_in_the_terminal_one_that_is_left_goes_on_by_the_command_that_is_told(
    tmp_path: Path, reply: Step, status: int, how: str
) -> None:
    of_parent = by_task({"Begin": [delegate("look it up"), say("Begun.")]})
    of_child: list[Step] = [Hang()]

    def answer(request: ReceivedRequest) -> Step:
        if "You are h1" not in request.raw.decode():
            return of_parent(request)
        return of_child.pop() if of_child else reply

    async with ModelServer(answer) as server:
        place = Place(tmp_path, server)
        begun = await place.ask("Begin.")
        assert (begun.status, begun.stdout) == (0, "Begun.\n")
        told = re.search(r"not finished: h1; they go on when the conversation does: angelia ask (.*)", begun.stderr)
        assert told
        gone_on = await place.ask(*told[1].split())
        assert (gone_on.status, gone_on.stdout) == (status, "")
        assert how in gone_on.stderr
        over = await place.ask(*told[1].split())
        assert (over.status, "There is no question." in over.stderr) == (2, True)
