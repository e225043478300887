"""Another agent does a task: what it wants done is a call of its conversation, judged, recorded and answered."""

import shlex
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, ToolCall
from angelia.core.principal import OWNER
from angelia.policy.approvers import nobody
from angelia.testing.model.steps import call, say
from tests.delegation.family import WAIT, child_log, until, words
from tests.workers.employed import FREE, TASK, Script, answers, employed, ended, heard, until_it_runs, until_it_writes

pytestmark = pytest.mark.anyio


async def test_what_it_reads_writes_and_runs_goes_through_us_and_its_last_words_are_the_answer(tmp_path: Path) -> None:
    steps: Script = [
        ["say", "I look."],
        ["read", "counter.txt"],
        ["write", "counter.txt", "2\n"],
        ["run", "cat", ["counter.txt"]],
        ["cost", 0.125],
        ["say", "The counter is 2 now."],
        ["end", "end_turn"],
    ]
    (tmp_path / "workspace").mkdir(parents=True)
    (tmp_path / "workspace" / "counter.txt").write_text("1\n")
    async with employed(tmp_path, steps) as talk:
        over = await ended(talk)
        assert (words(over), over.status) == ("The counter is 2 now.", CallStatus.OK)
        assert over.child == e.ChildEnd(end.Answered(), 125_000, 5), "the one price that it told is of all that it did"
        facts = await child_log(talk)
    told = [one["method"] for one in heard(tmp_path) if "method" in one]
    assert told == ["initialize", "session/new", "session/prompt"]
    assert TASK in heard(tmp_path)[2]["params"]["prompt"][0]["text"]
    read, written, opened, exit_, shown, released = answers(tmp_path)
    assert (read, written, released) == ({"content": "1\n"}, {}, {})
    assert (exit_["exitCode"], shown["output"], shown["exitStatus"]["exitCode"]) == (0, "2\n", 0)
    assert opened["terminalId"]
    assert (tmp_path / "workspace" / "counter.txt").read_text() == "2\n"
    calls = [
        part.name
        for fact in facts
        if isinstance(fact, e.ModelSaid)
        for part in fact.parts
        if isinstance(part, ToolCall)
    ]
    assert calls == ["start_worker", "read", "write", "shell"]
    (diff,) = [diff for fact in facts if isinstance(fact, e.ToolFinished) for diff in fact.diffs]
    assert (diff.old, diff.new) == ("1\n", "2\n")
    assert [shlex.split(fact.what)[-1] for fact in facts if isinstance(fact, e.WorkStarted)] == [
        str(tmp_path / "workspace" / ".coder.json"),
        "counter.txt",
    ]
    assert sum(isinstance(fact, e.WorkEnded) for fact in facts) == 2, "nothing goes on after its end"


async def test_what_it_did_by_itself_is_told_in_its_own_words_and_marked_as_such(tmp_path: Path) -> None:
    told = {
        "title": "Edit counter.txt",
        "kind": "edit",
        "content": [{"type": "diff", "path": "/w/counter.txt", "oldText": "1", "newText": "2"}],
        "locations": [{"path": "/w/counter.txt"}],
    }
    steps: Script = [["think", "Hm."], ["step", told], ["say", "Done."], ["end", "end_turn"]]
    async with employed(tmp_path, steps) as talk:
        assert words(await ended(talk)) == "Done."
        facts = await child_log(talk)
    (finished,) = [fact for fact in facts if isinstance(fact, e.ToolFinished) and fact.diffs]
    assert [part.text for part in finished.parts if hasattr(part, "text")] == ["by its own account: ok"]
    assert [(diff.path, diff.old, diff.new) for diff in finished.diffs] == [("/w/counter.txt", "1", "2")]


ENDS: dict[str, tuple[Script, end.WorkerFate, str]] = {
    "it refuses": ([["say", "No."], ["end", "refusal"]], end.WorkerFate.REFUSED, "No."),
    "its length limit": ([["say", "And"], ["end", "max_tokens"]], end.WorkerFate.CUT_OFF, "And"),
    "its steps": ([["end", "max_turn_requests"]], end.WorkerFate.OUT_OF_STEPS, ""),
    "a stop that nobody asked for": ([["end", "cancelled"]], end.WorkerFate.CANCELLED, ""),
    "an end that there is not": ([["end", "sleepy"]], end.WorkerFate.NONSENSE, "'sleepy'"),
    "no words": ([["think", "Hm."], ["end", "end_turn"]], end.WorkerFate.EMPTY, ""),
    "an end while it asks": ([["leave", "rm"], ["say", "x"], ["end", "end_turn"]], end.WorkerFate.UNFINISHED, ""),
    "an error": ([["fault", -32603, "it broke"]], end.WorkerFate.FAILED, "it broke"),
    "no login": ([["login"]], end.WorkerFate.LOGIN, "Authentication required"),
    "another version": ([["version", 7]], end.WorkerFate.NOT_SPOKEN, "version 7"),
    "its death": ([["say", "I"], ["die", 3]], end.WorkerFate.DIED, "status 3, after it wrote: nothing works any more"),
    "garbage": ([["garbage", 30]], end.WorkerFate.NONSENSE, "warning 20"),
    "a message without end": ([["long", 21_000_000]], end.WorkerFate.FLOODED, "at most 20 MB"),
    "an answer without end": ([["flood", 1_100_000]], end.WorkerFate.FLOODED, "1,000,000 characters"),
}


