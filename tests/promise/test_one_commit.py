"""What is said and the lease are one commit, an answer and its ending another; what cannot be stored is not done."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import StoreError, StoreFull
from angelia.store.lane import Failed
from angelia.testing.answerers import instant
from angelia.testing.model_server import ModelServer
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio
Perform = Callable[[Sequence[object]], Sequence[object]]


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Conversation]:
    """A conversation at rest, after its first turn."""
    async with ModelServer(instant) as server, conversation(Place(tmp_path, server)) as one:
        await one.say("Good morning.")
        await one.ending()
        async with asyncio.timeout(60):
            leased = one.session._leased
            while not (leased and leased._idle and leased._releasing and leased._releasing.done()):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        yield one


def between(talk: Conversation, look: Callable[[Perform, Sequence[object]], Sequence[object]]) -> None:
    """Have `look` stand between the loop and each commit."""
    lane = talk.house.db._writes
    perform = lane._perform
    lane._perform = lambda jobs: look(perform, jobs)  # type: ignore[arg-type]


async def test_the_first_commit_of_a_turn_holds_what_was_said_and_the_lease(talk: Conversation) -> None:
    sizes: list[int] = []

    def count(perform: Perform, jobs: Sequence[object]) -> Sequence[object]:
        sizes.append(len(jobs))
        return perform(jobs)

    between(talk, count)
    await talk.say("And another.")
    assert await talk.ending() == end.Answered()
    assert sizes[0] == 2


async def test_the_answer_its_ending_and_its_delivery_are_one_commit(talk: Conversation) -> None:
    together: list[list[type]] = []
    forget = talk.session.log.listen(lambda entries: together.append([type(entry.fact) for entry in entries]))
    await talk.say("And another.")
    assert await talk.ending() == end.Answered()
    forget()
    assert [e.ModelSaid, e.TurnClosed, e.DeliveryQueued] in together


async def driving_ends_on_a_full_disk(talk: Conversation, full: Callable[[], bool]) -> None:
    """Somebody speaks; the disk is full as soon as `full` says so, and whoever guards the conversation hears of it."""

    def fail(perform: Perform, jobs: Sequence[object]) -> Sequence[object]:
        return [Failed(StoreFull("The disk is full."))] * len(jobs) if full() else perform(jobs)

    between(talk, fail)
    await talk.say("And another.")
    async with asyncio.timeout(60):
        with pytest.raises(StoreError, match="full"):
            await talk.session.driven()


async def test_an_answer_that_cannot_be_stored_ends_nothing(talk: Conversation) -> None:
    await driving_ends_on_a_full_disk(talk, lambda: len(talk.facts(e.ModelAsked)) == 2)
    assert len(talk.facts(e.ModelSaid)) == len(talk.facts(e.TurnClosed)) == 1


async def test_a_lease_that_cannot_be_given_back_ends_the_driving(talk: Conversation) -> None:
    await driving_ends_on_a_full_disk(talk, lambda: len(talk.facts(e.TurnClosed)) == 2)
    assert talk.session.at_rest, "the turn itself was whole"


async def test_a_commit_that_fails_is_heard_of_and_the_next_message_is_answered(talk: Conversation) -> None:
    failing = [StoreFull("The disk is full.")]

    def fail(perform: Perform, jobs: Sequence[object]) -> Sequence[object]:
        return [Failed(failing.pop())] * len(jobs) if failing else perform(jobs)

    between(talk, fail)
    with pytest.raises(StoreError, match="full"):
        await talk.say("lost")
    await talk.say("kept")
    assert await talk.ending() == end.Answered()
    assert len(talk.facts(e.UserSaid)) == 2
    assert len(talk.facts(e.TurnClosed)) == 2
