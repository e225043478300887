"""Programs of the person's: a guard that breaks refuses, an observer changes nothing, and each run is a fact."""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.entry import HookOutcome
from angelia.faces.cli.checkup.check_result import CheckState
from angelia.faces.cli.checkup.hooks import look_at_hooks
from angelia.service.hooks.answers import HookAnswer, ProgramEnd, guard_answer
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

WRITES = [call("write", {"path": "cup", "content": "tea"}), say("Done.")]

DENY = '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no tea"}}'
ASK = DENY.replace("deny", "ask")


def decision(word: str, **more: object) -> bytes:
    specific = {"permissionDecision": word, "permissionDecisionReason": "because", **more}
    return json.dumps({"hookSpecificOutput": specific}).encode()


@pytest.mark.parametrize(
    ("ended", "came"),
    [
        (ProgramEnd(0, b"", b""), HookOutcome.PASSED),
        (ProgramEnd(0, b"{}", b""), HookOutcome.PASSED),
        (ProgramEnd(0, decision("allow"), b""), HookOutcome.PASSED),
        (ProgramEnd(0, decision("deny"), b""), HookOutcome.REFUSED),
        (ProgramEnd(0, decision("ask"), b""), HookOutcome.ASKED),
        (ProgramEnd(0, b'{"decision": "block", "reason": "x"}', b""), HookOutcome.REFUSED),
        (ProgramEnd(0, b'{"decision": "approve"}', b""), HookOutcome.PASSED),
        (ProgramEnd(0, b'{"continue": false, "stopReason": "x"}', b""), HookOutcome.REFUSED),
        (ProgramEnd(2, decision("allow"), b"stop"), HookOutcome.REFUSED),
        (ProgramEnd(1, b"", b"Traceback"), HookOutcome.FAILED),
        (ProgramEnd(127, b"", b"not found"), HookOutcome.FAILED),
        (ProgramEnd(-9, b"", b""), HookOutcome.FAILED),
        (ProgramEnd(0, b"fine", b""), HookOutcome.FAILED),
        (ProgramEnd(0, b"[]", b""), HookOutcome.FAILED),
        (ProgramEnd(0, b"\xff\xfe", b""), HookOutcome.FAILED),
        (ProgramEnd(0, decision("perhaps"), b""), HookOutcome.FAILED),
        (ProgramEnd(0, b'{"decision": true}', b""), HookOutcome.FAILED),
        (ProgramEnd(0, decision("allow", updatedInput={"path": "x"}), b""), HookOutcome.FAILED),
    ],
)
def test_what_a_guard_does_is_a_decision_or_a_failure(ended: ProgramEnd, came: HookOutcome) -> None:
    answer = guard_answer(ended)
    assert answer.came is came
    assert answer.why or came is HookOutcome.PASSED


@asynccontextmanager
async def hooked(
    tmp_path: Path, hooks: Mapping[str, Mapping[str, object]], replies: Sequence[Step]
) -> AsyncIterator[Conversation]:
    """A conversation with these hooks; whatever is told to one is kept in the file of its name."""
    async with (
        ModelServer(by_replies([*replies])) as server,
        conversation(place_with(tmp_path, server, hooks)) as talk,
    ):
        yield talk


