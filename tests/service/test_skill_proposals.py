"""Skills that a model proposes after a long turn: they wait in the log, and their person decides."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.crash import on_crash_point
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.skills.skill import read_skill
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place
from tests.skills.folders import write_skill

pytestmark = pytest.mark.anyio

LOOKS = [call("write", {"path": f"cup-{number}", "content": "tea"}) for number in range(8)]
TEA = {"name": "tea", "description": "Makes tea.", "body": "Boil water, then PLUM.", "files": {"run.sh": "#!/bin/sh\n"}}


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person").mkdir()


@asynccontextmanager
async def talking(tmp_path: Path, replies: Sequence[Step]) -> AsyncIterator[tuple[Place, Conversation, ModelServer]]:
    async with ModelServer(by_replies([*replies, *([say("Yes.")] * 10)])) as server:
        place = Place(tmp_path, server)
        async with conversation(place) as talk:
            yield place, talk, server


async def turn(talk: Conversation, words: str = "hello") -> None:
    await talk.say(words)
    await talk.ending()


def offered(request: ReceivedRequest) -> bool:
    """Whether the model could propose one."""
    return "propose_skill" in str(request.body["tools"])


async def proposed(talk: Conversation, server: ModelServer) -> None:
    """A long turn, and one in which the model proposes what it is to propose next."""
    await turn(talk, "make tea for everybody")
    await turn(talk, "thank you")
    assert offered(server.requests[-1])


async def test_it_may_be_proposed_in_the_turn_after_a_long_one_and_in_no_other(tmp_path: Path) -> None:
    replies = [*LOOKS[:7], say("Short."), *LOOKS, say("Long."), say("Thanks.")]
    async with talking(tmp_path, replies) as (_, talk, server):
        for _ in range(4):
            await turn(talk)
        answers = [request for request in server.requests if request.body["messages"][-1]["role"] == "user"]
        assert [offered(request) for request in answers] == [False, False, True, False]


async def test_a_proposal_is_used_by_nobody_and_is_shown_with_the_turn_that_it_comes_from(tmp_path: Path) -> None:
    replies = [*LOOKS, say("Done."), call("propose_skill", TEA), say("Proposed.")]
    async with talking(tmp_path, replies) as (place, talk, server):
        await proposed(talk, server)
        [notice] = [fact for fact in talk.facts(e.DeliveryQueued) if fact.origin == "notice"]
        assert "A skill was proposed: tea" in str(notice.parts)
        assert not (place.home / "skills").exists()
        await turn(talk)
        assert "Makes tea" not in str(server.requests[-1].body["messages"][0])
        [waiting] = await talk.app.proposals.look(OWNER)
        assert (waiting.words, waiting.calls, waiting.outside) == ("make tea for everybody", 8, False)
        folder = await talk.app.proposals.keep(OWNER, waiting)
        assert folder == place.home / "skills" / "tea"
        assert read_skill(folder).digest == waiting.skill.digest
        assert (folder / "run.sh").stat().st_mode & 0o111
        assert await talk.app.proposals.look(OWNER) == []
        await turn(talk)
        assert "- tea: Makes tea." in str(server.requests[-1].body["messages"][0])


async def test_a_no_is_a_no_and_the_log_keeps_what_was_said(tmp_path: Path) -> None:
    replies = [*LOOKS, say("Done."), call("propose_skill", TEA), say("Proposed.")]
    async with talking(tmp_path, replies) as (_, talk, server):
        await proposed(talk, server)
        [waiting] = await talk.app.proposals.look(OWNER)
        await talk.app.proposals.drop(OWNER, waiting)
        assert await talk.app.proposals.look(OWNER) == []
        assert "PLUM" in str(talk.facts(e.ModelSaid))


async def test_with_its_conversation_a_proposal_is_erased(tmp_path: Path) -> None:
    replies = [*LOOKS, say("Done."), call("propose_skill", TEA), say("Proposed.")]
    async with talking(tmp_path, replies) as (_, talk, server):
        await proposed(talk, server)
        await talk.app.conversations.leave(talk.session)
        await talk.app.transcript.erase(talk.session.conversation, talk.app.blobs)
        assert await talk.app.proposals.look(OWNER) == []


async def test_killed_between_writing_and_yes_it_is_a_new_skill_and_waits_once(tmp_path: Path) -> None:
    def dies(name: str) -> None:
        if name == "skill.written":
            raise RuntimeError(name)

    replies = [*LOOKS, say("Done."), call("propose_skill", TEA), say("Proposed.")]
    async with talking(tmp_path, replies) as (place, talk, server):
        await proposed(talk, server)
        [waiting] = await talk.app.proposals.look(OWNER)
        on_crash_point(dies)
        try:
            with pytest.raises(RuntimeError):
                await talk.app.proposals.keep(OWNER, waiting)
        finally:
            on_crash_point(None)
        assert await talk.app.proposals.look(OWNER) == []
        [judged] = await talk.app.skills.look(OWNER, place.workspace)
        assert (judged.skill.name, judged.unseen) == ("tea", True)


async def test_what_came_to_stand_there_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    replies = [*LOOKS, say("Done."), call("propose_skill", TEA), say("Proposed.")]
    async with talking(tmp_path, replies) as (place, talk, server):
        await proposed(talk, server)
        [waiting] = await talk.app.proposals.look(OWNER)
        folder = write_skill(place.home / "skills", body="Mine.")
        with pytest.raises(BadInput, match="is there already"):
            await talk.app.proposals.keep(OWNER, waiting)
        assert "Mine." in (folder / "SKILL.md").read_text()
        assert await talk.app.proposals.look(OWNER) == [], "it waits no more"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "Tea"}, "capital letters"),
        ({"name": "../tea"}, "letters, digits and hyphens"),
        ({"name": "cake"}, "There is a skill cake already."),
        ({"description": ""}, "`description` is no text"),
        ({"files": {"../x": "x"}}, "its path is to be relative"),
        ({"files": {"/etc/x": "x"}}, "its path is to be relative"),
        ({"files": {"skill.md": "x"}}, "that name is taken"),
        ({"files": {".git/config": "x"}}, "that name is taken"),
    ],
)
async def test_what_breaks_a_rule_is_refused_with_the_rule(
    tmp_path: Path, changed: dict[str, object], words: str
) -> None:
    replies = [*LOOKS, say("Done."), call("propose_skill", {**TEA, **changed}), say("Oh.")]
    async with talking(tmp_path, replies) as (place, talk, server):
        write_skill(place.home / "skills", "cake")
        await proposed(talk, server)
        last = talk.facts(e.ToolFinished)[-1]
        assert last.status is CallStatus.ERROR
        assert words in "".join(part.text for part in last.parts if isinstance(part, Text))
        assert await talk.app.proposals.look(OWNER) == []
