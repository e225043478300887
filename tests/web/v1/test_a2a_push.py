"""Listeners that are told how a task stands: each state at least once, over kills, and nothing that walls keep in."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from google.protobuf.json_format import ParseDict
from tests.ports import free_port
from tests.promise.lives import Place
from tests.web.v1.programs import served
from tests.web.v1.test_a2a import WORDS, agent, message, raw, whole, words_of
from tests.web.v1.test_program_tool_crashes import life, new_key

from angelia.core import entry as e
from angelia.core.errors import StoreUnreachable
from angelia.core.ids import ConversationId
from angelia.faces.web.a2a import pushes
from angelia.faces.web.a2a.push_configs import MOST_CONFIGS, KeptPush, PushConfigs
from angelia.faces.web.a2a.task_object import WAITS
from angelia.faces.web.api_keys import KeyScope
from angelia.service import keep_running
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Hang, call, say

pytestmark = pytest.mark.anyio

HERE = {"policy.allow_ranges": ["127.0.0.0/8"]}
DONE = TaskState.TASK_STATE_COMPLETED


class Listener:
    """Somebody's webhook: it keeps what it is told, and answers as it is asked to."""

    def __init__(self, statuses: list[int]) -> None:
        self.port, self._statuses = 0, statuses
        self.heads: list[dict[str, str]] = []
        self.tasks: list[Task] = []
        self._came = asyncio.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    async def until(self, seen: Callable[[], object]) -> None:
        """Wait until something is so."""
        while not seen():
            self._came.clear()
            await self._came.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            head = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
            body = json.loads(await reader.readexactly(int(head["content-length"])))
            self.heads.append({"line": lines[0], **head})
            self.tasks.append(ParseDict(body, StreamResponse()).task)
            status = self._statuses.pop(0) if self._statuses else 204
            writer.write(f"HTTP/1.1 {status} x\r\nlocation: /else\r\ncontent-length: 0\r\n\r\n".encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):  # it was killed
            return
        finally:
            writer.close()
        self._came.set()


@asynccontextmanager
async def listening(*statuses: int) -> AsyncIterator[Listener]:
    """A listener that answers with these statuses, and then takes all."""
    found = Listener(list(statuses))
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    async with server:
        yield found


def pushed(text: str, url: str, **more: Any) -> SendMessageRequest:
    """A message that is not waited for, and whose task is told at an address."""
    asked = message(text)
    asked.configuration.return_immediately = True
    asked.configuration.task_push_notification_config.CopyFrom(TaskPushNotificationConfig(url=url, **more))
    return asked


async def test_a_listener_is_told_each_state_and_then_no_more(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say(WORDS)]
    async with listening() as hook, served(tmp_path, steps, **HERE, **{"policy.mode": "ask"}) as (programs, _):
        key = await programs.key(scope=KeyScope.ADMIN)
        login = AuthenticationInfo(scheme="Bearer", credentials="theirs")
        async with agent(programs, key, streaming=False) as client:
            begun = await whole(client, pushed("Write it.", hook.url, token="tok", authentication=login))
            await hook.until(lambda: hook.tasks and hook.tasks[-1].status.message.parts)
            own = begun.context_id.removeprefix("conv_")
            [asked] = (await programs.page.json(f"/api/conversations/{own}"))["questions"]
            answer = {"call": asked["call"], "digest": asked["digest"], "yes": True}
            await programs.page.said(f"/api/conversations/{own}/answers", answer)
            await hook.until(lambda: hook.tasks[-1].status.state == DONE)
        states = [(one.status.state, "".join(part.text for part in one.status.message.parts)) for one in hook.tasks]
        working = TaskState.TASK_STATE_WORKING
        assert states == [(working, ""), (working, WAITS), (working, ""), (DONE, "")]
        assert words_of(hook.tasks[-1]) == WORDS
        assert {one.id for one in hook.tasks} == {begun.id}
        head = hook.heads[0]
        assert (head["line"], head["content-type"]) == ("POST /hook HTTP/1.1", "application/a2a+json")
        assert (head["authorization"], head["x-a2a-notification-token"]) == ("Bearer theirs", "tok")
        await programs.page.until(own, "DeliverySettled")
        await settled(programs.app.db)


async def settled(db: LogStore) -> None:
    """Wait until nobody is to be told anything more."""
    configs = PushConfigs(KeyValue(db))
    while await configs.all():  # noqa: ASYNC110 - a database has no event
        await asyncio.sleep(0)