@pytest.mark.parametrize("how", ENDS)
async def test_an_end_that_is_no_answer_has_a_name_and_is_told_once(tmp_path: Path, how: str) -> None:
    steps, fate, said = ENDS[how]
    async with employed(tmp_path, steps) as talk:
        over = await ended(talk)
        assert over.status is CallStatus.ERROR
        assert over.child
        assert isinstance(over.child.ending, end.WorkerFailed)
        assert (over.child.ending.worker, over.child.ending.fate) == ("acp:coder", fate)
        assert said in over.child.ending.said
        assert words(over).startswith("acp:coder ")
        facts = await child_log(talk)
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1
    begun = [fact.call for fact in facts if isinstance(fact, e.WorkStarted)]
    assert begun == [fact.call for fact in facts if isinstance(fact, e.WorkEnded)], "its program has ended"


async def test_a_program_that_is_not_there_is_told_as_that(tmp_path: Path) -> None:
    sets = (*FREE, 'helpers.other.command=["/there/is/none"]')
    async with employed(tmp_path, [], sets=sets, helper="other") as talk:
        over = await ended(talk)
        assert over.child
        assert isinstance(over.child.ending, end.WorkerFailed)
        assert over.child.ending.fate is end.WorkerFate.NOT_STARTED
        assert "/there/is/none" in over.child.ending.said


async def test_what_it_is_told_meanwhile_it_does_once_it_has_ended_the_first_task(tmp_path: Path) -> None:
    busy = ["run", "until [ -e go ]; do sleep 0.02; done", []]
    steps: Script = [busy, ["say", "One."], ["end", "end_turn"], ["say", "Two."], ["end", "end_turn"]]
    tell = call("helper", {"action": "tell", "names": ["h1"], "text": "and the other one"})
    async with employed(tmp_path, steps, more=(say("Begun."), tell, WAIT)) as talk:
        assert await talk.ending() == end.Answered(), "it goes on while its conversation rests"
        await until_it_runs(talk)
        await talk.say("Begin the other one, too.")
        await until(talk, lambda: len(talk.facts(e.ToolFinished)) == 2)
        (tmp_path / "workspace" / "go").touch()
        assert words(await ended(talk)) == "One.\n\nTwo."
    prompts = [one["params"]["prompt"][0]["text"] for one in heard(tmp_path) if one.get("method") == "session/prompt"]
    assert [TASK in prompts[0], prompts[1:]] == [True, ["and the other one"]]


@pytest.mark.parametrize(("yes", "chosen", "said"), [(True, "now", "Moved."), (False, "never", "It was refused.")])
async def test_its_permission_requests_are_put_to_the_person_under_its_name_and_never_answered_for_longer(
    tmp_path: Path, yes: bool, chosen: str, said: str
) -> None:
    steps: Script = [["ask", "Move the counter", "edit"], ["say", "Moved."], ["end", "end_turn"]]
    async with employed(tmp_path, steps) as talk:
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        assert (asked.call.partition(".")[0], "Move the counter" in asked.question) == ("h1", True)
        await (talk.session.approve if yes else talk.session.refuse)(asked, by=OWNER)
        assert words(await ended(talk)) == said
    assert answers(tmp_path) == [{"outcome": {"outcome": "selected", "optionId": chosen}}]


async def test_where_nobody_can_be_asked_its_permission_requests_are_refused(tmp_path: Path) -> None:
    steps: Script = [["ask", "Move the counter", "edit"], ["end", "end_turn"]]
    async with employed(tmp_path, steps, approvers=nobody) as talk:
        assert words(await ended(talk)) == "It was refused."


async def test_it_is_started_as_any_command_is_only_after_a_yes(tmp_path: Path) -> None:
    steps: Script = [["touch", "moved"], ["say", "Moved."], ["end", "end_turn"]]
    async with employed(tmp_path, steps, sets=("sandbox.confine=off", "policy.mode=ask")) as talk:
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        assert "scripted.py" in asked.question
        await talk.session.refuse(asked, by=OWNER)
        over = await ended(talk)
        assert over.child
        assert isinstance(over.child.ending, end.WorkerFailed)
        assert over.child.ending.fate is end.WorkerFate.NOT_STARTED
    assert not (tmp_path / "workspace" / "moved").exists()


async def test_one_that_is_stopped_is_told_so_and_ends(tmp_path: Path) -> None:
    async with employed(tmp_path, [["touch", "moved"], ["say", "x"], ["wait"]]) as talk:
        await until_it_writes(talk)
        await talk.session.stop(OWNER)
        over = await ended(talk)
        assert over.child
        assert isinstance(over.child.ending, end.Cancelled)
    assert [one.get("method") for one in heard(tmp_path)][-1] == "session/cancel"
    assert (tmp_path / "workspace" / "moved").read_text() == "x\n", "what it did stands"


async def test_one_of_which_nothing_is_heard_is_ended_and_that_is_told(tmp_path: Path) -> None:
    sets = (*FREE, "delegation.silent_minutes=0.01")
    async with employed(tmp_path, [["say", "x"], ["hang"]], sets=sets) as talk:
        over = await ended(talk)
        assert over.child
        assert isinstance(over.child.ending, end.Stalled)
