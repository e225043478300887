"""An ask that takes long is a task of the protocol for who knows tasks, and outlives client and server alike."""

import asyncio
from typing import Any

import mcp_types as types
import pytest

from angelia.core.errors import StoreFull
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, hang, say
from angelia.tools.mcp.client import call_tool
from angelia.tools.mcp.core_tasks import VERSION, is_task_of
from angelia.tools.mcp.failures import ServerRefused
from angelia.tools.mcp.task_look import TaskLook, TaskTaken
from angelia.tools.mcp.tasks import TasksExtension, answer_task, cancel_task, task_at
from tests.mcp.serving import Caller, answering, served, served_to_us
from tests.python.conftest import AskModelAt, at, program
from tests.python.programs import Program

pytestmark = pytest.mark.anyio
__all__ = ["at", "program"]

KNOWS_TASKS: dict[str, Any] = {"extensions": [TasksExtension()]}


async def core_taken(caller: Caller) -> str:
    """The task that an ask becomes, in the words of 2025-11-25 and by the server's own list."""
    listed = {tool.name: tool for tool in (await caller.client.list_tools()).tools}
    assert caller.client.protocol_version == VERSION
    assert [name for name, tool in listed.items() if is_task_of(caller.client, tool)] == ["ask"]

    async def unheard(progress: float, total: float | None, message: str | None) -> None:
        return

    with pytest.raises(TaskTaken) as raised:
        await call_tool(caller.client, listed["ask"], {"question": "Which bed?", "key": "k1"}, unheard, cancelling)
    return raised.value.task


async def cancelling(_: types.ElicitRequestParams) -> types.ElicitResult:
    """A person who answers nothing."""
    return types.ElicitResult(action="cancel")


async def taken(caller: Caller, key: str) -> str:
    """The task that an ask becomes at once."""
    with pytest.raises(TaskTaken) as raised:
        await caller.call("ask", question="Which bed?", key=key, seconds=0)
    return raised.value.task


async def when_due(caller: Caller, task: str) -> TaskLook:
    """How a task stands once it is more than at work."""
    async with asyncio.timeout(60):
        while True:
            look = await task_at(caller.client, task)
            if look.result or look.fault or look.asked:
                return look
            await asyncio.sleep(0.05)


async def test_a_long_ask_is_a_task_whose_result_is_the_answer(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("The south bed.")]) as model:
        at(model)
        async with served(program, **KNOWS_TASKS) as caller:
            assert await taken(caller, "k1") == "k1"
            done = await when_due(caller, "k1")
        async with served(program, **KNOWS_TASKS) as caller:  # another life, and another client
            again = await task_at(caller.client, "k1")
    assert done.result
    assert done.result.structured_content
    assert done.result.structured_content["state"] == "answered"
    assert done.result == again.result
    assert len(model.requests) == 1


async def test_what_a_task_needs_a_yes_for_is_asked_by_it(program: Program, at: AskModelAt) -> None:
    async with ModelServer([call("book", {"guests": 2}), say("Booked.")]) as model:
        at(model)
        nothing = answering(lambda _: types.ElicitResult(action="cancel"))
        async with served(program, elicitation_callback=nothing, **KNOWS_TASKS) as caller:
            look = await when_due(caller, await taken(caller, "k1"))
            [(key, asked)] = look.asked.items()
            await answer_task(
                caller.client, "k1", {key: types.ElicitResult(action="accept", content={"answer": "yes, once"})}
            )
            done = await when_due(caller, "k1")
    assert "bistro.example" in asked.message
    assert done.result
    assert [block.text for block in done.result.content if block.type == "text"] == ["Booked."]


async def test_a_task_is_stopped_when_it_is_cancelled(program: Program, at: AskModelAt) -> None:
    async with ModelServer([hang()]) as model:
        at(model)
        async with served(program, **KNOWS_TASKS) as caller:
            await cancel_task(caller.client, await taken(caller, "k1"))
            assert (await when_due(caller, "k1")).fault == "it was cancelled"


async def test_who_does_not_know_tasks_gets_none_and_what_is_no_task_is_said(program: Program, at: AskModelAt) -> None:
    async with ModelServer([hang()]) as model:
        at(model)
        async with served(program) as caller:
            early = await caller.call("ask", question="Think.", key="k1", seconds=0)
            with pytest.raises(ServerRefused, match="Tasks are for clients that say they know them"):
                await task_at(caller.client, "k1")
        async with served(program, **KNOWS_TASKS) as caller:
            for ask in (task_at, cancel_task):
                with pytest.raises(ServerRefused, match="There is no such task"):
                    await ask(caller.client, "k2")
    assert early.structured_content["state"] == "working"


@pytest.mark.parametrize("era", ["auto", VERSION])
async def test_a_task_that_cannot_be_looked_at_now_is_not_said_to_be_none(
    program: Program, at: AskModelAt, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    async def full(*_: object) -> None:
        raise StoreFull("The disk is full.")

    async with ModelServer([hang()]) as model:
        at(model)
        client = served_to_us(program, cancelling) if era == VERSION else served(program, **KNOWS_TASKS)
        async with client as caller:
            await (core_taken(caller) if era == VERSION else taken(caller, "k1"))
            monkeypatch.setattr(caller.app.transcript, "of_key", full)
            for ask in (task_at, cancel_task):
                with pytest.raises(ServerRefused, match=r"^The disk is full"):
                    await ask(caller.client, "k1")


async def test_in_the_words_of_2025_an_ask_is_a_task_too(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("The south bed.")]) as model:
        at(model)
        async with served_to_us(program, cancelling) as caller:
            done = await when_due(caller, await core_taken(caller))
            with pytest.raises(ServerRefused, match="has ended, so there is nothing to cancel"):
                await cancel_task(caller.client, "k1")
        async with served_to_us(program, cancelling) as caller:  # another life, and another client
            again = await task_at(caller.client, "k1")
            with pytest.raises(ServerRefused, match="There is no such task"):
                await task_at(caller.client, "k2")
    assert done.result
    assert done.result.structured_content
    assert done.result.structured_content["state"] == "answered"
    assert done.result == again.result
    assert len(model.requests) == 1


async def test_in_the_words_of_2025_a_task_asks_while_its_result_is_waited_for(
    program: Program, at: AskModelAt
) -> None:
    asked: list[types.ElicitRequestParams] = []

    async def yes(params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="accept", content={"answer": "yes, once"})

    async with ModelServer([call("book", {"guests": 2}), say("Booked.")]) as model:
        at(model)
        async with served_to_us(program, yes) as caller:
            done = await when_due(caller, await core_taken(caller))
    [question] = asked
    assert "bistro.example" in question.message
    assert dict(question.meta or {})["io.modelcontextprotocol/related-task"] == {"taskId": "k1"}
    assert done.result
    assert [block.text for block in done.result.content if block.type == "text"] == ["Booked."]


async def test_in_the_words_of_2025_a_task_is_stopped_when_it_is_cancelled(program: Program, at: AskModelAt) -> None:
    async with ModelServer([hang()]) as model:
        at(model)
        async with served_to_us(program, cancelling) as caller:
            await cancel_task(caller.client, await core_taken(caller))
            assert (await when_due(caller, "k1")).fault == "it was cancelled"
