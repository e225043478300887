"""Whoever reads a stream on after a kill in the middle of a reply never gets two replies as if they were one."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.ports import free_port
from tests.promise.lives import Place
from tests.web.v1.test_program_tool_crashes import life, new_key

from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import cut_after, say, slowly

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LOST, ANEW = "One two three four five six seven eight.", "Nine, as far as anybody here can tell you about it."
STEPS = [cut_after(say(LOST), 5, how="silence"), slowly(say(ANEW), between=0.01)]
"""The first reply stands still in its middle until its process is killed."""


class Program:
    """A program with a key."""

    def __init__(self, port: int, key: str) -> None:
        self._url, self._head = f"http://127.0.0.1:{port}", {"authorization": f"Bearer {key}", "a2a-version": "1.0"}

    @asynccontextmanager
    async def hears(
        self, method: str, path: str, body: object = None, **head: str
    ) -> AsyncIterator[AsyncIterator[tuple[int, dict[str, Any]]]]:
        """What a stream tells: the id of each event, 0 for none, and its data."""
        async with (
            httpx2.AsyncClient(timeout=60, verify=False) as client,
            client.stream(method, self._url + path, json=body, headers={**self._head, **head}) as came,
        ):
            assert came.status_code == 200, (await came.aread()).decode()
            yield _events(came)

    async def gets(self, path: str) -> dict[str, Any]:
        """What there is."""
        async with httpx2.AsyncClient(timeout=60, verify=False) as client:
            found: dict[str, Any] = (await client.get(self._url + path, headers=self._head)).json()
        return found


async def _events(came: httpx2.Response) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    own = 0
    async for line in came.aiter_lines():
        if line.startswith("id: "):
            own = int(line.removeprefix("id: "))
        elif line.startswith("data: "):
            yield own, json.loads(line.removeprefix("data: "))


async def test_the_new_reply_of_a_response_stands_below_what_came_of_the_lost_one(tmp_path: Path) -> None:
    async with ModelServer(STEPS) as model:
        place, port = Place(tmp_path, model), free_port()
        program = Program(port, await new_key(place))
        own, last, words, response = "", -1, "", dict[str, Any]()

        def take(event: dict[str, Any]) -> None:
            nonlocal own, last, words, response
            assert event["sequence_number"] > last
            last = event["sequence_number"]
            response = event.get("response", response)
            own = response["id"]
            words += event["delta"] if event["type"] == "response.output_text.delta" else ""

        async with life(place, port, ""):
            body = {"model": "angelia", "input": "How many?", "stream": True}
            async with program.hears("POST", "/v1/responses", body) as events:
                async for _, event in events:
                    take(event)
                    if len(words) > 6:
                        break
        lost = words
        assert LOST.startswith(lost)
        async with life(place, port, ""):
            for most in (3, 1_000):  # cut once more, in the middle of the new reply
                path = f"/v1/responses/{own}?stream=true&starting_after={last}"
                async with program.hears("GET", path) as events:
                    async for _, event in events:
                        take(event)
                        if len(words) - len(lost) > most:
                            break
            assert words == f"{lost}\n\n{ANEW}"
            assert response["output"][0]["content"][0]["text"] == ANEW
            assert (await program.gets(f"/v1/responses/{own}"))["output"] == response["output"]


async def test_the_answer_of_a_task_comes_whole_in_place_of_what_came_of_the_lost_one(tmp_path: Path) -> None:
    async with ModelServer(STEPS) as model:
        place, port = Place(tmp_path, model), free_port()
        program = Program(port, await new_key(place))
        task, last, words, state = "", 0, "", ""

        def take(own: int, event: dict[str, Any]) -> None:
            nonlocal task, last, words, state
            last, told = own, event["result"]
            task = told["task"]["id"] if "task" in told else task
            if update := told.get("artifactUpdate"):
                more = "".join(part["text"] for part in update["artifact"]["parts"])
                words = words + more if update["append"] else more
            state = told.get("statusUpdate", {}).get("status", {}).get("state", state)

        def call(method: str, **params: Any) -> dict[str, Any]:
            return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

        asked = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "How many?"}]}
        async with (
            life(place, port, ""),
            program.hears("POST", "/a2a", call("SendStreamingMessage", message=asked)) as events,
        ):
            async for own, event in events:
                take(own, event)
                if len(words) > 6:
                    break
        assert LOST.startswith(words)
        async with life(place, port, ""):
            for most in (3, 1_000):
                told = call("SubscribeToTask", id=task)
                async with program.hears("POST", "/a2a", told, **{"last-event-id": str(last)}) as events:
                    async for own, event in events:
                        take(own, event)
                        if ANEW.startswith(words) and len(words) > most:
                            break
            assert (words, state) == (ANEW, "TASK_STATE_COMPLETED")