def place_with(tmp_path: Path, server: ModelServer, hooks: Mapping[str, Mapping[str, object]]) -> Place:
    """A home with these hooks."""
    place = Place(tmp_path, server)
    place.home.mkdir(exist_ok=True)
    sections = [
        "\n".join([f"[hooks.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in hook.items())])
        for name, hook in hooks.items()
    ]
    (place.home / "config.toml").write_text("\n".join(sections))
    return place


def program(tmp_path: Path, name: str, *, says: str = "", status: int = 0) -> str:
    """A command line that keeps what it is told, a line each, and says this."""
    script = tmp_path / f"{name}.py"
    script.write_text(
        "import sys\n"
        f"open({str(tmp_path / name)!r}, 'a').write(sys.stdin.read() + '\\n')\n"
        f"print({says!r}, end='')\nsys.exit({status})\n"
    )
    return f"{sys.executable} {script}"


def told(tmp_path: Path, name: str) -> list[dict[str, object]]:
    """What it was told, in order."""
    return [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]


async def turn(talk: Conversation) -> e.ToolFinished:
    await talk.say("make tea")
    await talk.ending()
    return talk.facts(e.ToolFinished)[-1]


async def test_a_guard_is_told_of_a_call_before_it_and_lets_it_pass(tmp_path: Path) -> None:
    hooks = {"look": {"at": "before-call", "command": program(tmp_path, "look")}}
    async with hooked(tmp_path, hooks, WRITES) as talk:
        assert (await turn(talk)).status is CallStatus.OK
        [about] = told(tmp_path, "look")
        assert about["hook_event_name"] == "PreToolUse"
        assert (about["tool_name"], about["tool_input"]) == ("write", {"path": "cup", "content": "tea"})
        assert about["session_id"] == talk.session.conversation
        kinds = [type(entry.fact) for entry in talk.session.log.entries]
        assert kinds.index(e.HookRan) < kinds.index(e.ToolStarted), "it is a fact before anything is run"


@pytest.mark.parametrize(
    ("says", "status", "why"),
    [
        (DENY, 0, "the hook look refuses it: no tea"),
        ("", 2, "the hook look refuses it: it gave no reason"),
        ("", 1, "could not judge it (it ended with status 1"),
        ("yes", 0, "it answered what is no decision: yes"),
    ],
)
async def test_a_guard_that_refuses_or_breaks_keeps_the_call_from_running_and_the_model_reads_why(
    tmp_path: Path, says: str, status: int, why: str
) -> None:
    hooks = {"look": {"at": "before-call", "command": program(tmp_path, "look", says=says, status=status)}}
    async with hooked(tmp_path, hooks, WRITES) as talk:
        result = await turn(talk)
        assert result.status is CallStatus.REFUSED
        assert why in str(result.parts)
        assert not (Path(talk.session.workspace) / "cup").exists()
        assert not talk.facts(e.ToolStarted)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/nowhere/at/all", "status 127"),
        ("sleep 60 & sleep 60", "it was not done after 0.3 s"),
        ("head -c 200000 /dev/zero", "it wrote more than 65,536 bytes"),
        ("kill -9 $$", "signal 9"),
    ],
)
async def test_a_guard_that_cannot_be_run_to_its_end_refuses(tmp_path: Path, command: str, why: str) -> None:
    hooks = {"look": {"at": "before-call", "command": command, "seconds": 0.3 if "sleep" in command else 20.0}}
    async with hooked(tmp_path, hooks, WRITES) as talk:
        assert why in str((await turn(talk)).parts)
        assert not talk.facts(e.ToolStarted)


async def test_a_guard_that_asks_has_a_call_refused_where_nobody_is_there_to_say_yes(tmp_path: Path) -> None:
    hooks = {"look": {"at": "before-call", "command": program(tmp_path, "look", says=ASK)}}
    async with hooked(tmp_path, hooks, WRITES) as talk:
        assert "nobody is here who could give it" in str((await turn(talk)).parts)
        assert [one.came for one in talk.facts(e.HookRan)] == [HookOutcome.ASKED]


async def test_a_guard_allows_nothing_that_the_policy_denies_and_is_asked_of_its_own_tools_alone(
    tmp_path: Path,
) -> None:
    allow = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}})
    hooks: dict[str, dict[str, object]] = {
        "yes": {"at": "before-call", "command": program(tmp_path, "yes", says=allow)},
        "other": {"at": "before-call", "command": "exit 2", "tools": ["shell", "mcp_*"]},
    }
    outside = [call("write", {"path": "/etc/cup", "content": "tea"}), say("Well.")]
    async with hooked(tmp_path, hooks, [*outside, *WRITES]) as talk:
        assert (await turn(talk)).status is CallStatus.REFUSED
        assert not (tmp_path / "yes").exists(), "what is denied in any case is asked of nobody"
        assert (await turn(talk)).status is CallStatus.OK


