"""A collector is told of every turn, once and by the conventions, and of nothing that was said."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ending import Answered, ModelUnavailable
from angelia.core.entry import (
    AnyFact,
    ConversationOpened,
    ModelAsked,
    ModelFailed,
    ModelSaid,
    StopReason,
    ToolFinished,
    ToolStarted,
    TurnClosed,
    Usage,
)
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, ConversationId
from angelia.http.client import open_server
from angelia.http.errors import HttpError
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.service.traces.contents import spans_with_contents
from angelia.service.traces.export import Told, TraceExport
from angelia.service.traces.spans import spans_of
from angelia.testing.channels.network import Thing
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call
from angelia.testing.model.steps import say as model_says
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import HERE
from tests.faces.angelia import MODEL, Place
from tests.nursery import Nursery
from tests.service.trace_collector import Collector, attributes, collector
from tests.store.words import said

pytestmark = pytest.mark.anyio

NAME = ConversationId("c1")
CANARY = "Leporello"
CALL = CallId("c1_1")
TURN: list[AnyFact] = [
    said(f"the cat is called {CANARY}"),
    ModelAsked("google:one", 1, (2,)),
    ModelSaid(
        "google:one",
        (Text(CANARY), ToolCall(CALL, "read", f'{{"path": "{CANARY}"}}')),
        StopReason.TOOL_CALLS,
        Usage(input=100, output=7, cache_read=60),
        1_500_000,
    ),
    ToolStarted(CALL),
    ToolFinished(CALL, CallStatus.ERROR, (Text(CANARY),)),
    ModelAsked("google:one", 1),
    ModelFailed("google:one", Failure(FailureKind.BUSY, CANARY)),
    TurnClosed(ModelUnavailable("google:one", 3, CANARY)),
]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    app = await App.open(load(tmp_path / "home", {}, ("sandbox.confine=off",), {}), {})
    await app.transcript.append(NAME, [ConversationOpened("terminal", "/work"), said("before"), TurnClosed(Answered())])
    yield app
    await app.close()


async def send(app: App, there: Collector, told: Told = spans_of) -> bool:
    """One look of an exporter that has just begun."""
    server = await open_server(there.url)
    export = TraceExport(app.db, app.key_value, there.url, {}, told)
    await export.begin()
    try:
        return await export.send(server)
    finally:
        await server.aclose()


async def test_a_turn_is_a_trace_of_its_calls_and_holds_nothing_that_was_said(app: App) -> None:
    async with collector() as there:
        assert not await send(app, there), "what ended before it was asked for is not told"
        await app.transcript.append(NAME, TURN)
        assert await send(app, there)
    turn, tool = there.named("invoke_agent Angelia"), there.named("execute_tool read")
    answered, failed = [span for span in there.spans if span.name == "chat one"]
    assert len(there.spans) == 4
    assert {span.trace_id for span in there.spans} == {turn.trace_id}
    assert {span.parent_span_id for span in (tool, answered, failed)} == {turn.span_id}
    assert len({span.span_id for span in there.spans}) == 4
    assert all(
        turn.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in there.spans
    )
    told = attributes(answered)
    assert (told["gen_ai.provider.name"], told["gen_ai.request.model"]) == ("gcp.gemini", "one")
    assert told["gen_ai.response.finish_reasons"] == ["tool_call"]
    tokens = ("input_tokens", "output_tokens", "cache_read.input_tokens")
    assert [told[f"gen_ai.usage.{name}"] for name in tokens] == [100, 7, 60]
    errors = [attributes(span).get("error.type") for span in (turn, answered, tool, failed)]
    assert errors == ["ModelUnavailable", None, "error", "busy"]
    assert [span.status.code for span in (turn, answered, tool, failed)] == [2, 0, 2, 2]
    assert CANARY.encode() not in b"".join(there.bodies)


async def test_where_it_is_wanted_spans_hold_what_was_said_without_secrets(app: App) -> None:
    async with collector() as there:
        await send(app, there)
        await app.transcript.append(NAME, TURN)
        assert await send(app, there, partial(spans_with_contents, redact=lambda text: text.replace(CANARY, "[cat]")))
    assert CANARY.encode() not in b"".join(there.bodies)
    turn, tool = attributes(there.named("invoke_agent Angelia")), attributes(there.named("execute_tool read"))
    answered, failed = [attributes(span) for span in there.spans if span.name == "chat one"]
    asked = [{"role": "user", "parts": [{"type": "text", "content": "the cat is called [cat]"}]}]
    called = {"type": "tool_call", "id": CALL, "name": "read", "arguments": '{"path": "[cat]"}'}
    said_back = [{"role": "assistant", "parts": [{"type": "text", "content": "[cat]"}, called]}]
    result = [{"type": "text", "content": "[cat]"}]
    returned = {"role": "tool", "parts": [{"type": "tool_call_response", "id": CALL, "response": result}]}
    came, went = "gen_ai.input.messages", "gen_ai.output.messages"
    for span in (turn, answered):
        assert (json.loads(span[came]), json.loads(span[went])) == (asked, said_back)
    assert json.loads(failed[came]) == [*said_back, returned]
    assert went not in failed
    assert (tool["gen_ai.tool.call.arguments"], json.loads(tool["gen_ai.tool.call.result"])) == (
        '{"path": "[cat]"}',
        result,
    )


@pytest.mark.parametrize("status", [401, 429, 503])
async def test_what_nobody_took_is_sent_again_under_the_same_ids(app: App, status: int) -> None:
    async with collector() as there:
        await send(app, there)
        await app.transcript.append(NAME, TURN)
        there.statuses = [status]
        with pytest.raises(HttpError):
            await send(app, there)
        assert there.spans == []
        assert await send(app, there)
        assert not await send(app, there), "and not once more"
    assert there.bodies[0] == there.bodies[1]
    assert len(there.spans) == 4


async def test_what_a_collector_will_never_take_does_not_stand_before_the_rest(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    async with collector() as there:
        await send(app, there)
        await app.transcript.append(NAME, TURN)
        there.statuses = [400]
        assert await send(app, there)
        assert "refuses the traces of 1 turns (400)" in caplog.text
        await app.transcript.append(NAME, [said("again"), TurnClosed(Answered())])
        assert await send(app, there)
    assert [span.name for span in there.spans] == ["invoke_agent Angelia"]


@pytest.mark.parametrize("kind", ["ModelSaid", "TurnClosed"])
async def test_of_a_turn_that_cannot_be_read_the_log_file_says_so_and_the_next_ones_are_sent(
    app: App, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    async with collector() as there:
        await send(app, there)
        await app.transcript.append(NAME, TURN)
        await app.db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
        last = "(SELECT max(id) FROM entries WHERE kind = ?)"
        torn = f"UPDATE entries SET body = x'7b2278' WHERE id = {last}"
        await app.db.write(lambda connection: connection.execute(torn, (kind,)))
        assert await send(app, there)
        assert f"no trace is sent of a turn of {NAME}: Entry" in caplog.text
        await app.transcript.append(NAME, [said("again"), TurnClosed(Answered())])
        assert await send(app, there)
    assert [span.name for span in there.spans] == ["invoke_agent Angelia"]


async def test_a_gateway_tells_of_a_turn_in_a_chat(tmp_path: Path) -> None:
    steps = [call("read", {"path": "nothing.txt"}), model_says("There is none.")]
    async with ModelServer(steps) as model, TelegramServer() as network, collector() as there, Nursery() as nursery:
        place = Place(tmp_path / "home", tmp_path / "work", model.url)
        for folder in (place.home, place.work, tmp_path / "life"):
            folder.mkdir()
        (place.home / "config.toml").write_text(
            f'model = "{MODEL}"\n[sandbox]\nconfine = "off"\n'
            f'[gateway]\ntraces = "{there.url}"\ntraces_contents = true\ntraces_header = {{ env = "TRACES_HEADER" }}\n'
            f'[channels.telegram]\ntoken = {{ env = "TELEGRAM" }}\nowners = ["{HERE.chat}"]\napi = "{network.url}"\n'
        )
        keys = {"TELEGRAM": TOKEN, "TRACES_HEADER": "x-team: a-key"}
        gateway = await nursery.bear(["gateway"], place.environment(keys), tmp_path / "life")
        await network.bring(Thing(IncomingKind.TEXT, HERE, "is there anything?"))
        async with asyncio.timeout(120):
            await there.came.wait()
        gateway.kill(signal.SIGTERM)
        assert (ended := await gateway.ended()).status == 0, ended.stderr
    assert "x-team: a-key" in there.heads[0].lower()
    assert [span.name.split()[0] for span in there.spans] == ["invoke_agent", "chat", "chat", "execute_tool"]
    told = attributes(there.named("invoke_agent Angelia"))
    assert "angelia.turn.ending" in told
    assert "is there anything?" in told["gen_ai.input.messages"]
    assert "There is none." in told["gen_ai.output.messages"]
