"""A step of a small model: what it is shown, what it may write, and what is not done as it wrote it."""

import json
from typing import Any

from angelia.context.request import RequestMessage, Result, Role
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ids import CallId
from angelia.models.local.steps import (
    EXAMPLES,
    FOLDER,
    SAY,
    CurrentTurn,
    NextStep,
    StepDone,
    current_turn,
    label_grammar,
    parsed_step,
    repeats,
    static_chat,
    step_chat,
    step_grammar,
)
from angelia.models.local.verification import names_file
from tests.models.local_requests import said

TOOLS = ("shell", "read", "write", "edit", "send_file", "fetch")
LISTED = StepDone("read", {"path": FOLDER}, True, "/w/ (3 entries)\na.txt\t4 bytes\nb.md\t9 bytes\nsub/")


def done(*steps: StepDone, wish: str = "Do it") -> CurrentTurn:
    """A turn in which the folder was looked at."""
    return CurrentTurn(wish, (LISTED, *steps), shows_media=False)


def made(seq: int, tool: str, **arguments: Any) -> RequestMessage:
    """A call."""
    call = ToolCall(CallId(f"c{seq}"), tool, json.dumps(arguments))
    return RequestMessage(seq, Role.ASSISTANT, (call,), "local")


def came(seq: int, text: str, status: CallStatus = CallStatus.OK) -> RequestMessage:
    """What came of it."""
    return RequestMessage(seq + 1, Role.TOOL, (Result(CallId(f"c{seq}"), "read", status, (Text(text),)),))


def test_a_turn_is_what_was_said_last_and_what_was_done_about_it() -> None:
    messages = [said("Before"), made(2, "read", path="b.md"), came(2, "old"), said("Now"), said("please")]
    messages += [made(6, "read", path="a.txt"), came(6, "1\teggs\n2\tmilk")]
    turn = current_turn(messages)
    assert turn.wish == "Now\nplease"
    assert [(one.tool, one.ok) for one in turn.done] == [("read", True)]
    assert turn.holds("a.txt") == "eggs\nmilk"
    assert turn.holds("b.md") is None


def test_results_of_changes_show_what_the_file_holds_now() -> None:
    messages = [said("Replace milk by tea"), made(2, "read", path="a.txt"), came(2, "1\teggs\n2\tmilk")]
    messages += [made(4, "edit", path="a.txt", old="milk", new="tea"), came(4, "Edited a.txt.")]
    chat = step_chat(current_turn(messages), messages)
    assert chat[-1] == {"role": "user", "content": "Done. a.txt now holds:\neggs\ntea"}
    assert chat[-3] == {"role": "user", "content": "a.txt holds:\neggs\nmilk"}


def test_every_prompt_begins_with_the_same_words() -> None:
    one = step_chat(done(), [said("Do it")])
    other = step_chat(CurrentTurn("Something else", (), shows_media=False), [said("Something else")])
    begins = static_chat()
    assert one[: len(begins)] == other[: len(begins)] == begins


def test_the_examples_show_questions_that_are_answered_in_words_though_there_are_files() -> None:
    firsts = [(asked, parsed_step(step)) for asked, step in EXAMPLES if asked.startswith("Files: ")]
    in_words = [step.words for asked, step in firsts if step.label == SAY and not names_file(asked.partition("\n")[2])]
    assert len(in_words) >= 3, "without them half of all plain questions are looked up"


def test_what_is_read_changed_and_sent_is_there() -> None:
    grammar = step_grammar(done(), TOOLS)
    assert 'path ::= "\\"a.txt\\"" | "\\"b.md\\""' in grammar
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines())
    assert rules["root"] == "run | read | write | edit | send | say"
    assert " path " in rules["edit"]
    assert " path " not in rules["write"], "a file that is not there yet can be written"


def test_after_many_steps_it_can_only_say() -> None:
    assert step_grammar(done(), TOOLS, act=False).splitlines()[0] == "root ::= say"


def test_only_tools_of_the_request_are_offered() -> None:
    assert label_grammar(["read", "fetch"]) == 'root ::= "read: " | "say: "'


def test_a_step_is_read_back() -> None:
    assert parsed_step('run: {"command": "ls"}') == NextStep("run", {"command": "ls"})
    assert parsed_step("say: It is: Friday") == NextStep("say", {}, "It is: Friday")
    assert parsed_step('write: {"path": "a", "con').arguments == {}


def test_the_same_call_is_not_made_twice_unless_something_changed() -> None:
    read = StepDone("read", {"path": "a.txt"}, True, "1\teggs")
    again = NextStep("read", {"path": "a.txt"})
    assert repeats(again, done(read))
    assert not repeats(again, done(read, StepDone("edit", {"path": "a.txt", "old": "e", "new": "f"}, True, "")))
    assert not repeats(NextStep("read", {"path": "b.md"}), done(read))
    write = StepDone("write", {"path": "c", "content": "x"}, True, "")
    assert repeats(NextStep("write", {"path": "c", "content": "x"}), done(write))


def ran(command: str) -> StepDone:
    return StepDone("shell", {"command": command}, True, "eggs\n[exit status 0]")


def test_the_model_reads_that_a_file_is_as_it_was_where_a_command_only_printed_it() -> None:
    chat = step_chat(done(ran("sed '/bread/d' a.txt"), wish="Remove bread from a.txt"), [])
    assert chat[-1]["content"] == "eggs\n(That only printed: a.txt is as it was.)"
