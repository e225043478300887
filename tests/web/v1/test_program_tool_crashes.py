"""A call of a program's tool survives a kill at any point: it is made once, and its result is taken in once."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests import nursery
from tests.nursery import Birth, Child, LivingChild
from tests.ports import free_port
from tests.promise.lives import Place

from angelia.core import entry as e
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FUNCTION = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
ASKED = {"role": "user", "content": "How is the weather in Oslo?"}


@asynccontextmanager
async def life(place: Place, port: int, at: str) -> AsyncIterator[None]:
    """`angelia web`, listening, until it is killed: at the crash point, also if its answer came before that; or, where
    none is named, at the end.
    """
    words = ("web", "--no-open", "--listen", f"127.0.0.1:{port}", "--set", f"model={place.wire}:m")
    birth = Birth(words, place.env, str(place.workspace), passed=str(place.folder / "passed"), at=at)
    read, write = os.pipe()
    with os.fdopen(read, "rb") as lines, Path(os.devnull).open("rb") as nothing:
        child = LivingChild(Child(birth, place.folder, nothing.fileno(), write))
        os.close(write)
        try:
            assert (await asyncio.to_thread(lines.readline)).startswith(b"http://localhost")
            yield
        finally:
            if not at:
                child.kill(signal.SIGKILL)
            await child.status


async def new_key(place: Place) -> str:
    words = ["web", "keys", "add", "ide", "--set", f"model={place.wire}:m"]
    return (await nursery.run(words, place.env)).stdout.strip()


@pytest.mark.parametrize(
    ("point", "asking"),
    [("tool.before_handing_over:1", "first"), ("tool.handed_over:1", "first"), ("tool.finished:1", "second")],
)
async def test_a_call_is_made_and_answered_once_whenever_the_server_is_killed(
    tmp_path: Path, point: str, asking: str
) -> None:
    async with ModelServer([call("get_weather", {"city": "Oslo"}), say("It snows.")]) as model:
        place, port = Place(tmp_path, model), free_port()
        key = await new_key(place)

        async def asked(messages: list[Any], name: str) -> dict[str, Any]:
            """Answered, in this life or in the next one."""
            body = {"model": "angelia", "messages": messages, "tools": [{"type": "function", "function": FUNCTION}]}
            head = {"authorization": f"Bearer {key}", "idempotency-key": name}
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            for at in (point, "") if name == asking else ("",):
                async with life(place, port, at), httpx2.AsyncClient(timeout=60, verify=False) as client:
                    try:
                        came = await client.post(url, json=body, headers=head)
                    except httpx2.TransportError:
                        assert at, "killed where no crash point was named"
                        continue
            assert came.status_code == 200, came.text
            found: dict[str, Any] = came.json()["choices"][0]["message"]
            return found

        said = await asked([ASKED], "first")
        [wanted] = said["tool_calls"]
        result = {"role": "tool", "tool_call_id": wanted["id"], "content": "-4 °C"}
        assert (await asked([ASKED, said, result], "second"))["content"] == "It snows."
        assert len(model.requests) == 2
        facts = await place.facts()
        for kind in (e.UserSaid, e.CallsHandedOver, e.ResultsBrought, e.ToolFinished, e.TurnClosed):
            assert sum(isinstance(fact, kind) for fact in facts) == 1, kind
