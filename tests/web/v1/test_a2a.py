"""Agent2Agent, as its published SDK asks for it, and as nobody should."""

import base64
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from tests.ports import free_port
from tests.promise.lives import Place
from tests.web.v1.programs import PICTURE, Programs, served
from tests.web.v1.test_program_tool_crashes import life, new_key

from angelia.core import entry as e
from angelia.core.failure import FailureKind
from angelia.faces.web.a2a.task_object import WAITS
from angelia.faces.web.api_keys import KeyScope
from angelia.faces.web.v1.turn import FollowedTurn
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Fail, Hang, Step, call, say, slowly

pytestmark = pytest.mark.anyio

WORDS = "One two three four five six seven eight."


@asynccontextmanager
async def agent(programs: Programs, key: str = "", *, streaming: bool = True) -> AsyncIterator[Client]:
    """Another agent, which has read the card."""
    head = {"authorization": f"Bearer {key or await programs.key()}"}
    async with httpx.AsyncClient(headers=head, timeout=60) as http:
        card = await A2ACardResolver(http, programs.page.address).get_agent_card()
        yield ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)


def message(text: str, own: str = "m1", **more: Any) -> SendMessageRequest:
    """A message of words."""
    return SendMessageRequest(message=Message(message_id=own, role=Role.ROLE_USER, parts=[Part(text=text)], **more))


async def whole(client: Client, asked: SendMessageRequest) -> Task:
    """The task that a message comes to, for who does not stream."""
    [came] = [one async for one in client.send_message(asked)]
    return came.task


def words_of(task: Task) -> str:
    """What it answers."""
    return "".join(part.text for one in task.artifacts if one.artifact_id == "answer" for part in one.parts)


def added(came: StreamResponse) -> str:
    """What an event adds to the answer."""
    return "".join(part.text for part in came.artifact_update.artifact.parts)