async def test_configs_are_given_read_listed_and_deleted_by_the_key_whose_task_it_is(tmp_path: Path) -> None:
    async with listening() as hook, served(tmp_path, [Hang()], **HERE) as (programs, model):
        key = await programs.key()
        async with agent(programs, key, streaming=False) as client:
            begun = await whole(client, pushed("Think.", hook.url, id="first"))
            await model.when(lambda server: len(server.requests) == 1)
            second = TaskPushNotificationConfig(task_id=begun.id, url=hook.url)
            second = await client.create_task_push_notification_config(second)
            asked = GetTaskPushNotificationConfigRequest(task_id=begun.id, id=second.id)
            assert await client.get_task_push_notification_config(asked) == second
            listing = ListTaskPushNotificationConfigsRequest(task_id=begun.id)
            listed = (await client.list_task_push_notification_configs(listing)).configs
            assert {one.id for one in listed} == {"first", second.id}
            async with agent(programs, await programs.key("other"), streaming=False) as other:
                for refused in (
                    other.get_task_push_notification_config(asked),
                    other.list_task_push_notification_configs(listing),
                    other.create_task_push_notification_config(second),
                ):
                    with pytest.raises(TaskNotFoundError):
                        await refused
            ended = DeleteTaskPushNotificationConfigRequest(task_id=begun.id, id=second.id)
            await client.delete_task_push_notification_config(ended)
            with pytest.raises(TaskNotFoundError, match="no push config"):
                await client.get_task_push_notification_config(asked)
            for n in range(MOST_CONFIGS - 1):
                more = TaskPushNotificationConfig(task_id=begun.id, url=hook.url, id=f"m{n}")
                await client.create_task_push_notification_config(more)
            with pytest.raises(InvalidParamsError, match="may have no more"):
                await client.create_task_push_notification_config(second)
        reading = await programs.key("reader", KeyScope.READ)
        params = {"taskId": begun.id, "url": hook.url}
        _, said = await raw(programs, reading, "CreateTaskPushNotificationConfig", params)
        assert said["error"]["message"].startswith("The key reader may only read")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/hook",
        "http://localhost:9/hook",
        "http://[::ffff:10.0.0.1]/hook",
        "http://169.254.169.254/latest",
        "http://2130706433/",
        "https://user:word@example.com/",
        "ftp://example.com/",
        "",
    ],
)
async def test_nothing_is_begun_for_an_address_that_walls_keep_in(tmp_path: Path, url: str) -> None:
    async with served(tmp_path, []) as (programs, model), agent(programs, streaming=False) as client:
        with pytest.raises(InvalidParamsError):
            await whole(client, pushed("Think.", url or " "))
        assert not model.requests
        assert not await PushConfigs(programs.app.key_value).all()


