"""A call that needs a yes is put to the person by the editor, and the answer is a grant of ours."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.core.unambiguous import unambiguous
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.acp.editor import Editor, Refused, first
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

RISKY = call("write", {"path": "a.txt", "content": "x\n"})
AGAIN = by_replies([RISKY, say("Written."), call("edit", {"path": "a.txt", "old": "x", "new": "y"}), say("Changed.")])
ASKING = ("policy.mode=ask",)
PERMISSION = "session/request_permission"


def choose(kind: str) -> Callable[[dict[str, Any]], Any]:
    """An answer: the last option of a kind."""

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        [*_, option] = [one["optionId"] for one in params["options"] if one["kind"] == kind]
        return {"outcome": {"outcome": "selected", "optionId": option}}

    return answer


def dismiss(_: dict[str, Any]) -> dict[str, Any]:
    """The person looked away."""
    return {"outcome": {"outcome": "cancelled"}}


def unable(_: dict[str, Any]) -> Any:
    """The client has no such method."""
    raise Refused({"code": -32601, "message": "Method not found"})


async def results(place: Place) -> list[CallStatus]:
    """How the calls ended."""
    return [fact.status for fact in await place.facts() if isinstance(fact, e.ToolFinished)]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (choose("allow_once"), CallStatus.OK),
        (choose("allow_always"), CallStatus.OK),
        (choose("reject_once"), CallStatus.REFUSED),
        (dismiss, CallStatus.REFUSED),
        (unable, CallStatus.REFUSED),
        (lambda _: {"outcome": {"outcome": "selected", "optionId": "sure"}}, CallStatus.REFUSED),
        (lambda _: {"nonsense": True}, CallStatus.REFUSED),
    ],
)
async def test_only_a_clear_yes_is_a_yes(tmp_path: Path, answer: Any, status: CallStatus) -> None:
    async with ModelServer(AGAIN) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Editor(place, {PERMISSION: answer}) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Write.") == "end_turn"
            [asked] = editor.asked
        assert await results(place) == [status]
    about = asked["params"]["toolCall"]
    assert about["rawInput"] == {"path": "a.txt", "content": "x\n"}
    assert about["content"][1] == {"type": "diff", "path": str(place.workspace / "a.txt"), "newText": "x\n"}
    assert (place.workspace / "a.txt").exists() is (status is CallStatus.OK)


@pytest.mark.parametrize(("kind", "times"), [("allow_once", 2), ("allow_always", 1)])
async def test_a_yes_for_longer_is_not_asked_for_again(tmp_path: Path, kind: str, times: int) -> None:
    async with ModelServer(AGAIN) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Editor(place, {PERMISSION: choose(kind)}) as editor:
            await editor.hello()
            session = await editor.new()
            assert await editor.prompt(session, "Write.") == "end_turn"
            assert await editor.prompt(session, "Change.") == "end_turn"
            assert len(editor.asked) == times
        assert (place.workspace / "a.txt").read_text() == "y\n"


async def test_cancel_takes_the_question_back(tmp_path: Path) -> None:
    async with ModelServer(AGAIN) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            waiting = editor.begin(session, "Write.")
            await editor.until(lambda editor: editor.asked)
            editor.notify("session/cancel", sessionId=session)
            assert (await waiting)["stopReason"] == "cancelled"
            taken = [one["params"] for one in editor.said if one.get("method") == "$/cancel_request"]
            assert taken == [{"requestId": editor.asked[0]["id"]}]
            editor.reply(editor.asked[0], dismiss({}))
        assert await results(place) == [CallStatus.CANCELLED]


async def test_a_message_instead_of_an_answer_makes_the_question_moot(tmp_path: Path) -> None:
    async with ModelServer(by_replies([RISKY, say("As you like.")])) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            one = editor.begin(session, "Write.")
            await editor.until(lambda editor: editor.asked)
            two = editor.begin(session, "Do not, please.")
            assert [(await each)["stopReason"] for each in (one, two)] == ["end_turn", "end_turn"]
            assert any(one.get("method") == "$/cancel_request" for one in editor.said)
        assert await results(place) == [CallStatus.REFUSED]


def asking(**question: Any) -> list[Step]:
    """The model asks the person, then says it is done."""
    return [call("ask_user", question), say("Thank you.")]


COLOUR = {"question": "Which colour?", "choices": ["red", "blue"]}


async def answered(place: Place) -> str:
    """What the model was told."""
    [finished] = [fact for fact in await place.facts() if isinstance(fact, e.ToolFinished)]
    return "".join(getattr(part, "text", "") for part in finished.parts)


@pytest.mark.parametrize(
    ("question", "content", "told"),
    [
        (COLOUR, {"answer": "blue"}, "The user answered: blue"),
        (COLOUR, {"answer": "blue", "words": "violet"}, "The user answered: violet"),
        ({"question": "Who are you?"}, {"answer": "Ada"}, "The user answered: Ada"),
        ({"question": "Who are you?"}, {}, "no answer in words"),
    ],
)
async def test_the_models_own_question_is_a_form(tmp_path: Path, question: Any, content: Any, told: str) -> None:
    async with ModelServer(by_replies(asking(**question))) as server:
        place = first(server, tmp_path)
        form = {"elicitation/create": lambda _: {"action": "accept", "content": content}}
        async with Editor(place, form) as editor:
            await editor.hello(elicitation={"form": {}})
            assert await editor.prompt(await editor.new(), "Go") == "end_turn"
            assert editor.asked[0]["params"]["message"] == question["question"]
        assert told in await answered(place)


@pytest.mark.parametrize("action", ["decline", "cancel", "_something_new"])
async def test_a_form_that_is_not_filled_in_is_no_answer(tmp_path: Path, action: str) -> None:
    async with ModelServer(by_replies(asking(**COLOUR))) as server:
        place = first(server, tmp_path)
        async with Editor(place, {"elicitation/create": lambda _: {"action": action}}) as editor:
            await editor.hello(elicitation={"form": {}})
            assert await editor.prompt(await editor.new(), "Go") == "end_turn"
        assert await results(place) == [CallStatus.REFUSED]


async def test_without_forms_a_choice_is_put_as_options(tmp_path: Path) -> None:
    def blue(params: dict[str, Any]) -> Any:
        [option] = [one["optionId"] for one in params["options"] if one["name"] == "blue"]
        return {"outcome": {"outcome": "selected", "optionId": option}}

    async with ModelServer(by_replies(asking(**COLOUR))) as server:
        place = first(server, tmp_path)
        async with Editor(place, {PERMISSION: blue}) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Go") == "end_turn"
        assert "The user answered: blue" in await answered(place)


async def test_without_forms_an_open_question_is_text_and_the_next_prompt_answers_it(tmp_path: Path) -> None:
    async with ModelServer(by_replies(asking(question="Who are you?"))) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            assert await editor.prompt(session, "Go") == "end_turn"
            assert "Who are you?" in editor.text()
            assert await editor.prompt(session, "I am Ada.") == "end_turn"
            assert editor.text().endswith("Thank you.")
            assert not editor.asked
        assert "The user answered: I am Ada." in await answered(place)
        assert sum(isinstance(fact, e.UserSaid) for fact in await place.facts()) == 1


async def test_an_open_question_is_put_again_when_the_session_is_opened_again(tmp_path: Path) -> None:
    async with ModelServer(AGAIN) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            editor.begin(session, "Write.")
            await editor.until(lambda editor: editor.asked)
        async with Editor(place, {PERMISSION: choose("allow_once")}) as editor:
            await editor.hello()
            await editor.load(session)
            await editor.until(lambda editor: editor.text().endswith("Written."))
        assert await results(place) == [CallStatus.OK]


@pytest.mark.parametrize(
    "command",
    [
        "touch MARK #" + "\b" * 40 + "ls -la",
        "ls\n```\n**nothing**\nrm -rf TAIL",
        "ls # " + "x" * 200_000 + " rm -rf TAIL",
    ],
    ids=["hiding", "markup", "huge"],
)
async def test_a_question_holds_the_whole_command_in_its_content_and_a_short_title(
    tmp_path: Path, command: str
) -> None:
    async with ModelServer(by_replies([call("shell", {"command": command}), say("Left alone.")])) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Editor(place, {PERMISSION: choose("reject_once")}) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "List.") == "end_turn"
            [asked] = editor.asked
    about = asked["params"]["toolCall"]
    content = about["content"][0]["content"]["text"]
    assert "".join(unambiguous(command).split()) in "".join(content.split())
    assert len(about["title"]) < 600
    assert "\b" not in about["title"] + content
    if "```" in command:
        assert "````" in content


async def test_what_a_lasting_yes_covers_is_shown_with_nothing_hidden(tmp_path: Path) -> None:
    command = {"command": "python3 tool\u202e.py"}
    async with ModelServer(by_replies([call("shell", command), say("Left alone.")])) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Editor(place, {PERMISSION: choose("reject_once")}) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Run.") == "end_turn"
            [asked] = editor.asked
    names = [option["name"] for option in asked["params"]["options"]]
    assert not any("\u202e" in name for name in names)
    assert all("tool⟨U+202E⟩.py" in name for name in names if ": " in name)


async def test_a_call_that_would_do_something_else_by_now_is_asked_about_anew_and_the_first_yes_is_no_yes_to_it(
    tmp_path: Path,
) -> None:
    """A link leads elsewhere by the time of the answer; the first question still stands in another window."""
    async with ModelServer(by_replies([call("write", {"path": "link/x.txt", "content": "x"}), say("Left.")])) as server:
        place = first(server, tmp_path, sets=ASKING)
        for name in ("first", "second"):
            (place.workspace / name).mkdir()
        (link := place.workspace / "link").symlink_to("first")
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            turn = editor.begin(session, "Write.")
            await editor.until(lambda editor: editor.asked)
            assert "first/x.txt" in str(editor.asked[0]["params"])
            log = editor._agent._open[session].session
            [question] = log.questions()
            link.unlink()
            link.symlink_to("second")
            editor.reply(editor.asked[0], choose("allow_once")(editor.asked[0]["params"]))
            await editor.until(lambda editor: len(editor.asked) == 2)
            assert "second/x.txt" in str(editor.asked[1]["params"])
            editor.reply(editor.asked[0], choose("allow_once")(editor.asked[0]["params"]))
            with suppress(BadInput):
                await log.approve(question, by=OWNER)
            editor.reply(editor.asked[1], choose("reject_once")(editor.asked[1]["params"]))
            assert (await turn)["stopReason"] == "end_turn"
        assert await results(place) == [CallStatus.REFUSED]
    assert not [*place.workspace.rglob("x.txt")]
