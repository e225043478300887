"""A history that a program sends goes on in its conversation, whenever the server was killed on the way."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.ports import free_port
from tests.promise.lives import Place
from tests.web.v1.test_program_tool_crashes import life, new_key

from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize("point", ["say.before_commit:1", "say.committed:1"])
async def test_a_history_goes_on_where_it_was_although_its_message_had_to_come_again(
    tmp_path: Path, point: str
) -> None:
    async with ModelServer([say("Seventeen."), say("Twelve.")]) as model:
        place, port = Place(tmp_path, model), free_port()
        key = await new_key(place)

        async def asked(messages: list[Any], name: str) -> dict[str, Any]:
            head = {"authorization": f"Bearer {key}", "idempotency-key": name}
            body = {"model": "angelia", "messages": messages}
            async with httpx2.AsyncClient(timeout=60, verify=False) as client:
                came = await client.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body, headers=head)
            assert came.status_code == 200, came.text
            found: dict[str, Any] = came.json()
            return found

        history: list[Any] = [{"role": "user", "content": "How many eggs?"}]
        async with life(place, port, point):
            with pytest.raises(httpx2.TransportError):
                await asked(history, "first")
        async with life(place, port, ""):
            first = await asked(history, "first")
            history += [first["choices"][0]["message"], {"role": "user", "content": "And yesterday?"}]
            second = await asked(history, "second")
    assert second["choices"][0]["message"]["content"] == "Twelve."
    assert second["angelia"]["conversation"] == first["angelia"]["conversation"]
