"""The Python client of `/api`, against a home that is served; and the document that describes it."""

import asyncio
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from angelia.client.answers import TakenBackMessage
from angelia.client.client import ApiClient, ApiError
from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.ids import CallId
from angelia.core.principal import OWNER
from angelia.faces.web.api.api_description import WORDS, openapi
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, hang, say
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio


def farm(folder: Path) -> str:
    """A folder to work in."""
    found = folder / "farm"
    found.mkdir()
    return str(found)


async def test_a_program_speaks_follows_and_answers_a_question(tmp_path: Path) -> None:
    steps = [call("ask_user", {"question": "Which?", "choices": ["red", "blue"]}), say("Blue it is.")]
    async with (
        ModelServer(steps) as model,
        opened(tmp_path, model.base_url) as app,
        visiting(app) as page,
        ApiClient(page.address) as client,
    ):
        await client.log_in(await page.door.link())
        own = await client.begin(folder=farm(tmp_path))
        assert (await client.say(own, "Which colour?", key="key-00001")).new
        kinds = []
        async for event in client.follow(own):
            kinds.append(event.data.get("kind"))
            if kinds[-1] == "ApprovalAsked":
                [question] = await client.questions()
                assert (question.conversation, question.question) == (own, "Which?")
                await client.answer(own, question, words="blue")
            if kinds[-1] == "TurnClosed":
                break
        assert not (await client.say(own, "Which colour?", key="key-00001")).new
        state = await client.conversation(own)
        assert (state.turn.open, state.questions, state.last_seq > 5) == (False, [], True)
        assert [one.id for one in (await client.conversations()).conversations] == [own]
        assert (await client.entries(own, limit=1)).entries[0]["seq"] == state.last_seq
        assert (await client.home()).sandbox == "local"
        async with ApiClient(page.address, client.login) as later:
            assert await later.stop(own) is False
            assert (await later.upload("a.txt", b"eggs")).size == 4
            assert "days" in await later.get("/api/usage", days=1)


async def test_a_message_that_waits_is_taken_back_by_its_number_and_no_request_carries_it(tmp_path: Path) -> None:
    """What is named by an @ comes again with its words; what came beside them is brought again."""
    (work := Path(farm(tmp_path))).joinpath("eggs.csv").write_text("12")
    async with (
        ModelServer([hang()]) as model,
        opened(tmp_path, model.base_url) as app,
        visiting(app) as page,
        ApiClient(page.address) as client,
    ):
        await client.log_in(await page.door.link())
        own = await client.begin(folder=str(work))
        beds = (await client.upload("beds.csv", b"a,b")).id
        await client.say(own, "Which colour?")
        said: list[int] = []
        async for event in client.follow(own):
            if event.data.get("kind") == "ModelAsked":
                await client.say(own, "In red.", arrival="queue")
                await client.say(own, "As in @eggs.csv", files=(beds,), arrival="queue")
            said += [event.seq] * (event.data.get("kind") == "UserSaid")
            if len(said) == 3:
                break
        began, red, eggs = said
        assert await client.take_back(own, eggs) == TakenBackMessage("As in @eggs.csv", ["beds.csv"])
        for seq, why in ((began, "is read already"), (eggs, "No message of yours waits"), (999, "No message of yours")):
            with pytest.raises(ApiError, match=why) as refused:
                await client.take_back(own, seq)
            assert refused.value.status == 409
        assert (await page.post(f"/api/conversations/{own}/entries/x/take-back")).status_code == 409
        assert (await client.take_back(own, red)).text == "In red."
        await client.stop(own)
        told = await page.until(own, "TurnClosed")
        assert [one["said"] for one in told if one["kind"] == "MessageTakenBack"] == [eggs, red]
        assert [one["heard"] for one in told if one["kind"] == "ModelAsked"] == [[began]]
        assert not (await client.conversation(own)).turn.open


