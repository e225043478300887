"""Whole exchanges, kept as dialogues in files: what an editor sees does not change unnoticed.

`ANGELIA_KEEP_DIALOGUES=1` writes the files anew; read them before you keep them.
"""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from angelia.testing.model import steps
from angelia.testing.model.answerers import by_replies, name_the_colour
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say, think
from tests.acp.client_side import FS, ClientSide
from tests.acp.dialogue import dialogue
from tests.acp.editor import Editor, Refused, first
from tests.acp.test_blocks import image
from tests.acp.test_questions import PERMISSION, choose

pytestmark = pytest.mark.anyio

KEPT = Path(__file__).with_name("dialogues")

CAPABILITIES: dict[str, dict[str, Any]] = {"edit": FS, "terminal": {"terminal": True}}
"""What the editor offers besides forms, by the name of the dialogue."""

Act = Callable[[Editor, str, ClientSide], Awaitable[None]]


async def a_picture(editor: Editor, session: str, client: ClientSide) -> None:
    """A picture, and a question about it."""
    await editor.prompt(session, "Which colour?", image(one_colour("orange")))
    await editor.prompt(session, "And now?")


async def a_task(editor: Editor, session: str, client: ClientSide) -> None:
    """A plan, a permission and a change; then the conversation is opened again."""
    await editor.prompt(session, "Write a file.")
    await editor.load(session)


async def a_question(editor: Editor, session: str, client: ClientSide) -> None:
    """The model asks back."""
    await editor.prompt(session, "Paint it.")


async def a_failure(editor: Editor, session: str, client: ClientSide) -> None:
    """The account is empty; later it is not."""
    with pytest.raises(Refused):
        await editor.prompt(session, "Hello?")
    await editor.prompt(session, "continue")


async def an_edit(editor: Editor, session: str, client: ClientSide) -> None:
    """What is not saved is read, and changed by the editor, which is asked for leave once."""
    file = editor.place.workspace / "a.py"
    file.write_text("a = 1\n")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    client.unsaved[str(file)] = "a = 1\nb = 2\n"
    await editor.prompt(session, "Set b to 3.")


async def a_terminal(editor: Editor, session: str, client: ClientSide) -> None:
    """A command in the editor's terminal, which the person asked for."""
    await editor.ask("session/set_config_option", sessionId=session, configId="commands", value="editor")
    await editor.prompt(session, "Greet me.")


async def a_background(editor: Editor, session: str, client: ClientSide) -> None:
    """A command goes on behind its turn; its end is announced, and the model knows of it."""
    await editor.prompt(session, "Build it.")
    (editor.place.workspace / "go").touch()
    await editor.until(lambda editor: "has ended" in editor.text())
    await editor.prompt(session, "And?")


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
    "edit": (
        an_edit,
        by_replies(
            [
                call("read", {"path": "a.py"}),
                call("edit", {"path": "a.py", "old": "b = 2", "new": "b = 3"}),
                say("It is 3 now."),
            ]
        ),
    ),
    "terminal": (a_terminal, by_replies([call("shell", {"command": "echo hello"}), say("Hello it is.")])),
    "background": (
        a_background,
        by_replies(
            [
                call("shell", {"command": "while [ ! -e go ]; do sleep 0.05; done; echo built", "background": True}),
                say("It is being built."),
                say("It is built."),
            ]
        ),
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
        client = ClientSide()
        async with Editor(place, {PERMISSION: choose("allow_once"), **form, **client.answers}) as editor:
            await editor.hello(elicitation={"form": {}}, **CAPABILITIES.get(name, {}))
            session = await editor.new()
            await editor.until(lambda editor: editor.all("available_commands_update"))
            await act(editor, session, client)
            said = dialogue(editor)
    kept = KEPT / f"{name}.txt"
    if os.environ.get("ANGELIA_KEEP_DIALOGUES"):
        KEPT.mkdir(exist_ok=True)
        kept.write_text(said, "utf-8")
    assert said == kept.read_text("utf-8")
