"""What a page shows is what the log holds, whatever happens to its connection or to the server."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.engine import model_call
from angelia.engine.live import Writing
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import How, Speak, call, cut_after, hang, say, slowly, think
from tests.examples import TIMES
from tests.ports import free_port
from tests.promise.lives import ROOT
from tests.web.visitor import MODEL, Visitor, events_of, opened, visiting

pytestmark = pytest.mark.anyio

PIECES, CUTS = (10_000, 200) if TIMES else (1_500, 20)
KILLS = 20 if TIMES else 2
"""The first numbers are those of `make soak`."""


def long_answer(words: int = PIECES) -> Speak:
    return slowly(say(" ".join(f"word{number}" for number in range(words))), between=0.0002)


class Shown:
    """What a page has on it: entries by their numbers, and the pieces since the last of them."""

    def __init__(self) -> None:
        self.entries: dict[int, dict[str, Any]] = {}
        self.pieces = ""

    @property
    def last(self) -> int:
        return max(self.entries, default=0)

    @property
    def closed(self) -> bool:
        return any(one["kind"] == "TurnClosed" for one in self.entries.values())

    def take(self, name: str, data: dict[str, Any]) -> None:
        if name == "entry":
            assert data["seq"] == self.last + 1, "a gap, or a repeat"
            self.entries[data["seq"]] = data
            self.pieces = ""
        elif name == "live" and data["kind"] == "writing":
            self.pieces += data["text"]


async def test_a_connection_that_is_cut_again_and_again_loses_nothing(tmp_path: Path) -> None:
    async with (
        ModelServer([long_answer()]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        where = f"/api/conversations/{conversation}/events"

        async def watched(cut_after: int, cuts: int) -> Shown:
            """One tab: it is cut off after so many events, again and again, and comes back where it was."""
            shown = Shown()
            while not shown.closed:
                left = cut_after if cuts > 0 else sys.maxsize
                cuts -= 1
                async with page.hears(where, shown.last) as events:
                    async for event in events:
                        shown.take(event.name, event.data)
                        left -= 1
                        if not left or event.data.get("kind") == "TurnClosed":
                            break
            return shown

        tabs = [asyncio.create_task(watched(after, CUTS)) for after in (1, 7, 30)]
        await page.says(conversation, "tell me all")
        seen = await asyncio.gather(*tabs)
        whole = (await page.json(f"/api/conversations/{conversation}/entries?limit=500"))["entries"]
        for tab in seen:
            count = tab.last
            assert list(tab.entries.values()) == whole[:count]
        reply = next(one for one in whole if one["kind"] == "ModelSaid")
        assert reply["text"].endswith(f"word{PIECES - 1}")


async def test_what_was_shown_while_it_was_written_is_what_is_stored(tmp_path: Path) -> None:
    plan = call("todo", {"items": [{"text": "Answer", "status": "active"}]})
    steps = [plan, long_answer(500), plan, long_answer(600)]
    async with (
        ModelServer(steps) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation, told = await page.begun(), list[str]()
        for number in (1, 2):
            await page.says(conversation, "go on", f"key-000{number}")
            shown = Shown()
            async with page.hears(f"/api/conversations/{conversation}/events") as events:
                async for event in events:
                    if event.name == "entry" and event.data["kind"] == "ModelSaid" and event.data["text"]:
                        told.append(shown.pieces)
                    shown.take(event.name, event.data)
                    if [one["kind"] for one in shown.entries.values()].count("TurnClosed") == number:
                        break
        answers = [one["text"] for one in shown.entries.values() if one["kind"] == "ModelSaid" and one["text"]]
        assert told == [answers[0], "", answers[1]], "the second reader was told the first answer by its entry"


async def test_who_looks_in_the_middle_of_a_reply_is_told_what_came_while_nobody_looked(tmp_path: Path) -> None:
    words = "All this came, and nothing more comes."
    async with (
        ModelServer([cut_after(think("Hm.") + say(words), 1_000, how=How.SILENCE)]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "tell me all")
        live, more = app.conversations.sessions[ConversationId(conversation)].live, asyncio.Event()
        live.watch(lambda _: more.set())
        while Writing(words) not in live.growing:
            await more.wait()
            more.clear()
        await page.until(conversation, "ModelAsked")
        for _ in range(2):
            told = await _shown_at_once(page, conversation)
            assert [(one["kind"], one["text"]) for one in told] == [("thinking", "Hm."), ("writing", words)]
        await page.post(f"/api/conversations/{conversation}/stop")


async def _shown_at_once(page: Visitor, conversation: str) -> list[dict[str, Any]]:
    """What is in no log, of what somebody is told who comes now: all of it, before where the conversation stands."""
    told: list[dict[str, Any]] = []
    async with page.hears(f"/api/conversations/{conversation}/events") as events:
        async for event in events:
            if event.name == "state":
                return told
            if event.name == "live":
                told.append(event.data)
    raise AssertionError("the stream ended")


async def test_who_comes_in_the_middle_of_a_wait_is_told_for_what_since_when_and_until_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_call, "QUIET_S", 0.01)
    async with (
        ModelServer([hang()]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        async with page.hears(f"/api/conversations/{conversation}/events") as events:
            assert (await anext(events)).name == "state", "somebody looks before there is anything"
            await page.says(conversation, "Hello?")
            first = await anext(event.data async for event in events if event.data.get("kind") == "asked")
        assert first["until"] - first["since"] == 600_000
        assert await _shown_at_once(page, conversation) == [first], "nothing new comes of it meanwhile"
        await page.post(f"/api/conversations/{conversation}/stop")


@asynccontextmanager
async def life(folder: Path, base_url: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """`angelia web` in a process of its own; it is killed at the end."""
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "HOME": str(folder / "person"),
        "ANGELIA_HOME": str(folder / "home"),
        "OPENAI_API_KEY": "key",
        "OPENAI_BASE_URL": base_url,
        "OLLAMA_HOST": "127.0.0.1:9",
    }
    words = ["web", "--no-open", "--listen", f"127.0.0.1:{port}", "--set", f"model={MODEL}"]
    (folder / "work").mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "angelia", *words),
        env=environ,
        cwd=folder / "work",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def link_of(process: asyncio.subprocess.Process) -> tuple[str, str]:
    """Where the page is, and the code that logs in."""
    assert process.stdout is not None
    address, _, code = (await process.stdout.readline()).decode().strip().partition("/#code=")
    assert code
    return address, code


class Life:
    """A page that was opened in one life of the server and comes back to each that follows."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.shown, self.conversation = Shown(), ""
        self._client = client

    async def begin(self, address: str, code: str) -> None:
        """Log in, and begin the conversation."""
        head = {"origin": address, "content-type": "application/json"}
        came = await self._client.post(f"{address}/api/login", json={"code": code}, headers=head)
        assert came.status_code == 204
        begun = await self._client.post(f"{address}/api/conversations", json={}, headers=head)
        self.conversation = begun.json()["id"]

    async def say(self, address: str, key: str) -> None:
        """A message."""
        head = {"origin": address, "content-type": "application/json"}
        said = {"text": "go on whatever happens", "key": key}
        await self._client.post(f"{address}/api/conversations/{self.conversation}/messages", json=said, headers=head)

    async def see(self, address: str, turns: int) -> None:
        """From the last entry on, until so many turns have ended or an answer is being written."""
        where, self.shown.pieces = f"{address}/api/conversations/{self.conversation}/events", ""
        head = {"last-event-id": str(self.shown.last)}
        async with self._client.stream("GET", where, headers=head) as came:
            assert came.status_code == 200
            async for event in events_of(came):
                self.shown.take(event.name, event.data)
                ended = [one for one in self.shown.entries.values() if one["kind"] == "TurnClosed"]
                if len(ended) == turns or "word word" in self.shown.pieces:
                    break


