"""What a small model would do to files that nobody asked for, and what becomes of it."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
import pytest

from angelia.context.request import RequestMessage, Result, Role
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ids import CallId
from angelia.models.local.provider import LocalSession, local_profile
from angelia.models.local.steps import CurrentTurn, NextStep, StepDone, current_turn
from angelia.models.local.unasked import changed_files, unnamed_change, unnamed_loss, unspoken_file
from tests.models.local_requests import FOLDER, NOBODY, reply, request, said, the_secret, tool

IN_FOLDER = "/w/ (5 entries)\na.txt\t4 bytes\nb.md\t9 bytes\nshopping-list.txt\t9 bytes\nsub/\nlink.txt@"
LISTED = StepDone("read", {"path": "."}, True, IN_FOLDER)


def done(*steps: StepDone, wish: str = "Do it", before: str = "") -> CurrentTurn:
    """A turn in which the folder was looked at."""
    return CurrentTurn(wish, (LISTED, *steps), shows_media=False, before=before)


def write(path: str) -> NextStep:
    return NextStep("write", {"path": path, "content": "x"})


def edit(path: str) -> NextStep:
    return NextStep("edit", {"path": path, "old": "milk", "new": "tea"})


def run(command: str) -> NextStep:
    return NextStep("run", {"command": command})


@pytest.mark.parametrize(
    ("step", "wish", "before", "refused"),
    [
        (write("a.txt"), "Give me a name for a cat", "", "a.txt"),
        (edit("a.txt"), "Give me a name for a cat", "", "a.txt"),
        (run("echo Tom >> a.txt"), "Give me a name for a cat", "", "a.txt"),
        (run("ls | tee -a a.txt"), "What is here?", "", "a.txt"),
        (run("sed -i 's/milk/tea/' a.txt"), "What is tea?", "", "a.txt"),
        (run("sort b.md -o b.md"), "Sort a.txt", "", "b.md"),
        (run("cp a.txt ./b.md"), "Copy a.txt", "", "b.md"),
        (edit("b.md"), "Replace milk by tea in ab.md", "", "b.md"),
        (edit("b.md"), "Replace milk by tea in b.md", "", ""),
        (edit("b.md"), "把B.MD里的milk改成tea", "", ""),
        (edit("shopping-list.txt"), "Put tea on the shopping list", "", ""),
        (edit("shopping-list.txt"), "Put tea on the list", "", "shopping-list.txt"),
        (edit("b.md"), "Now make it tea", "What is in b.md?\nMilk.", ""),
        (run("cat a.txt; sort a.txt; awk '$1 > 5' a.txt; wc -l a.txt 2>/dev/null"), "Look around", "", ""),
        (run("echo 'no end"), "Look around", "", ""),
    ],
)
def test_a_file_that_is_there_is_changed_only_where_somebody_spoke_of_it(
    step: NextStep, wish: str, before: str, refused: str
) -> None:
    assert unspoken_file(step, done(wish=wish, before=before)) == refused


@pytest.mark.parametrize(
    ("step", "wish", "refused"),
    [
        (write("poem.txt"), "Write a short poem about the sea", "poem.txt"),
        (run("echo Lima > answer.txt"), "What is the capital of Peru?", "answer.txt"),
        (run("touch answer.txt"), "What is the capital of Peru?", "answer.txt"),
        (write("poem.txt"), "Write a poem into a file", ""),
        (write("gedicht.txt"), "Schreibe ein Gedicht in eine Datei", ""),
        (write("shi.txt"), "写一首诗，保存到文件", ""),
        (write("poem.txt"), "Write a poem into poem.txt", ""),
        (run("mv a.txt order.txt"), "Rename a.txt to order", ""),
        (write("other.txt"), "Rename a.txt to order", "other.txt"),
        (write("link.txt"), "Write a poem into a file", "link.txt"),
        (write("sub/poem.txt"), "Write a poem into a file", "sub/poem.txt"),
        (write("sub/poem.txt"), "Write a poem into poem.txt in sub", ""),
    ],
)
def test_a_new_file_that_nobody_named_is_made_only_where_one_is_asked_for(
    step: NextStep, wish: str, refused: str
) -> None:
    assert unspoken_file(step, done(wish=wish)) == refused


def test_where_not_all_of_the_folder_was_seen_a_file_has_to_be_spoken_of() -> None:
    look = StepDone("read", {"path": "."}, True, "/w/ (301 entries)\na.txt\t4 bytes\n… (300 more entries)")
    for looked in ((look,), ()):
        assert unspoken_file(write("z.txt"), CurrentTurn("Write a file", looked, shows_media=False)) == "z.txt"


def test_what_was_made_in_the_same_turn_may_be_written_again() -> None:
    made_now = StepDone("write", {"path": "poem.txt", "content": "rose"}, True, "")
    assert unspoken_file(edit("poem.txt"), done(made_now)) == ""


def test_a_command_changes_what_its_words_say() -> None:
    line = "cat a >b && (echo 'x > y' >> c; sort d -o e) | tee f &> g; cp h i; cp j .; perl -pi -e 1 a.txt"
    assert changed_files(run(line), done()) == ["b", "c", "e", "g", "f", "i", "a.txt"]


def test_the_exchange_before_is_what_was_said_and_which_files_were_made() -> None:
    call = ToolCall(CallId("c2"), "write", '{"path": "poem.txt", "content": "rose"}')
    messages = [
        said("About old.txt"),
        RequestMessage(2, Role.ASSISTANT, (Text("Yes."),), "local"),
        said("Make a poem"),
        RequestMessage(3, Role.ASSISTANT, (call,), "local"),
        RequestMessage(4, Role.TOOL, (Result(CallId("c2"), "write", CallStatus.OK, (Text("Created."),)),)),
        RequestMessage(5, Role.ASSISTANT, (Text("I made it."),), "local"),
        said("Add a line"),
    ]
    assert current_turn(messages).before == "Make a poem\nI made it.\npoem.txt"


class ScriptedEngine:
    """Writes what it is given, one text for each request, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), list[Mapping[str, Any]]()

    async def run(self, _: object, beginnings: object, fields: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any]]:
        self.asked.append(fields)
        yield {"choices": [{"delta": {"content": self.texts.pop(0)}, "finish_reason": "stop"}]}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("step", "note"),
    [
        (write("a.txt"), "(a.txt is as it was: I would have written in it, and nobody spoke of it."),
        (run("echo Tom >> a.txt"), "(a.txt is as it was: I would have written in it, and nobody spoke of it."),
        (write("cat.txt"), "(No file was made: I would have written cat.txt, and none was asked for."),
    ],
)
async def test_instead_of_a_change_that_nobody_asked_for_it_says_something(
    step: NextStep, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = f"{step.label}: {msgspec.json.encode(step.arguments).decode()}"
    engine = ScriptedEngine(written, "say: Tom.")
    monkeypatch.setattr("angelia.models.local.provider.ENGINE", engine)
    session = LocalSession(local_profile("smollm2", FOLDER), FOLDER, FOLDER, the_secret)
    look = ToolCall(CallId("c2"), "read", '{"path": "."}')
    messages = [
        said("Give me a name for a pet"),
        RequestMessage(2, Role.ASSISTANT, (look,), "local"),
        RequestMessage(3, Role.TOOL, (Result(look.id, "read", CallStatus.OK, (Text(IN_FOLDER),)),)),
    ]
    tools = (tool("read", "path"), tool("write", "path", "content"), tool("shell", "command"))
    answer = reply([piece async for piece in session.ask(request(*messages, tools=tools), NOBODY)])
    (part,) = answer.parts
    assert isinstance(part, Text)
    assert part.text.startswith(f"Tom.\n{note}")
    assert engine.asked[-1]["grammar"].startswith("root ::= say\n"), "no other step is left to it"


@pytest.mark.parametrize(
    ("command", "wish", "lost"),
    [
        ("rm a.txt", "Delete it", "a.txt"),
        ("rm a.txt", "Delete a.txt", ""),
        ("rm -r *", "Clean up", "rm -r *"),
        ("mv a.txt c.txt", "Rename A.TXT to c.txt", ""),
        ("echo hi > b.md", "Say hi", "b.md"),
        ("echo hi > new.txt", "Say hi", ""),
        ("find . -delete", "Clean up", "find . -delete"),
        ("wc -l a.txt 2>/dev/null", "Count", ""),
        ("cat a.txt", "Show it", ""),
        ("rm b.md", "Delete ab.md", "b.md"),
    ],
)
def test_nothing_is_destroyed_that_nobody_named(command: str, wish: str, lost: str) -> None:
    assert unnamed_loss(NextStep("run", {"command": command}), done(wish=wish)) == lost


SEEN = StepDone("read", {"path": "a.txt"}, True, "1\tmilk\n2\tsalt")
EDIT = {"path": "a.txt", "old": "milk", "new": "tea"}


@pytest.mark.parametrize(
    ("label", "arguments", "wish", "spared"),
    [
        ("edit", EDIT, "Replace milk by tea in a.txt", ""),
        ("edit", EDIT, "把milk改成tea", ""),
        ("edit", EDIT, "What is in a.txt?", "a.txt"),
        ("edit", EDIT, "Take milk out of a.txt", "a.txt"),
        ("edit", {"path": "a.txt", "old": "milk", "new": ""}, "Nimm Milk aus a.txt", ""),
        ("write", {"path": "a.txt", "content": "milk\nsalt\nButter\n"}, "Add butter", ""),
        ("write", {"path": "a.txt", "content": "milk\n"}, "Who wrote a.txt?", "a.txt"),
        ("write", {"path": "new.txt", "content": "anything"}, "Make a poem", ""),
        ("read", {"path": "a.txt"}, "What?", ""),
    ],
)
def test_a_file_that_was_there_is_changed_only_by_what_the_wish_names(
    label: str, arguments: dict[str, str], wish: str, spared: str
) -> None:
    assert unnamed_change(NextStep(label, arguments), done(SEEN, wish=wish)) == spared


def test_what_was_made_in_the_same_turn_may_be_changed_freely() -> None:
    made_now = StepDone("write", {"path": "poem.txt", "content": "rose"}, True, "")
    change = NextStep("edit", {"path": "poem.txt", "old": "rose", "new": "lily"})
    assert unnamed_change(change, done(made_now, wish="Write a poem")) == ""