async def test_an_address_is_judged_again_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was reachable when it was given is not when it is told: the walls were closed in between."""
    async with listening() as hook:
        async with served(tmp_path, [Hang()], **HERE) as (programs, _), agent(programs, streaming=False) as client:
            await whole(client, pushed("Think.", hook.url))
            await hook.until(lambda: hook.tasks)
        monkeypatch.setattr(pushes, "PAUSES", (0.0,))
        async with served(tmp_path, [say(WORDS)]) as (programs, _):
            await settled(programs.app.db)
    assert len(hook.tasks) == 1


async def test_a_listener_that_refuses_is_tried_again_and_not_led_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushes, "PAUSES", (0.0, 0.0))
    async with listening(503, 307) as hook, served(tmp_path, [say(WORDS)], **HERE) as (programs, _):
        async with agent(programs, streaming=False) as client:
            await whole(client, pushed("Count.", hook.url))
        await hook.until(lambda: hook.tasks and hook.tasks[-1].status.state == DONE)
        await settled(programs.app.db)
    assert {head["line"] for head in hook.heads} == {"POST /hook HTTP/1.1"}


async def test_one_that_takes_nothing_is_given_up_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushes, "PAUSES", (0.0, 0.0))
    async with (
        listening(500, 404, 307) as hook,
        served(tmp_path, [say(WORDS)], **HERE) as (programs, _),
        agent(programs, streaming=False) as client,
    ):
        await whole(client, pushed("Count.", hook.url))
        await settled(programs.app.db)
    assert len(hook.tasks) == 3
    told = (tmp_path / "home/angelia.log").read_text()
    assert "takes nothing" in told
    assert "It answered 307." in told, "a redirect is no yes"


async def test_who_has_no_key_any_more_is_told_nothing(tmp_path: Path) -> None:
    async with listening() as hook:
        async with served(tmp_path, [Hang()], **HERE) as (programs, _), agent(programs, streaming=False) as client:
            await whole(client, pushed("Think.", hook.url))
            await hook.until(lambda: hook.tasks)
            await programs.page.door.keys.remove("ide")
        async with served(tmp_path, [say(WORDS)], **HERE) as (programs, _):
            await settled(programs.app.db)
    assert len(hook.tasks) == 1


async def test_what_cannot_be_noted_for_a_moment_keeps_no_listener_from_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted, away = PushConfigs.told, asyncio.Event()

    async def away_once(self: PushConfigs, push: KeptPush, state: str) -> bool:
        done = await noted(self, push, state)
        if away.is_set() or not push.told:
            return done
        away.set()
        raise StoreUnreachable("The database does not answer.")

    monkeypatch.setattr(PushConfigs, "told", away_once)
    monkeypatch.setattr(keep_running, "AGAIN_S", 0.0)
    steps = [call("write", {"path": "a.txt", "content": "x"}), say(WORDS)]
    async with listening() as hook, served(tmp_path, steps, **HERE, **{"policy.mode": "ask"}) as (programs, _):
        key = await programs.key(scope=KeyScope.ADMIN)
        async with agent(programs, key, streaming=False) as client:
            begun = await whole(client, pushed("Write it.", hook.url))
            await hook.until(lambda: hook.tasks and hook.tasks[-1].status.message.parts)
            await away.wait()
            own = begun.context_id.removeprefix("conv_")
            [asked] = (await programs.page.json(f"/api/conversations/{own}"))["questions"]
            answer = {"call": asked["call"], "digest": asked["digest"], "yes": True}
            await programs.page.said(f"/api/conversations/{own}/answers", answer)
            async with asyncio.timeout(20):
                await hook.until(lambda: hook.tasks[-1].status.state == DONE)
                await settled(programs.app.db)
    assert words_of(hook.tasks[-1]) == WORDS


async def test_of_a_task_that_was_erased_nothing_is_told_and_no_address_kept(tmp_path: Path) -> None:
    async with listening() as hook:
        async with served(tmp_path, [Hang()], **HERE) as (programs, _), agent(programs, streaming=False) as client:
            begun = await whole(client, pushed("Think.", hook.url))
            await hook.until(lambda: hook.tasks)
        db = Database.open(tmp_path / "home")
        own = ConversationId(begun.context_id.removeprefix("conv_"))
        await Transcript(db).erase(own, BlobStore(tmp_path / "home"))
        db.close()
        async with served(tmp_path, [], **HERE) as (programs, _), asyncio.timeout(20):
            await settled(programs.app.db)
    assert len(hook.tasks) == 1


async def looks_until_killed(client: Client, asked: SendMessageRequest) -> None:
    """Give a task, and ask how it stands as long as anybody answers."""
    begun = await whole(client, asked)
    while True:
        await client.get_task(GetTaskRequest(id=begun.id))


@pytest.mark.slow
@pytest.mark.parametrize("point", ["model.recorded:1", "push.before_end:1", "push.end_taken:1"])
async def test_the_end_is_told_whenever_the_server_is_killed(tmp_path: Path, point: str) -> None:
    async with ModelServer(lambda request: say(WORDS)) as model, listening() as hook:
        place, port = Place(tmp_path, model), free_port()
        place.home.mkdir()
        (place.home / "config.toml").write_text('[policy]\nallow_ranges = ["127.0.0.0/8"]\n')
        key = await new_key(place)
        async with (
            life(place, port, point),
            httpx.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=60) as http,
        ):
            card = await A2ACardResolver(http, f"http://127.0.0.1:{port}").get_agent_card()
            client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
            with pytest.raises(A2AClientError):
                await looks_until_killed(client, pushed("Count.", hook.url))
        async with life(place, port, ""):
            await hook.until(lambda: hook.tasks and hook.tasks[-1].status.state == DONE)
            db = Database.open(place.home)
            await settled(db)
            db.close()
        facts = await place.facts()
    assert words_of(hook.tasks[-1]) == WORDS
    assert [sum(isinstance(fact, kind) for fact in facts) for kind in (e.UserSaid, e.TurnClosed)] == [1, 1]