async def raw(
    programs: Programs, key: str, method: str, params: dict[str, Any], **headers: str
) -> tuple[int, dict[str, Any]]:
    """A call without the SDK: the status, and what was said."""
    head = {
        "authorization": f"Bearer {key}",
        "a2a-version": "1.0",
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    came = await programs.page.client.post(f"{programs.page.address}/a2a", json=body, headers=head)
    found: dict[str, Any] = came.json()
    return came.status_code, found


async def test_a_task_is_given_answered_and_read_again_after_a_restart(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Noted.")]) as (programs, _):
        key = await programs.key()
        async with agent(programs, key, streaming=False) as client:
            first = await whole(client, message("I am Ann."))
    assert first.status.state == TaskState.TASK_STATE_COMPLETED
    assert words_of(first) == "Noted."
    assert [part.text for one in first.history for part in one.parts] == ["I am Ann."]
    async with served(tmp_path, [say("Ann.")]) as (programs, model), agent(programs, key, streaming=False) as client:
        assert await client.get_task(GetTaskRequest(id=first.id)) == first
        second = await whole(client, message("Who am I?", "m2", context_id=first.context_id))
        assert (words_of(second), second.context_id) == ("Ann.", first.context_id)
        listed = await client.list_tasks(ListTasksRequest(context_id=first.context_id, page_size=1))
        assert ([one.id for one in listed.tasks], listed.total_size) == ([second.id], 2)
        rest = ListTasksRequest(context_id=first.context_id, page_token=listed.next_page_token, include_artifacts=True)
        [again] = (await client.list_tasks(rest)).tasks
        assert (again.id, words_of(again)) == (first.id, "Noted.")
        assert len(model.requests) == 1


async def test_a_message_that_comes_again_is_one_and_another_one_under_its_id_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Noted.")]) as (programs, model), agent(programs, streaming=False) as client:
        first = await whole(client, message("I am Ann."))
        assert await whole(client, message("I am Ann.")) == first
        with pytest.raises(InvalidParamsError, match="was used for another message"):
            await whole(client, message("I am Bob."))
        assert len(model.requests) == 1


async def test_a_stream_has_every_piece_once_and_ends_with_the_state(tmp_path: Path) -> None:
    async with served(tmp_path, [slowly(say(WORDS), between=0.01)]) as (programs, _), agent(programs) as client:
        came = [one async for one in client.send_message(message("Count."))]
        assert came[0].task.status.state == TaskState.TASK_STATE_WORKING
        pieces = [added(one) for one in came if one.HasField("artifact_update")]
        assert "".join(pieces) == WORDS
        assert len(pieces) > 2
        assert came[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        assert words_of(await client.get_task(GetTaskRequest(id=came[0].task.id))) == WORDS


async def test_who_was_cut_off_subscribes_and_misses_nothing(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "true"}), slowly(say(WORDS), between=0.02)]
    async with served(tmp_path, steps, **{"policy.mode": "autonomous"}) as (programs, model), agent(programs) as client:
        task, words = "", ""
        async for one in client.send_message(message("Count.")):
            task = task or one.task.id
            if words := words + added(one):
                break
        assert words != WORDS
        again = [one async for one in client.subscribe(SubscribeToTaskRequest(id=task))]
        assert again[0].task.id == task
        assert words_of(again[0].task) + "".join(map(added, again)) == WORDS
        assert again[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        assert len(model.requests) == 2
        with pytest.raises(UnsupportedOperationError, match="is over"):
            [one async for one in client.subscribe(SubscribeToTaskRequest(id=task))]


async def test_the_rest_is_had_by_the_place_of_the_last_event_also_when_all_is_over(tmp_path: Path) -> None:
    async with served(tmp_path, [say(WORDS)]) as (programs, _):
        key = await programs.key()
        async with agent(programs, key, streaming=False) as client:
            done = await whole(client, message("Count."))
        head = {"authorization": f"Bearer {key}", "a2a-version": "1.0", "last-event-id": "8"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": done.id}}
        came = await programs.page.client.post(f"{programs.page.address}/a2a", json=body, headers=head)
    events = [json.loads(line[6:])["result"] for line in came.text.splitlines() if line.startswith("data: ")]
    ids = [int(line[4:]) for line in came.text.splitlines() if line.startswith("id: ")]
    assert [list(one) for one in events] == [["task"], ["artifactUpdate"], ["statusUpdate"]]
    assert "artifacts" not in events[0]["task"]
    assert events[1]["artifactUpdate"]["artifact"]["parts"][0]["text"] == WORDS[8:]
    assert events[1]["artifactUpdate"]["append"]
    assert ids == [8, len(WORDS), len(WORDS)]


async def test_a_task_goes_on_in_the_next_life_and_is_followed_from_the_log(tmp_path: Path) -> None:
    asked = message("Count.")
    asked.configuration.return_immediately = True
    async with served(tmp_path, [Hang()]) as (programs, model):
        key = await programs.key()
        async with agent(programs, key, streaming=False) as client:
            begun = await whole(client, asked)
            await model.when(lambda server: len(server.requests) == 1)
    late = slowly(say(WORDS), first=2.0)  # it is followed by then: of a task that is over there is nothing to follow
    async with served(tmp_path, [late]) as (programs, _), agent(programs, key) as client:
        came = [one async for one in client.subscribe(SubscribeToTaskRequest(id=begun.id))]
    assert words_of(came[0].task) + "".join(map(added, came)) == WORDS
    assert came[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


@pytest.mark.slow
@pytest.mark.parametrize("point", ["say.committed:1", "model.recorded:1", "append.after_commit:4"])
async def test_a_message_is_one_task_whenever_the_server_is_killed(tmp_path: Path, point: str) -> None:
    async with ModelServer(lambda request: say(WORDS)) as model:
        place, port = Place(tmp_path, model), free_port()
        head = {"authorization": f"Bearer {await new_key(place)}"}
        tasks, deaths = list[Task](), 0
        while not tasks:
            async with life(place, port, "" if deaths else point), httpx.AsyncClient(headers=head, timeout=60) as http:
                card = await A2ACardResolver(http, f"http://127.0.0.1:{port}").get_agent_card()
                client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
                try:
                    tasks.append(await whole(client, message("Count.")))
                except A2AClientError:
                    deaths += 1
        facts = await place.facts()
    assert (deaths, words_of(tasks[0])) == (1, WORDS)
    assert [sum(isinstance(fact, kind) for fact in facts) for kind in (e.UserSaid, e.TurnClosed)] == [1, 1]


async def test_who_follows_hears_that_it_waits_for_the_person_and_that_it_goes_on(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("Written.")]
    async with (
        served(tmp_path, steps, **{"policy.mode": "ask"}) as (programs, _),
        agent(programs, await programs.key(scope=KeyScope.ADMIN)) as client,
    ):
        following = aiter(client.send_message(message("Write it.")))
        own = (await anext(following)).task.context_id.removeprefix("conv_")
        waits = (await anext(following)).status_update.status
        assert (waits.state, waits.message.parts[0].text) == (TaskState.TASK_STATE_WORKING, WAITS)
        [asked] = (await programs.page.json(f"/api/conversations/{own}"))["questions"]
        answer = {"call": asked["call"], "digest": asked["digest"], "yes": True}
        await programs.page.said(f"/api/conversations/{own}/answers", answer)
        rest = [one async for one in following]
    assert not rest[0].status_update.status.HasField("message")
    assert "".join(map(added, rest)) == "Written."


async def test_what_was_not_waited_for_is_cancelled_once_and_for_good(tmp_path: Path) -> None:
    async with served(tmp_path, [Hang()]) as (programs, model), agent(programs, streaming=False) as client:
        asked = message("Think.")
        asked.configuration.return_immediately = True
        begun = await whole(client, asked)
        assert begun.status.state == TaskState.TASK_STATE_WORKING
        await model.when(lambda server: len(server.requests) == 1)
        with pytest.raises(UnsupportedOperationError, match="is being worked on"):
            await whole(client, message("And?", "m2", task_id=begun.id))
        ended = await client.cancel_task(CancelTaskRequest(id=begun.id))
        assert ended.status.state == TaskState.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=begun.id))


async def test_an_ending_without_an_answer_is_a_failed_task_that_says_why(tmp_path: Path) -> None:
    steps = [Fail(FailureKind.LOGIN_REJECTED)]
    async with served(tmp_path, steps) as (programs, _), agent(programs, streaming=False) as client:
        task = await whole(client, message("Hello?"))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "key" in task.status.message.parts[0].text
    assert not task.artifacts


async def test_a_picture_comes_in_and_a_file_goes_out_to_be_had_by_the_key(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/harvest.csv").write_text("bed,kg\n")
    picture = Part(raw=base64.b64decode(PICTURE.partition(",")[2]), media_type="image/png")
    data = Part()
    data.data.struct_value.update({"bed": 1})
    parts = [Part(text="What?"), picture, data]
    asked = SendMessageRequest(message=Message(message_id="m1", role=Role.ROLE_USER, parts=parts))
    async with served(tmp_path, [say("A dot.\n\nMEDIA: harvest.csv")]) as (programs, model):
        key = await programs.key(folder=str(tmp_path / "work"))
        async with agent(programs, key) as client:
            came = [one async for one in client.send_message(asked)]
        updates = [one.artifact_update.artifact for one in came if one.HasField("artifact_update")]
        [file] = [part for one in updates for part in one.parts if part.url]
        assert file.filename == "harvest.csv"
        had = await programs.page.client.get(file.url, headers={"authorization": f"Bearer {key}"})
        assert had.text == "bed,kg\n"
        assert (await programs.page.client.get(file.url)).status_code == 401
        assert len(model.requests[0].images) == 1
        assert '{"bed": 1' in model.requests[0].heard.messages[-1].text


async def test_nobody_sees_the_tasks_of_another_key_and_who_may_only_read_speaks_not(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Noted.")]) as (programs, model):
        async with agent(programs, streaming=False) as client:
            task = await whole(client, message("I am Ann."))
        async with agent(programs, await programs.key("other"), streaming=False) as other:
            with pytest.raises(TaskNotFoundError):
                await other.get_task(GetTaskRequest(id=task.id))
            with pytest.raises(TaskNotFoundError):
                await other.cancel_task(CancelTaskRequest(id=task.id))
            with pytest.raises(InvalidParamsError, match="There is no context"):
                await whole(other, message("Who am I?", "m2", context_id=task.context_id))
        reading = await programs.key("reader", KeyScope.READ)
        for method, params in (
            ("SendMessage", {"message": {"messageId": "m", "parts": [{"text": "x"}]}}),
            ("CancelTask", {"id": task.id}),
        ):
            status, said = await raw(programs, reading, method, params)
            assert (status, said["error"]["message"].partition(".")[0]) == (200, "The key reader may only read")
        status, said = await raw(programs, "angelia_guessed", "GetTask", {"id": task.id})
        assert (status, said["id"]) == (401, None)
        assert len(model.requests) == 1


async def test_all_tasks_of_a_key_are_listed_newest_first_and_nothing_is_driven_for_it(tmp_path: Path) -> None:
    steps: list[Step] = [say("One."), Fail(FailureKind.LOGIN_REJECTED), say("Three.")]
    async with served(tmp_path, steps) as (programs, _):
        key = await programs.key()
        async with agent(programs, key, streaming=False) as client:
            done = [await whole(client, message(f"Number {n}.", f"m{n}")) for n in range(3)]
        async with agent(programs, await programs.key("other"), streaming=False) as other:
            assert not (await other.list_tasks(ListTasksRequest())).tasks
    async with served(tmp_path, []) as (programs, _), agent(programs, key, streaming=False) as client:  # another life
        page = await client.list_tasks(ListTasksRequest(page_size=2))
        rest = await client.list_tasks(ListTasksRequest(page_token=page.next_page_token, include_artifacts=True))
        failed = await client.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_FAILED))
        assert not programs.app.conversations.sessions
    assert len({one.context_id for one in done}) == 3
    assert [one.id for one in (*page.tasks, *rest.tasks)] == [one.id for one in reversed(done)]
    assert page.total_size == 3
    assert rest.tasks[0].artifacts[0].parts[0].text == "One."
    assert [one.id for one in failed.tasks] == [done[1].id]


async def test_what_is_not_had_here_is_refused_in_the_words_of_the_protocol(tmp_path: Path) -> None:
    async with served(tmp_path, []) as (programs, _):
        key = await programs.key()
        async with agent(programs, key, streaming=False) as client:
            asked = message("x")
            asked.configuration.CopyFrom(SendMessageConfiguration(accepted_output_modes=["image/png"]))
            with pytest.raises(ContentTypeNotSupportedError):
                await whole(client, asked)
            asked = SendMessageRequest(
                message=Message(message_id="m", role=Role.ROLE_USER, parts=[Part(url="http://x")])
            )
            with pytest.raises(InvalidParamsError, match="Nothing is fetched"):
                await whole(client, asked)
            with pytest.raises(TaskNotFoundError):
                await client.get_task(GetTaskRequest(id="task_1"))
        for method, headers, code in (
            ("SendMessage", {"a2a_version": "0.3"}, -32009),
            ("SendMessage", {"a2a_version": ""}, -32009),
            ("message/send", {}, -32601),
            ("GetExtendedAgentCard", {}, -32004),
            ("CreateTaskPushNotificationConfig", {}, -32001),
            ("GetTaskPushNotificationConfig", {}, -32602),
            ("SendMessage", {}, -32602),
            ("GetTask", {"a2a_version": "1.7"}, -32602),
        ):
            status, said = await raw(programs, key, method, {}, **headers)
            assert (status, said["id"], said["error"]["code"]) == (200, 7, code), method
        head = {"authorization": f"Bearer {key}", "a2a-version": "1.0"}
        came = await programs.page.client.post(f"{programs.page.address}/a2a", content=b"{", headers=head)
        assert came.json()["error"]["code"] == -32700


async def test_who_asks_again_and_again_how_it_stands_leaves_nothing_behind(tmp_path: Path) -> None:
    async with served(tmp_path, [Hang()]) as (programs, _), agent(programs, streaming=False) as client:
        asked = message("Think.")
        asked.configuration.return_immediately = True
        begun = await whole(client, asked)
        for _ in range(3):
            await client.get_task(GetTaskRequest(id=begun.id))
        gc.collect()
        assert not [one for one in gc.get_objects() if isinstance(one, FollowedTurn)]
        await client.cancel_task(CancelTaskRequest(id=begun.id))


async def test_the_card_is_for_everybody_and_says_how_to_get_in(tmp_path: Path) -> None:
    async with served(tmp_path, []) as (programs, _), httpx2.AsyncClient(verify=False) as stranger:
        card = (await stranger.get(f"{programs.page.address}/.well-known/agent-card.json")).json()
        assert card["supportedInterfaces"][0]["url"] == f"{programs.page.address}/a2a"
        assert card["securityRequirements"] == [{"schemes": {"key": {"list": []}}}]
        refused = await stranger.post(card["supportedInterfaces"][0]["url"], json={})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