async def test_observers_are_told_of_message_call_and_ending_and_change_nothing(tmp_path: Path) -> None:
    hooks = {
        name: {"at": name, "command": program(tmp_path, name, says=DENY)}
        for name in ("message", "after-call", "ending")
    }
    async with hooked(tmp_path, hooks, WRITES) as talk:
        assert (await turn(talk)).status is CallStatus.OK
        await talk.app.conversations.leave(talk.session)
        [message], [after], [ending] = (told(tmp_path, name) for name in hooks)
        assert (message["hook_event_name"], message["prompt"]) == ("UserPromptSubmit", "make tea")
        assert after["hook_event_name"] == "PostToolUse"
        assert after["tool_response"]["status"] == "ok"  # type: ignore[index]
        assert (ending["hook_event_name"], ending["ending"]) == ("Stop", "Answered")
        assert ending["last_assistant_message"] == "Done."
        runs = talk.facts(e.HookRan)
        assert [(one.event, one.came) for one in runs] == [
            (e.HookEvent.MESSAGE, HookOutcome.PASSED),
            (e.HookEvent.AFTER_CALL, HookOutcome.PASSED),
            (e.HookEvent.ENDING, HookOutcome.PASSED),
        ]
        assert talk.session.log.entries[int(runs[0].about) - 1].fact in talk.facts(e.UserSaid)


async def test_an_observer_that_breaks_stops_nothing_and_is_told_of_once(tmp_path: Path) -> None:
    hooks = {"look": {"at": "after-call", "command": "echo oh no >&2; exit 3"}}
    async with hooked(tmp_path, hooks, [*WRITES[:1], *WRITES]) as talk:
        chat = e.Address("telegram", "7")
        await talk.session.say([Text("make tea")], address=chat)
        await talk.ending()
        await talk.app.conversations.leave(talk.session)
        assert talk.words() == ["Done."]
        assert [one.came for one in talk.facts(e.HookRan)] == [HookOutcome.FAILED] * 2
        [notice] = [fact for fact in talk.facts(e.DeliveryQueued) if fact.origin == "notice"]
        assert notice.address == chat
        assert "The hook look (after-call) broke: it ended with status 3: oh no" in str(notice.parts)


async def test_what_the_log_says_was_told_is_not_told_again_by_the_next_life(tmp_path: Path) -> None:
    hooks = {name: {"at": name, "command": program(tmp_path, name)} for name in ("message", "ending")}
    async with ModelServer(by_replies([say("Hello."), say("Again.")])) as server:
        place = place_with(tmp_path, server, hooks)
        for again in (False, True):
            async with conversation(place, again=again) as talk:
                await talk.say("hello")
                await talk.ending()
        assert [len(told(tmp_path, name)) for name in hooks] == [2, 2]


@pytest.mark.parametrize("point", ["hook.judged:1", "hook.ran:1"])
async def test_killed_at_a_hook_the_call_is_judged_again_and_runs_once(tmp_path: Path, point: str) -> None:
    hooks = {name: {"at": name, "command": program(tmp_path, name)} for name in ("message", "before-call", "ending")}
    async with ModelServer(by_replies(WRITES)) as server:
        place = place_with(tmp_path, server, hooks)
        run = await place.ask("make tea", at=point)
        assert point in run.passed
        async with conversation(place, again=True) as talk:
            await talk.ending()
            await talk.app.conversations.leave(talk.session)
            assert [len(talk.facts(kind)) for kind in (e.ToolStarted, e.TurnClosed)] == [1, 1]
            assert [one.hook for one in talk.facts(e.HookRan)] == ["message", "before-call", "ending"]
        assert (place.workspace / "cup").read_text() == "tea"


async def test_doctor_fires_each_with_a_probe_and_says_what_a_broken_one_does(tmp_path: Path) -> None:
    hooks: dict[str, dict[str, object]] = {
        "good": {"at": "before-call", "command": program(tmp_path, "good", says=DENY), "tools": ["fetch"]},
        "gone": {"at": "before-call", "command": "/nowhere"},
        "deaf": {"at": "ending", "command": "exit 1"},
    }
    async with hooked(tmp_path, hooks, WRITES) as talk:
        found = [one async for one in look_at_hooks(talk.app)]
        assert [one.state for one in found] == [CheckState.WELL, CheckState.BROKEN, CheckState.BROKEN]
        assert "answers a probe with “refused” (no tea)" in found[0].seen
        assert "refuses every call that it judges" in found[1].seen
        assert "is told of nothing" in found[2].seen
        [probe] = told(tmp_path, "good")
        assert (probe["probe"], probe["tool_name"]) == (True, "fetch")


def test_a_reason_is_one_line_and_of_bounded_length() -> None:
    answer = guard_answer(ProgramEnd(2, b"", b"a\x1b[31m\n" * 5000))
    assert answer == HookAnswer(HookOutcome.REFUSED, answer.why)
    assert len(answer.why) <= 301
    assert "\n" not in answer.why
