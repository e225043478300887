"""Prometheus reads what a gateway tells it: the numbers of the log, and nothing that was said."""

from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from angelia.channels.health import ConnectionHealth, Health
from angelia.core.content import Text
from angelia.core.ending import Answered
from angelia.core.entry import AnyFact, ConversationOpened, ModelSaid, StopReason, TurnClosed, Usage
from angelia.core.ids import ConversationId
from angelia.faces.gateway.server import GatewayServer
from angelia.service.app import App
from angelia.service.chats.gateway import ChannelStatus, Gateway
from angelia.service.metrics import MIME, Metrics
from angelia.service.schedule.signals import Signals
from angelia.service.settings.config import load
from tests.store.words import said

pytestmark = pytest.mark.anyio

NAME = ConversationId("c1")
CANARY = "the cat is called Leporello"
TURN: list[AnyFact] = [
    said(CANARY),
    ModelSaid("test:one", (Text(CANARY),), StopReason.END, Usage(input=100, output=7), 1_500_000),
    TurnClosed(Answered()),
]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    app = await App.open(load(tmp_path / "home", {}, ("sandbox.confine=off",), {}), {})
    await app.transcript.append(NAME, [ConversationOpened("terminal", "/work"), *TURN])
    yield app
    await app.close()


@pytest.fixture
async def metrics(app: App) -> Metrics:
    standings = {
        "telegram": ChannelStatus("telegram", Health(ConnectionHealth.CONNECTED), 0, 12),
        "slack": ChannelStatus("slack", Health(ConnectionHealth.WAITING), 0, 0),
    }
    metrics = Metrics(app.db, lambda: standings)
    await metrics.begin()
    return metrics


def samples(text: bytes) -> dict[str, float]:
    """As Prometheus' own parser reads them: every sample by its name and labels."""
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        assert family.documentation
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            assert (sample.name, labels) not in found
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


async def test_what_is_counted_is_what_came_since_the_process_began(app: App, metrics: Metrics) -> None:
    before = samples(await metrics.text())
    assert before["angelia_conversations{}"] == 1
    assert not [name for name in before if name.startswith("angelia_turns_total")]
    for _ in range(2):
        await app.transcript.append(NAME, TURN)
        after = samples(await metrics.text())
    assert after["angelia_turns_total{ending=Answered}"] == 2
    assert after["angelia_facts_total{fact=UserSaid}"] == 2
    assert after["angelia_model_cost_dollars_total{model=test:one}"] == 3.0
    assert after["angelia_model_tokens_total{kind=input,model=test:one}"] == 200
    assert after["angelia_channel_connected{channel=telegram}"] == 1
    assert after["angelia_channel_connected{channel=slack}"] == 0
    assert after["angelia_channel_inbound_total{channel=telegram}"] == 12
    assert after["process_resident_memory_bytes{}"] > 1e6
    assert after["process_start_time_seconds{}"] > 1.6e9


async def test_counters_never_fall_also_when_a_conversation_is_erased(app: App, metrics: Metrics) -> None:
    await app.transcript.append(NAME, TURN)
    before = samples(await metrics.text())
    await app.transcript.erase(NAME, app.blobs)
    await app.transcript.append(ConversationId("c2"), [ConversationOpened("terminal", "/work"), *TURN])
    after = samples(await metrics.text())
    falling = [name for name in before if "_total" in name and after[name] < before[name]]
    assert falling == []


async def test_an_end_that_cannot_be_read_is_counted_as_such_once_and_stops_no_count(
    app: App, metrics: Metrics
) -> None:
    await app.transcript.append(NAME, TURN)
    await app.db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
    torn = "UPDATE entries SET body = x'7b2278' WHERE kind = 'TurnClosed'"
    await app.db.write(lambda connection: connection.execute(torn))
    await app.transcript.append(NAME, TURN)
    for _ in range(2):
        found = samples(await metrics.text())
        assert found["angelia_turns_total{ending=unreadable}"] == 1
        assert found["angelia_turns_total{ending=Answered}"] == 1
        assert found["angelia_facts_total{fact=UserSaid}"] == 2


async def test_nothing_that_was_said_is_told(app: App, metrics: Metrics) -> None:
    await app.transcript.append(NAME, TURN)
    text = (await metrics.text()).decode()
    assert CANARY not in text
    assert NAME not in text


@pytest.mark.parametrize(
    ("token", "given", "status"),
    [("", "", 404), ("", "Bearer ", 404), ("t", "", 401), ("t", "Bearer no", 401), ("t", "Bearer t", 200)],
)
async def test_only_who_has_the_token_is_told(app: App, metrics: Metrics, token: str, given: str, status: int) -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing of a body is read")

    headers = [(b"authorization", given.encode())] if given else []
    scope = {"type": "http", "method": "GET", "path": "/metrics", "query_string": b"", "headers": headers}
    server = GatewayServer(Gateway(app.chat_services), token, Signals(app.outside_services), metrics)
    await server(scope, receive, send)
    assert sent[0]["status"] == status
    assert (b"angelia_conversations 1" in sent[1]["body"]) == (status == 200)
    if status == 200:
        assert (b"content-type", MIME.encode()) in sent[0]["headers"]
