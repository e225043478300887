"""Work that is given away: children work side by side, within their parent's rights, and each end is told once."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from angelia.context.system_notes import about_child
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER, Principal
from angelia.policy.approvers import Approvers
from angelia.sandboxes.port import Unreachable
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.session import Session
from angelia.testing.model.steps import Hang, call, calls, say
from tests.delegation.family import WAIT, by_task, child_log, delegate, family, until, words
from tests.skills.folders import write_skill
from tests.store.test_wholeness import tampered

pytestmark = pytest.mark.anyio


async def test_two_children_work_side_by_side_and_what_they_say_reaches_the_parent_once(tmp_path: Path) -> None:
    script = by_task(
        {
            "count the apples": [say("Seven apples.")],
            "count the pears": [say("Two pears.")],
            "How much fruit": [
                delegate("count the apples", "count the pears"),
                WAIT,
                say("Nine."),
            ],
        }
    )
    async with family(tmp_path, script) as (talk, server):
        await talk.say("How much fruit is there?")
        assert await talk.ending() == end.Answered()
        assert talk.words() == ["Nine."]
        ends = talk.facts(e.WorkEnded)
        assert sorted((fact.call, words(fact), fact.status) for fact in ends) == [
            ("h1", "Seven apples.", CallStatus.OK),
            ("h2", "Two pears.", CallStatus.OK),
        ]
        assert all(fact.child and fact.child.ending == end.Answered() for fact in ends)
        last = server.requests[-1].raw.decode()
        assert (last.count("Seven apples."), last.count("Two pears.")) == (1, 1)
        assert not [fact for fact in talk.facts(e.DeliveryQueued) if fact.origin == "notice"], "whoever waits knows"
        assert [one.id for one in await talk.app.transcript.conversations(OWNER)] == [talk.session.conversation]
        assert await talk.app.outbox.pending("parent") == []
        assert talk.session.at_rest


async def test_a_parent_goes_on_and_the_end_of_its_child_is_told_to_the_person_and_with_the_next_message(
    tmp_path: Path,
) -> None:
    go = asyncio.Event()
    script = by_task({"look it up": [say("It is 42.")], "Begin": [delegate("look it up"), say("Begun."), say("42.")]})
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        assert await talk.ending() == end.Answered()
        told = [fact for fact in talk.facts(e.DeliveryQueued) if fact.origin == "notice"]
        assert [getattr(part, "text", "") for fact in told for part in fact.parts] == [
            "The helper h1 (look it up) has answered: It is 42."
        ]
        await talk.say("And?")
        assert await talk.ending() == end.Answered()
        assert "It is 42." in server.requests[-1].raw.decode()
        assert not go.is_set()


async def test_what_is_no_answer_is_not_told_as_one(tmp_path: Path) -> None:
    script = by_task(
        {
            "never done": [call("todo", {"items": []})] * 5,
            "Begin": [delegate({"task": "never done", "max_steps": 2}), WAIT, say("It failed.")],
        }
    )
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        assert ended.child is not None
        assert (ended.status, ended.child.ending, ended.child.steps) == (CallStatus.ERROR, end.StepLimit(2), 2)
        assert "has ended without an answer (StepLimit; 2 model calls" in server.requests[-1].raw.decode()


async def test_files_of_a_child_come_with_their_hashes_and_can_be_sent_on(tmp_path: Path) -> None:
    script = by_task(
        {
            "write the report": [
                call("write", {"path": "report.txt", "content": "forty-two\n"}),
                call("send_file", {"path": "report.txt"}),
                say("Here it is."),
            ],
            "Begin": [delegate("write the report"), WAIT, say("Done.")],
        }
    )
    async with family(tmp_path, script) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        (file,) = (part for part in ended.parts if isinstance(part, Media))
        assert file.name == "report.txt"
        assert f"[file report.txt, 10 bytes, blob:{file.blob.sha256[:12]}, sha256 {file.blob.sha256}]" in words(ended)
        sent = [fact for fact in await child_log(talk) if isinstance(fact, e.DeliverySettled)]
        assert {fact.status for fact in sent} == {e.DeliveryStatus.SENT}
        assert not (tmp_path / "home" / "outbox").exists(), "nothing went to the person by itself"


async def test_a_question_of_a_child_is_put_where_the_parents_would_be_under_its_name(tmp_path: Path) -> None:
    script = by_task(
        {
            "make the file": [call("shell", {"command": "touch made", "reach": "outside"}), say("Made.")],
            "Begin": [delegate("make the file"), WAIT, say("Done.")],
        }
    )
    async with family(tmp_path, script, sets=("policy.mode=ask",)) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        assert asked.question.startswith("[h1] ")
        assert not (tmp_path / "workspace" / "made").exists()
        await talk.session.approve(asked, by=OWNER)
        assert await talk.ending() == end.Answered()
        assert (tmp_path / "workspace" / "made").exists()
        assert talk.session.questions() == []


async def test_a_call_of_a_child_that_would_do_something_else_by_now_is_asked_about_anew(tmp_path: Path) -> None:
    """A link leads elsewhere by the time of the answer: it is another question, and the first yes is none to it."""
    script = by_task(
        {
            "make the file": [call("write", {"path": "link/made", "content": "new"}), say("Made.")],
            "Begin": [delegate("make the file"), WAIT, say("Done.")],
        }
    )
    async with family(tmp_path, script, sets=("policy.mode=ask",)) as (talk, _):
        places = [tmp_path / "workspace" / name for name in ("first", "second")]
        for place in places:
            place.mkdir()
        (link := tmp_path / "workspace/link").symlink_to("first")
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        link.unlink()
        link.symlink_to("second")
        await talk.session.approve(asked, by=OWNER)
        await until(talk, lambda: talk.session.questions() not in ([], [asked]))
        (again,) = talk.session.questions()
        assert not [*tmp_path.rglob("made")]
        with pytest.raises(BadInput, match="not open any more"):
            await talk.session.approve(asked, by=OWNER)
        await talk.session.approve(again, by=OWNER)
        assert await talk.ending() == end.Answered()
    assert [(place / "made").exists() for place in places] == [False, True]


async def test_what_was_granted_for_longer_holds_for_the_parent_and_its_children(tmp_path: Path) -> None:
    touch = call("shell", {"command": "touch made", "reach": "outside"})
    script = by_task(
        {
            "first": [touch, say("Made.")],
            "second": [touch, say("Made.")],
            "Begin": [delegate("first"), WAIT, delegate("second"), WAIT, touch, say("Done.")],
        }
    )
    async with family(tmp_path, script, sets=("policy.mode=ask",)) as (talk, _):
        await talk.say("Begin.")
        await until(talk, lambda: bool(talk.session.questions()))
        (asked,) = talk.session.questions()
        await talk.session.approve(asked, by=OWNER, scope=e.Scope.CONVERSATION)
        assert await talk.ending() == end.Answered()
        assert [words(fact) for fact in talk.facts(e.WorkEnded)] == ["Made.", "Made."]
        assert len(talk.facts(e.ApprovalAsked)) == 1


async def test_where_nobody_can_be_asked_a_childs_question_is_a_no(tmp_path: Path) -> None:
    async def nobody(_: e.QuestionKind, __: Sequence[Principal]) -> Approvers:
        return Approvers()

    script = by_task(
        {
            "make the file": [call("shell", {"command": "touch made", "reach": "outside"}), say("I may not.")],
            "Begin": [delegate("make the file"), WAIT, say("Done.")],
        }
    )
    async with family(tmp_path, script, sets=("policy.mode=ask",), approvers=nobody) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        assert not (tmp_path / "workspace" / "made").exists()
        assert any(isinstance(f, e.ToolFinished) and f.status is CallStatus.REFUSED for f in await child_log(talk))


async def test_a_child_has_neither_ask_user_nor_children_nor_schedules(tmp_path: Path) -> None:
    script = by_task({"look": [say("Seen.")], "Begin": [delegate("look"), WAIT, say("Done.")]})
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        parents = {*server.requests[0].heard.tools}
        (child,) = ({*one.heard.tools} for one in server.requests if "[You are h1" in one.raw.decode())
        gone = {"ask_user", "delegate", "helper", "schedule", "schedules", "unschedule"}
        handing = {"browser_hand_over"} & parents  # where there is a browser
        assert parents - child == gone | {"stay_silent", "remember", "recall"} | handing
        assert child <= parents


async def test_a_child_that_is_given_tools_has_no_others(tmp_path: Path) -> None:
    script = by_task(
        {
            "look": [call("shell", {"command": "true"}), say("Seen.")],
            "Begin": [delegate({"task": "look", "tools": ["read", "find"]}), WAIT, say("Done.")],
        }
    )
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        assert {one.heard.tools for one in server.requests if "[You are h1" in one.raw.decode()} == {("read", "find")}
        (refused,) = (fact for fact in await child_log(talk) if isinstance(fact, e.ToolFinished))
        assert refused.status is CallStatus.BAD_CALL


async def test_what_is_told_to_a_child_is_read_at_its_next_step(tmp_path: Path) -> None:
    script = by_task(
        {
            "search": [call("shell", {"command": "until [ -e go ]; do sleep 0.01; done"}), say("Found.")],
            "Begin": [
                delegate("search"),
                calls(
                    ("helper", {"action": "tell", "names": ["h1"], "text": "Look behind the door."}),
                    ("shell", {"command": "touch go"}),
                ),
                WAIT,
                say("Done."),
            ],
        }
    )
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        assert any(
            "Look behind the door." in one.raw.decode() for one in server.requests if "[You are" in one.raw.decode()
        )
        assert len([fact for fact in await child_log(talk) if isinstance(fact, e.Delegated)]) == 2


@pytest.mark.parametrize("way", ["by the parent's model", "by the person"])
async def test_a_child_that_is_stopped_is_told_of_and_nothing_of_it_goes_on(tmp_path: Path, way: str) -> None:
    stopping = call("helper", {"action": "stop", "names": ["h1"]}) if way == "by the parent's model" else WAIT
    script = by_task({"endless": [Hang()], "Begin": [delegate("endless"), stopping, WAIT, say("Done.")]})
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        if way == "by the person":
            await server.when(lambda server: len(server.requests) >= 3)
            await talk.session.stop(OWNER)
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        (ended,) = talk.facts(e.WorkEnded)
        by = OWNER if way == "by the person" else Principal("angelia")
        assert ended.child is not None
        assert ended.child.ending == end.Cancelled(by)
        assert talk.session.children == []
        assert isinstance(await talk.ending(), end.Cancelled if way == "by the person" else end.Answered)


async def test_who_stops_a_turn_stops_the_helpers_of_its_helpers(tmp_path: Path) -> None:
    script = by_task(
        {"endless": [Hang()], "pass it on": [delegate("endless"), WAIT], "Begin": [delegate("pass it on"), WAIT]}
    )
    async with family(tmp_path, script, sets=("delegation.depth=2",)) as (talk, server):
        await talk.say("Begin.")
        await server.when(lambda server: any("[You are h1" in one.raw.decode() for one in server.requests[-1:]))
        await server.when(lambda server: len(server.requests) >= 5)
        await talk.session.stop(OWNER)
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        facts = await child_log(talk)
        (inner,) = [fact for fact in facts if isinstance(fact, e.WorkEnded)]
        assert inner.child is not None
        assert isinstance(inner.child.ending, end.Cancelled)
        assert [fact.child and fact.child.ending for fact in talk.facts(e.WorkEnded)] == [end.Cancelled(OWNER)]
        assert talk.app.conversations.sessions.keys() == {talk.session.conversation}


async def test_a_helper_that_has_answered_ends_after_its_own_helpers(tmp_path: Path) -> None:
    script = by_task(
        {
            "work below": [call("shell", {"command": "until [ -e go ]; do sleep 0.01; done"}), say("Worked.")],
            "pass it on": [delegate("work below"), say("Passed.")],
            "Begin": [delegate("pass it on"), WAIT, say("Done.")],
        }
    )
    async with family(tmp_path, script, sets=("delegation.depth=2", "sandbox.confine=off")) as (talk, server):
        await talk.say("Begin.")
        await server.when(lambda server: len(server.requests) == 5)
        child = talk.facts(e.WorkStarted)[0].child
        assert child is not None
        passing = talk.app.conversations.sessions[child.id]
        await passing.settled()
        assert talk.facts(e.WorkEnded) == []
        (tmp_path / "workspace" / "go").touch()
        assert await talk.ending() == end.Answered()
        assert [words(fact) for fact in talk.facts(e.WorkEnded)] == ["Passed."]
        assert [words(fact) for fact in await child_log(talk) if isinstance(fact, e.WorkEnded)] == ["Worked."]


async def test_what_an_earlier_turn_has_delegated_is_stopped_although_no_turn_runs(tmp_path: Path) -> None:
    script = by_task({"endless": [Hang()], "Begin": [delegate("endless"), say("Begun.")]})
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        await server.when(lambda server: len(server.requests) == 3)
        assert await talk.session.stop(OWNER)
        await until(talk, lambda: not talk.session.children)
        assert [fact.child and fact.child.ending for fact in talk.facts(e.WorkEnded)] == [end.Cancelled(OWNER)]
        assert not await talk.session.stop(OWNER)


async def test_a_child_of_which_nothing_is_heard_is_told_of_as_stalled_and_ended(tmp_path: Path) -> None:
    script = by_task({"endless": [Hang()], "Begin": [delegate("endless"), WAIT, say("It hung.")]})
    async with family(tmp_path, script, sets=("delegation.silent_minutes=0.005",)) as (talk, server):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (ended,) = talk.facts(e.WorkEnded)
        assert ended.child is not None
        assert ended.child.ending == end.Stalled(1)
        assert "without an answer (Stalled" in server.requests[-1].raw.decode()


async def test_more_than_may_work_at_once_wait_for_their_turn(tmp_path: Path) -> None:
    tasks = [f"task {letter}" for letter in "abcde"]
    script = by_task({**{task: [say(task)] for task in tasks}, "Begin": [delegate(*tasks), WAIT, say("Done.")]})
    async with family(tmp_path, script, sets=("delegation.at_once=2",)) as (talk, _):
        most = 0

        def look(_: object) -> None:
            nonlocal most
            opened = talk.app.conversations.sessions
            most = max(most, sum(session.terms is not None for session in opened.values()))

        talk.session.live.watch(look)
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        assert sorted(words(fact) for fact in talk.facts(e.WorkEnded)) == tasks
        assert most <= 2


async def test_a_model_that_always_delegates_meets_a_bound_and_is_told_so(tmp_path: Path) -> None:
    script = by_task(
        {"again": [delegate("again"), say("I cannot.")], "Begin": [delegate("again")] * 4 + [say("Enough.")]}
    )
    async with family(tmp_path, script, sets=("delegation.most=3", "delegation.at_once=1")) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        await until(talk, lambda: len(talk.facts(e.WorkEnded)) == 3)
        assert len(talk.facts(e.WorkStarted)) == 3
        refused = [fact for fact in talk.facts(e.ToolFinished) if fact.status is CallStatus.ERROR]
        assert ["A turn opens at most 3 helpers" in str(fact.parts) for fact in refused] == [True]
        inner = [fact for fact in await child_log(talk) if isinstance(fact, e.ToolFinished)]
        assert [fact.status for fact in inner] == [CallStatus.BAD_CALL], "a child has no such tool"


async def test_children_of_a_conversation_that_was_left_go_on_when_it_is_opened_again(tmp_path: Path) -> None:
    hang = by_task({"search": [Hang()], "Begin": [delegate("search"), say("Begun."), say("Found.")]})
    async with family(tmp_path, hang) as (talk, server):
        await talk.say("Begin.")
        await server.when(lambda server: len(server.requests) == 3)
        assert await talk.ending() == end.Answered()
    script = by_task({"search": [say("Behind the door.")], "Begin": [say("Begun."), say("Found.")]})
    async with family(tmp_path, script, again=True) as (talk, _):
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        (ended,) = talk.facts(e.WorkEnded)
        assert words(ended) == "Behind the door."
        assert sum(isinstance(fact, e.Delegated) for fact in await child_log(talk)) == 1


class LeavesBadly:
    """What opens and drives conversations, with a sandbox that fails as they are left."""

    def __init__(self, conversations: Conversations) -> None:
        self.resume, self.employ = conversations.resume, conversations.employ
        self._leave = conversations.leave

    async def leave(self, session: Session) -> None:
        """See `ChildHost`."""
        await self._leave(session)
        raise Unreachable("The machine does not answer.")


async def test_a_child_that_is_left_goes_on_in_the_next_life_though_its_sandbox_fails_then(tmp_path: Path) -> None:
    script = by_task({"look it up": [Hang()], "Begin": [delegate("look it up"), WAIT]})
    async with family(tmp_path, script) as (talk, server):
        children = talk.app.conversations._children(talk.session)
        children._host = LeavesBadly(talk.app.conversations)
        await talk.say("Begin.")
        await server.when(lambda server: len(server.requests) == 3)
        await talk.app.conversations.leave(talk.session)
        await talk.session.catch_up()
        assert not talk.facts(e.WorkEnded)
        assert not [fact for fact in await child_log(talk) if isinstance(fact, e.TurnClosed)]


async def test_what_a_skill_narrows_is_narrow_for_the_helpers_that_are_opened_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    script = by_task(
        {
            "touch the stone": [call("shell", {"command": "touch stone"}), say("It cannot be touched.")],
            "Begin": [call("use_skill", {"name": "tea"}), delegate("touch the stone"), WAIT, say("Done.")],
        }
    )
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, _):
        workspace = tmp_path / "workspace"
        write_skill(workspace / ".agents" / "skills", more="allowed-tools: delegate helper")
        await talk.app.skills.pin(OWNER, (await talk.app.skills.named(OWNER, workspace, "tea")).skill)
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        (touched,) = [fact for fact in await child_log(talk) if isinstance(fact, e.ToolFinished)]
        assert touched.status is CallStatus.REFUSED
        assert not (workspace / "stone").exists()


async def test_a_skill_that_tells_children_to_spawn_spawns_no_more_than_the_bound_and_children_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    read = call("use_skill", {"name": "tea"})
    script = by_task(
        {
            "make tea": [read, delegate("make tea"), say("I cannot.")],
            "Begin": [read, delegate("make tea", "make tea"), delegate("make tea"), WAIT, say("Enough.")],
        }
    )
    async with family(tmp_path, script, sets=("delegation.most=2",)) as (talk, server):
        workspace = tmp_path / "workspace"
        write_skill(workspace / ".agents" / "skills", body="Delegate “make tea” to two helpers, as they do again.")
        await talk.app.skills.pin(OWNER, (await talk.app.skills.named(OWNER, workspace, "tea")).skill)
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        assert len(talk.facts(e.WorkEnded)) == len(talk.facts(e.WorkStarted)) == 2
        refused = [fact for fact in talk.facts(e.ToolFinished) if fact.status is CallStatus.ERROR]
        assert ["A turn opens at most 2 helpers" in str(fact.parts) for fact in refused] == [True]
        for number in range(2):
            used, spawned = [one for one in await child_log(talk, number) if isinstance(one, e.ToolFinished)]
            assert (used.status, spawned.status) == (CallStatus.OK, CallStatus.BAD_CALL)
            assert "as they do again" in str(used.parts)
        assert len(server.requests) <= 5 + 2 * 3, "nothing that was refused has cost a request of its own"


async def test_a_helper_whose_log_is_damaged_is_told_of_and_its_parent_goes_on(tmp_path: Path) -> None:
    script = by_task({"hang": [Hang()], "Begin": [delegate("hang"), WAIT, say("Without it, then.")]})
    async with family(tmp_path, script) as (talk, server):
        await talk.say("Begin.")
        await server.when(lambda server: len(server.requests) == 3)
        started = talk.facts(e.WorkStarted)[0]
        home = talk.app.loaded.home
    assert started.child
    tampered(home, f"UPDATE entries SET body = x'7b' WHERE conversation = '{started.child.id}' AND kind = 'Delegated'")
    async with family(tmp_path, script, again=True) as (talk, _):
        assert await talk.ending() == end.Answered()
        await until(talk, lambda: bool(talk.facts(e.WorkEnded)))
        (ended,) = talk.facts(e.WorkEnded)
        assert ended.child == e.ChildEnd(None, unpriced=1)
        assert ended.call == started.call
        assert "cannot be read" in words(ended)
        assert "price unknown" in str(about_child(ended.call, ended.child, words(ended)))
