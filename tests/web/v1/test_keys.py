"""Keys of the API: what each opens, whose the conversations are, and what is never done without a person."""

from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from tests.web.v1.programs import Programs, served

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput, NotFound
from angelia.core.principal import OWNER, Principal
from angelia.faces.web.api_keys import KeyScope
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.v1 import chat_completions
from angelia.testing.model.steps import call, say

pytestmark = pytest.mark.anyio

ASKED: Any = {"model": "angelia", "messages": [{"role": "user", "content": "Hello."}]}


async def posts(programs: Programs, key: str, body: dict[str, Any] = ASKED, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=30, verify=False) as client:
        head = {"authorization": f"Bearer {key}", **headers}
        return await client.post(f"{programs.page.address}/v1/chat/completions", json=body, headers=head)


async def test_every_route_of_the_api_needs_a_key_and_no_other_route_takes_one(tmp_path: Path) -> None:
    async with served(tmp_path, []) as (programs, _):
        key = await programs.key(scope=KeyScope.ADMIN)
        routes = programs.page.door.server.routes.all
        by_key = {RouteGuard.READ_KEY, RouteGuard.CHAT_KEY}
        rest = {route.path for route in routes if route.guard in by_key and not route.path.startswith("/v1/")}
        assert rest == {"/a2a"}, "whose calls say in their body what they are, and look at the scope then"
        assert all(route.guard in by_key for route in routes if route.path.startswith("/v1"))
        assert all(
            (route.guard is RouteGuard.CHAT_KEY) == (route.method != "GET")
            for route in routes
            if route.path.startswith("/v1/")
        )
        for route in routes:
            if route.guard in by_key:  # logged in to the page, which opens nothing here
                came = await programs.page.client.request(route.method, programs.page.address + route.path)
                assert came.status_code == 401, route
        async with httpx2.AsyncClient(verify=False) as stranger:
            for route in routes:
                if route.guard in (RouteGuard.LOGIN, RouteGuard.WRITE):
                    head = {**programs.page.head, "authorization": f"Bearer {key}", "x-api-key": key}
                    came = await stranger.request(route.method, programs.page.address + route.path, headers=head)
                    assert came.status_code == 401, route


async def test_a_wrong_key_a_removed_one_and_another_host_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path, []) as (programs, model):
        key = await programs.key()
        assert (await posts(programs, "angelia_wrong")).json()["error"]["code"] == "invalid_api_key"
        assert (await posts(programs, key, host="evil.example")).status_code == 421
        await programs.page.door.keys.remove("ide")
        assert (await posts(programs, key)).status_code == 401
        assert not model.requests


async def test_only_hashes_of_keys_are_stored(tmp_path: Path) -> None:
    async with served(tmp_path, []) as (programs, _):
        key = await programs.key()
        with pytest.raises(BadInput, match="already"):
            await programs.key()
        with pytest.raises(NotFound):
            await programs.page.door.keys.remove("nobody")
        stored = await programs.app.key_value.all()
        assert not [one for one in stored if key in "".join(one)]


async def test_a_key_that_reads_cannot_speak(tmp_path: Path) -> None:
    async with served(tmp_path, []) as (programs, model):
        async with programs.openai(await programs.key("dash", KeyScope.READ)) as client:
            assert [one.id async for one in client.models.list()] == ["angelia", "openai-chat:test"]
            with pytest.raises(openai.PermissionDeniedError, match="may only read"):
                await client.chat.completions.create(**ASKED)
        assert not model.requests


async def test_nobody_sees_what_another_key_began(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Hello.")]) as (programs, _):
        async with programs.openai() as client:
            came = await client.chat.completions.create(**ASKED)
        async with programs.openai(await programs.key("other", KeyScope.ADMIN)) as other:
            with pytest.raises(openai.NotFoundError):
                await other.chat.completions.retrieve(came.id)
        [conversation] = await programs.app.transcript.conversations(Principal("key", "ide"))
        assert conversation.door == "api"
        assert await programs.app.transcript.conversations(Principal("key", "other")) == []
        assert [one.id for one in await programs.app.transcript.conversations(OWNER)] == [conversation.id]


async def test_what_a_key_may_cost_in_a_day_is_a_cap(tmp_path: Path) -> None:
    async with served(tmp_path, [say("Hello.")]) as (programs, model):
        key = await programs.key(day_cost=2.0)
        async with programs.openai(key) as client:
            await client.chat.completions.create(**ASKED)
            [conversation] = await programs.app.transcript.conversations(OWNER)
            paid = e.ModelSaid("openai-chat:test", (Text("Dear."),), e.StopReason.END, cost=2_000_000)
            await programs.app.transcript.append(conversation.id, [paid])
            with pytest.raises(openai.RateLimitError, match=r"has cost \$2.0000 today"):
                await client.chat.completions.create(**ASKED)
        assert len(model.requests) == 1


async def test_what_needs_a_yes_is_refused_where_a_key_only_speaks(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("I may not.")]
    async with served(tmp_path, steps, **{"policy.mode": "ask"}) as (programs, _):
        async with programs.openai() as client:
            came = await client.chat.completions.create(**ASKED)
        assert came.choices[0].message.content == "I may not."
        [conversation] = await programs.app.transcript.conversations(OWNER)
        facts = [entry.fact for entry in await programs.app.transcript.entries(conversation.id)]
        assert [one.status for one in facts if isinstance(one, e.ToolFinished)] == [CallStatus.REFUSED]
        assert not (Path(conversation.workspace) / "a.txt").exists()


async def test_an_admin_key_waits_for_the_owner_who_answers_on_the_page(tmp_path: Path) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x"}), say("Written.")]
    async with served(tmp_path, steps, **{"policy.mode": "ask"}) as (programs, _):
        async with programs.openai(await programs.key(scope=KeyScope.ADMIN)) as client:
            stream: Any = await client.chat.completions.create(**ASKED, stream=True)
            own = (await anext(stream)).id.split("_")[1]
            await programs.page.until(own, "ApprovalAsked")
            [asked] = (await programs.page.json(f"/api/conversations/{own}"))["questions"]
            answer = {"call": asked["call"], "digest": asked["digest"], "yes": True}
            await programs.page.said(f"/api/conversations/{own}/answers", answer)
            words = [chunk.choices[0].delta.content or "" async for chunk in stream]
        assert "".join(words) == "Written."
        [conversation] = await programs.app.transcript.conversations(OWNER)
        assert (Path(conversation.workspace) / "a.txt").read_text() == "x"


async def test_a_body_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MOST_BODY", 10_000)
    async with served(tmp_path, []) as (programs, model):
        large = {"model": "angelia", "messages": [{"role": "user", "content": "x" * 20_000}]}
        came = await posts(programs, await programs.key(), large)
        assert came.status_code == 413
        assert "larger than 10,000 bytes" in came.json()["error"]["message"]
        assert not model.requests


async def test_conversations_of_a_key_work_in_its_preset(tmp_path: Path) -> None:
    settings = {"sandbox": {"presets": {"narrow": {"spec": "local"}}}}
    async with served(tmp_path, [say("Hello.")], **settings) as (programs, _):
        async with programs.openai(await programs.key(preset="narrow")) as client:
            await client.responses.create(model="angelia", input="Hello?")
        [conversation] = await programs.app.transcript.conversations(OWNER)
        opened = (await programs.app.transcript.entries(conversation.id))[0].fact
        assert isinstance(opened, e.ConversationOpened)
        assert opened.preset == "narrow"
