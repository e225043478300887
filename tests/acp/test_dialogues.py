"""Whole exchanges, kept as dialogues in files: what an editor sees does not change unnoticed.

`ANGELIA_KEEP_DIALOGUES=1` writes the files anew; read them before you keep them.
"""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from angelia.testing import steps
from angelia.testing.answerers import by_replies, name_the_colour
from angelia.testing.model_server import ModelServer
from angelia.testing.pictures import one_colour
from angelia.testing.steps import Step, call, say, think
from tests.acp.dialogue import dialogue
from tests.acp.editor import Editor, Refused, first
from tests.acp.test_blocks import image
from tests.acp.test_questions import PERMISSION, choose

pytestmark = pytest.mark.anyio

KEPT = Path(__file__).with_name("dialogues")

Act = Callable[[Editor, str], Awaitable[None]]


async def a_picture(editor: Editor, session: str) -> None:
    """A picture, and a question about it."""
    await editor.prompt(session, "Which colour?", image(one_colour("orange")))
    await editor.prompt(session, "And now?")


async def a_task(editor: Editor, session: str) -> None:
    """A plan, a permission and a change; then the conversation is opened again."""
    await editor.prompt(session, "Write a file.")
    await editor.load(session)


async def a_question(editor: Editor, session: str) -> None:
    """The model asks back."""
    await editor.prompt(session, "Paint it.")


async def a_failure(editor: Editor, session: str) -> None:
    """The account is empty; later it is not."""
    with pytest.raises(Refused):
        await editor.prompt(session, "Hello?")
    await editor.prompt(session, "continue")


SCRIPTS: dict[str, tuple[Act, Callable[..., Step]]] = {
    "picture": (a_picture, name_the_colour),
    "task": (
        a_task,
        by_replies(
            [
                think("A plan first.") + call("todo", {"items": [{"text": "Write it", "status": "active"}]}),
                say("I write it.") + call("write", {"path": "a.txt", "content": "x\n"}),
                call("todo", {"items": [{"text": "Write it", "status": "done"}]}),
                say("It is written."),
            ]
        ),
    ),
    "question": (
        a_question,
        by_replies([call("ask_user", {"question": "Which colour?", "choices": ["red", "blue"]}), say("Blue it is.")]),
    ),
    "failure": (a_failure, lambda request: _poor_once(len(request.heard.messages))),
}


def _poor_once(messages: int) -> Step:
    return steps.out_of_credit() if messages < 3 else say("Here I am.")


@pytest.mark.parametrize("name", SCRIPTS)
async def test_the_exchange_is_the_one_that_was_kept(name: str, tmp_path: Path) -> None:
    act, script = SCRIPTS[name]
    async with ModelServer(script) as server:
        place = first(server, tmp_path, sets=("policy.mode=ask",))
        form = {"elicitation/create": lambda _: {"action": "accept", "content": {"answer": "blue"}}}
        async with Editor(place, {PERMISSION: choose("allow_once"), **form}) as editor:
            await editor.hello(elicitation={"form": {}})
            session = await editor.new()
            await editor.until(lambda editor: editor.all("available_commands_update"))
            await act(editor, session)
            said = dialogue(editor)
    kept = KEPT / f"{name}.txt"
    if os.environ.get("ANGELIA_KEEP_DIALOGUES"):
        KEPT.mkdir(exist_ok=True)
        kept.write_text(said, "utf-8")
    assert said == kept.read_text("utf-8")