async def test_taking_back_and_answering_need_no_model(tmp_path: Path) -> None:
    """Without its key nothing is driven here; both are acts on the log, and what waits stands in its state."""
    environ = {"OLLAMA_HOST": "127.0.0.1:9"}
    app = await App.open(load(tmp_path / "home", environ, flags={"model": "openai:m"}), environ)
    try:
        session = app.conversations.begin(door="terminal", workspace=Path(farm(tmp_path)))
        for words, arrival in (("Count.", e.Arrival.STEER), ("In red.", e.Arrival.STEER), ("Thanks.", e.Arrival.QUEUE)):
            await session.say([Text(words)], address=e.Address("terminal"), arrival=arrival)
        call = ToolCall(CallId("c1_0"), "ask_user", "{}")
        await session.record(
            e.ModelAsked("openai:m", 1, (2,)),
            e.ModelSaid("openai:m", (call,), e.StopReason.TOOL_CALLS),
            e.ApprovalAsked(call.id, "Which bed?", "d1"),
        )
        own = session.conversation
        await app.conversations.leave(session)
        async with visiting(app) as page, ApiClient(page.address) as client:
            await client.log_in(await page.door.link())
            where = f"/api/conversations/{own}"
            assert (await page.json(where))["turn"]["waits"] == [3, 4], "what opened the turn is read"
            assert await client.take_back(own, 3) == TakenBackMessage("In red.", [])
            assert await page.said(f"{where}/answers", {"call": call.id, "digest": "d1"}) == {}
            again = await page.post(f"{where}/answers", {"call": call.id, "digest": "d1", "yes": False})
            assert (again.status_code, "yes, once, by the owner" in again.text) == (409, True)
            entries = await app.transcript.entries(own)
            assert [one.fact for one in entries[7:]] == [
                e.MessageTakenBack(3),
                e.ApprovalGiven(call.id, "d1", OWNER),
            ]
            async with asyncio.timeout(30):
                while (state := await page.json(where))["turn"]["waits"] != [4]:
                    pass
            assert "key" in state["trouble"]
    finally:
        await app.close()


async def test_a_stream_goes_on_where_its_server_ended(tmp_path: Path) -> None:
    async with ModelServer([say("One."), say("Two.")]) as model, opened(tmp_path, model.base_url) as app:
        told: list[int] = []
        async with visiting(app) as page, ApiClient(page.address) as client:
            await client.log_in(await page.door.link())
            own = await client.begin(folder=farm(tmp_path))
            await client.say(own, "Count.")
            async for event in client.follow(own):
                told += [event.seq] * bool(event.seq)
                if event.data.get("kind") == "TurnClosed":
                    break
            login = client.login
        async with visiting(app) as page, ApiClient(page.address, login) as client:
            await client.say(own, "Again.")
            async with asyncio.timeout(60):
                async for event in client.follow(own, told[-1]):
                    told += [event.seq] * bool(event.seq)
                    if event.data.get("kind") == "TurnClosed":
                        break
        assert told == list(range(1, len(told) + 1))


async def test_what_is_refused_says_what_the_page_would(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, "http://127.0.0.1:9/v1") as app,
        visiting(app) as page,
        ApiClient(page.address) as client,
    ):
        with pytest.raises(ApiError, match="not logged in") as refused:
            await client.home()
        assert refused.value.status == 401
        with pytest.raises(ApiError, match="cannot be used any more"):
            await client.log_in("x")
        await client.log_in(await page.door.link())
        with pytest.raises(ApiError) as unknown:
            await anext(client.follow("01m84v46pywgb0616d8d9m17dz"))
        assert unknown.value.status == 404
        await client.log_out()
        with pytest.raises(ApiError, match="not logged in"):
            await client.home()


async def test_every_route_of_the_api_is_described_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path, "http://127.0.0.1:9/v1") as app, visiting(app) as page:
        routes = page.door.server.routes.all
        assert {f"{one.method} {one.path}" for one in routes if one.path.startswith("/api/")} == set(WORDS)
        document = await page.json("/api/openapi.json")
        assert document == openapi(routes)
        for schema in document["components"]["schemas"].values():
            Draft202012Validator.check_schema(schema)
        text = str(document)
        assert all(f"schemas/{name}'" in text for name in document["components"]["schemas"])
