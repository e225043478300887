"""Two conversations in one place: each ends what it runs itself, and the place ends with the last one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.ending import Answered
from angelia.core.ids import PlaceId
from angelia.policy.approvers import nobody
from angelia.policy.situation import Mode
from angelia.sandboxes.port import SandboxGone
from angelia.service.conversation.session import Session
from angelia.service.places.sandbox_locks import SandboxLocks
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

RUNS = [call("shell", {"command": "sleep 1000", "background": True}), say("It runs.")]


@asynccontextmanager
async def two(folder: Path) -> AsyncIterator[tuple[Conversation, Conversation]]:
    """Two conversations in one place, in each of which a command runs in the background."""
    async with ModelServer(by_replies(RUNS)) as server, conversation(Place(folder, server)) as one:
        first = one.session
        beside = e.ConversationOpened(
            "terminal", first.workspace, first.sandbox, first.owner, first.preset, first.place, first.notes
        )
        other = Conversation(one.app, one.app.conversations.begin_as(beside, door="terminal"))
        await one.app.conversations.employ(other.session, "openai-chat:m", approvers=nobody)
        for talk in (one, other):
            talk.app.modes.choose(talk.session, Mode.AUTONOMOUS)
            await talk.say("Go on.")
            assert isinstance(await talk.ending(), Answered)
            assert [started.what for started in talk.session.behind] == ["sleep 1000"]
        yield one, other


def ends(talk: Conversation) -> list[tuple[CallStatus, str]]:
    """How what the conversation left running has ended."""
    return [
        (fact.status, "".join(part.text for part in fact.parts if isinstance(part, Text)))
        for fact in talk.facts(e.WorkEnded)
    ]


async def leave(talk: Conversation) -> None:
    await talk.app.conversations.leave(talk.session)
    await talk.session.catch_up()


def places(session: Session) -> tuple[PlaceId, str, str]:
    return session.place, session.sandbox, session.workspace


async def test_the_end_of_one_does_not_end_what_the_other_runs(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        assert places(one.session) == places(other.session)
        sandbox = one.app.conversations.sandbox_of(one.session)
        assert sandbox is one.app.conversations.sandbox_of(other.session)
        await leave(one)
        assert [status for status, _ in ends(one)] == [CallStatus.ERROR], "what it ran has ended, and that is told"
        assert one.session.behind == []
        assert len(other.session.behind) == 1, "what the other one runs goes on"
        assert (await sandbox.describe()).workspace == other.session.workspace
        assert [lock.place for lock in SandboxLocks(one.app.running).all()] == [one.session.place]
        await leave(other)
        assert other.session.behind == []
        assert SandboxLocks(one.app.running).all() == []
        with pytest.raises(SandboxGone):
            one.app.conversations.sandbox_of(other.session)


async def test_a_place_is_one_row_however_many_work_there_and_is_kept_while_one_of_them_is_left(
    tmp_path: Path,
) -> None:
    async with two(tmp_path) as (one, other):
        [place] = await one.app.places.all()
        assert place.place == one.session.place
        assert place.conversations == (one.session.conversation, other.session.conversation)
        kept = one.app.running / "docker" / place.place  # what a container would have been given
        kept.mkdir(parents=True)
        await leave(one)
        await one.app.transcript.erase(one.session.conversation, one.app.blobs)
        await one.app.places.forget(place.place)
        assert kept.is_dir()
        await leave(other)
        await one.app.transcript.erase(other.session.conversation, one.app.blobs)
        assert kept in await one.app.places.forsaken_homes()


async def test_a_conversation_goes_on_in_the_place_that_it_shares(tmp_path: Path) -> None:
    async with two(tmp_path) as (one, other):
        await leave(other)
        again = await one.app.conversations.resume(other.session.conversation, door="terminal")
        assert again.place == one.session.place
        one.app.conversations.open_workplace(again, approvers=nobody)
        assert one.app.conversations.sandbox_of(again) is one.app.conversations.sandbox_of(one.session)
