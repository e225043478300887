"""Programs that people chat in: LibreChat by its engine and its library, Open WebUI by the requests that it makes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.npm import installed
from tests.web.v1.programs import PICTURE, Programs, served

from angelia.core import entry as e
from angelia.testing.model.steps import Step, call, say

pytestmark = pytest.mark.anyio

HERE = Path(__file__).with_name("librechat")
ENGINE = Path(__file__).with_name("librechat_engine")
ANSWER, LOOKED, TITLE = "The south bed, by far.", "That is a red dot.", "Beds and harvest"


async def conversations(programs: Programs) -> list[list[str]]:
    """The kinds of openings in each conversation of the program, the first begun first."""
    found = [one.id for one in await programs.app.transcript.conversations(programs.owner)]
    logs = [await programs.app.transcript.entries(one) for one in sorted(found)]
    return [[part.text for entry in log if isinstance(entry.fact, e.UserSaid) and not entry.fact.forwarded
             for part in entry.fact.parts if hasattr(part, "text")] for log in logs]  # fmt: skip


@pytest.mark.real("npm")
@pytest.mark.slow
async def test_librechat_chats_with_pictures_and_makes_a_title(tmp_path: Path) -> None:
    """LibreChat 0.8 asks by `@langchain/openai`."""
    folder = installed("librechat", HERE / "package.json")
    async with served(tmp_path, [say(ANSWER), say(LOOKED), say(TITLE)]) as (programs, model):
        key = await programs.key()
        process = await asyncio.create_subprocess_exec(
            *("node", str(HERE / "speak.mjs"), f"{programs.page.address}/v1", key, PICTURE),
            cwd=folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        came = json.loads(out)
        chat, title = await conversations(programs)
        assert len(model.requests[1].images) == 1
    assert (came["first"]["words"], came["second"]["words"], came["title"]) == (ANSWER, LOOKED, TITLE)
    assert came["first"]["pieces"] > 1
    assert came["first"]["usage"]["output_tokens"] > 0
    wanted, asked, looked = chat  # one conversation: the history is known, and goes on where it was
    assert "You are a gardener." in wanted
    assert (asked, looked) == ("Which bed brought most?", "And this?")
    assert len(title) == 1


@pytest.mark.real("npm")
@pytest.mark.slow
@pytest.mark.soak
async def test_librechats_own_engine_streams_calls_its_tool_and_makes_a_title(tmp_path: Path) -> None:
    """`@librechat/agents`, which LibreChat runs each of its messages by; the rest of it needs a MongoDB."""
    folder = installed("librechat-engine", ENGINE / "package.json")
    weighs = call("weigh", {"bed": "south"})
    async with served(tmp_path, [weighs, say(ANSWER), say(LOOKED), say(TITLE)]) as (programs, model):
        process = await asyncio.create_subprocess_exec(
            *("node", str(ENGINE / "speak.mjs"), f"{programs.page.address}/v1", await programs.key(), PICTURE),
            cwd=folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        came = json.loads(out)
        assert [len(one.images) for one in model.requests] == [0, 0, 1, 0]
    assert (came["weighed"], came["first"], came["second"], came["title"]) == (["south"], ANSWER, LOOKED, TITLE)
    assert came["pieces"] > 1
    assert all(used["output_tokens"] > 0 for used in came["used"])


TASK = "### Task:\nGenerate a concise, 3-5 word title.\n### Chat History:\n<chat_history>\nUSER: {0}\n</chat_history>"


async def test_open_webui_finds_the_models_chats_and_makes_title_and_tags(tmp_path: Path) -> None:
    """As its `routers/openai.py`, `utils/middleware.py` and `routers/tasks.py` ask (0.6)."""
    steps: list[Step] = [say(ANSWER), say('{ "title": "Beds" }'), say(LOOKED)]
    async with served(tmp_path, steps) as (programs, model):
        key = await programs.key()
        client, base = programs.page.client, f"{programs.page.address}/v1"
        head = {
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
            "user-agent": "Python/3.11 aiohttp/3.12",
        }
        verified = await client.get(f"{base}/models", headers=head)
        assert verified.json()["data"][0]["id"] == "angelia"
        refused = await client.get(f"{base}/models", headers=head | {"authorization": "Bearer wrong"})
        assert (refused.status_code, "error" in refused.json()) == (401, True)

        async def asked(messages: list[dict[str, Any]]) -> str:
            params = {"temperature": 0.8, "max_tokens": 512, "stream_options": {"include_usage": True}}
            body = {"model": "angelia", "stream": True, "messages": messages, **params}
            words, usage = "", dict[str, int]()
            async with client.stream("POST", f"{base}/chat/completions", json=body, headers=head) as came:
                assert "text/event-stream" in came.headers["content-type"]
                async for line in came.aiter_lines():
                    data = line.removeprefix("data:").strip()
                    if line.startswith("data:") and data != "[DONE]":
                        usage = json.loads(data).get("usage") or usage
                        words += "".join(one["delta"].get("content") or "" for one in json.loads(data)["choices"])
            assert usage["total_tokens"] > 0
            return words

        said: list[dict[str, Any]] = [{"role": "user", "content": "Which bed brought most?"}]
        assert await asked(said) == ANSWER
        task = {"role": "user", "content": TASK.format(said[0]["content"])}
        body = {"model": "angelia", "messages": [task], "stream": False, "max_completion_tokens": 1000}
        titled = (await client.post(f"{base}/chat/completions", json=body, headers=head)).json()
        assert json.loads(titled["choices"][0]["message"]["content"]) == {"title": "Beds"}
        looked = [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
        history = [*said, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": looked}]
        assert await asked(history) == LOOKED
        chat, _ = await conversations(programs)
        assert (len(chat), len(model.requests[2].images)) == (2, 1)