async def test_a_server_that_is_killed_loses_nothing_and_goes_on(tmp_path: Path) -> None:
    """Each life is killed while an answer is being written; the next one goes on, and the cookie still holds. A turn
    outlives two kills: the third would end it, and say so.
    """
    port, turns = free_port(), KILLS // 2
    cut = slowly(say(" ".join(["word"] * 400)), between=0.05)
    steps = [step for _ in range(turns) for step in (cut, cut, say("Done at last."))]
    async with ModelServer(steps) as server, httpx2.AsyncClient(timeout=60, verify=False) as client:
        page = Life(client)
        for number in range(3 * turns):
            async with life(tmp_path, server.base_url, port) as process:
                address, code = await link_of(process)
                if not number:
                    await page.begin(address, code)
                if not number % 3:
                    await page.say(address, f"key-{number:04}")
                await page.see(address, number // 3 + 1)
    db = Database.open(tmp_path / "home")
    try:
        (summary,) = await Transcript(db).conversations(OWNER)
        stored = await Transcript(db).entries(summary.id)
    finally:
        db.close()
    kinds = [type(entry.fact).__name__ for entry in stored]
    shown = page.shown.entries
    assert [one["kind"] for one in shown.values()] == kinds[: page.shown.last]
    assert kinds.count("UserSaid") == kinds.count("TurnClosed") == turns
    assert [one["ending"] for one in shown.values() if one["kind"] == "TurnClosed"] == ["Answered"] * turns
    assert kinds.count("ModelAsked") == 3 * turns


async def test_an_answer_that_is_given_in_two_places_counts_once(tmp_path: Path) -> None:
    command = {"command": "echo once >> made.txt", "reach": "outside"}
    async with (
        ModelServer([call("shell", command), say("Made.")]) as server,
        opened(tmp_path, server.base_url, **{"policy.mode": "ask"}) as app,
        visiting(app) as page,
    ):
        (tmp_path / "work").mkdir()
        conversation = str((await page.said("/api/conversations", {"folder": str(tmp_path / "work")}))["id"])
        await page.says(conversation, "make it")
        asked = (await page.until(conversation, "ApprovalAsked"))[-1]
        given = {"call": asked["call"], "digest": asked["digest"]}
        where = f"/api/conversations/{conversation}/answers"
        came = await asyncio.gather(*[page.post(where, given) for _ in range(6)])
        assert {one.status_code for one in came} <= {200, 409}
        told = await page.until(conversation, "TurnClosed")
        assert [one["kind"] for one in told].count("ToolStarted") == 1
        assert (tmp_path / "work/made.txt").read_text() == "once\n"


async def test_of_a_yes_and_a_no_at_once_one_counts_and_the_other_is_told_so(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "echo made", "reach": "outside"}), say("So be it.")]
    async with (
        ModelServer(steps) as server,
        opened(tmp_path, server.base_url, **{"policy.mode": "ask"}) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "make it")
        asked = (await page.until(conversation, "ApprovalAsked"))[-1]
        given = {"call": asked["call"], "digest": asked["digest"]}
        where = f"/api/conversations/{conversation}/answers"
        came = await asyncio.gather(*(page.post(where, {**given, "yes": yes}) for yes in (True, False, True, False)))
        assert sorted(one.status_code for one in came) == [200, 409, 409, 409]
        told = [one["kind"] for one in await page.until(conversation, "TurnClosed")]
        assert told.count("ApprovalGiven") + told.count("ApprovalRefused") == 1


async def test_many_pages_at_once_are_all_told_the_same(tmp_path: Path) -> None:
    pages = 1_000 if TIMES else 60
    async with (
        ModelServer([say("Yes.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        where = f"/api/conversations/{conversation}/events"
        limits = httpx2.Limits(max_connections=pages + 10)
        async with httpx2.AsyncClient(timeout=60, verify=False, limits=limits, cookies=page.client.cookies) as client:
            crowd = [Visitor(client, page.address, page.door) for _ in range(pages)]

            arriving = asyncio.Semaphore(40)  # of those who connect and ask for nothing yet only so many are kept

            async def told(one: Visitor) -> int:
                async with AsyncExitStack() as stack:
                    async with arriving:
                        events = await stack.enter_async_context(one.hears(where))
                    return len([1 async for _ in _to_the_end(events)])

            waiting = [asyncio.create_task(told(one)) for one in crowd]
            await page.says(conversation, "hello")
            counts = await asyncio.gather(*waiting)
        assert len(set(counts)) == 1


async def _to_the_end(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for event in events:
        if event.name == "entry":
            yield event
            if event.data["kind"] == "TurnClosed":
                return
