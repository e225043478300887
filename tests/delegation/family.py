"""A conversation that delegates, in this process: its scripted model, and a person who says yes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.policy.approvers import ApproversOf, owner_at
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.testing.model.answerers import Answerer
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, Step, call, say
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

MODEL = "openai-chat:m"
WAIT = call("helper", {"action": "wait"})


def by_task(scripts: Mapping[str, Sequence[Step]]) -> Answerer:
    """The steps of whoever was first told one of these words, in order by the replies in its history."""

    def answer(request: ReceivedRequest) -> Step:
        said = [one.text for one in request.heard.messages if one.role == "user"]
        told = "\n".join(text for text in said if "[note from the system]" not in text)
        steps = next(steps for words, steps in scripts.items() if words in told)
        past = request.heard.replies
        return steps[past] if past < len(steps) else say(f"nothing more to say after {past} replies")

    return answer


def delegate(*tasks: str | Mapping[str, object]) -> Speak:
    """A call that gives these tasks away."""
    return call("delegate", {"tasks": [{"task": task} if isinstance(task, str) else dict(task) for task in tasks]})


@asynccontextmanager
async def family(
    folder: Path,
    script: Callable[[ReceivedRequest], Step],
    *,
    sets: Sequence[str] = (),
    approvers: ApproversOf | None = None,
    again: bool = False,
    model: str = MODEL,
) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    """A conversation whose owner sits at the terminal, and the server that plays the models of it and its children."""
    async with ModelServer(script) as server:
        place = Place(folder, server, sets=sets)
        async with conversation(place, again=again, driven=False) as talk:
            asked = approvers or owner_at(TERMINAL)
            await talk.app.conversations.employ(talk.session, model, approvers=asked)
            yield talk, server


async def until(talk: Conversation, holds: Callable[[], bool]) -> None:
    """Wait until something holds of the log."""
    async with asyncio.timeout(20):
        await talk.session.wait(holds)


async def child_log(talk: Conversation, number: int = 0) -> list[e.AnyFact]:
    """What stands in the log of a child."""
    child = talk.facts(e.WorkStarted)[number].child
    assert child is not None
    return [entry.fact for entry in await talk.app.transcript.entries(child.id)]


def words(fact: e.WorkEnded) -> str:
    """What a child said in the end."""
    return "".join(part.text for part in fact.parts if isinstance(part, Text))
