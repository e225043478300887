"""Over real pipes, to a real process: clients that send nonsense or vanish, and kills at every point of a prompt."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.ending import Answered
from angelia.testing.model.answerers import by_replies, instant
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.client_side import FS, ClientSide
from tests.acp.editor import Answerer, Editor, Refused, first
from tests.acp.remote import Remote
from tests.acp.test_blocks import image
from tests.acp.test_questions import AGAIN, ASKING, PERMISSION, choose, results
from tests.acp.test_rpc import DEEP
from tests.examples import some
from tests.media_forks import FORKED
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

SIDE_BY_SIDE = 3

NONSENSE = (
    (b"{", -32700),
    (b"[]", -32600),
    (b"", 0),
    (b"\xff\xfe\x00", -32700),
    (b'{"jsonrpc":"2.0","id":"x","method":"no/such"}', -32601),
    (b'{"jsonrpc":"2.0","id":"\\x","method":"session/list"}', -32700),
    (b'{"jsonrpc":"2.0","id":"x","method":"session/list","params":{"cwd":"\xff"}}', -32700),
    (b'{"jsonrpc":"2.0","id":"x","method":"session/list","params":' + DEEP + b"}", -32700),
    (b'{"jsonrpc":"2.0","id":"x","method":"initialize","params":{}}', -32602),
)
"""Lines, and the code of the error that each is answered with; none for an empty line."""


async def test_nonsense_is_answered_and_the_process_lives(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Remote(first(server, tmp_path)) as editor:
        for line, _ in NONSENSE:
            editor.write(line)
        await editor.until(lambda editor: len(editor.stray) == len(NONSENSE) - 1)
        assert [one["error"]["code"] for one in editor.stray] == [code for _, code in NONSENSE if code]
        await editor.hello()
        session = await editor.new()
        huge = {"type": "image", "mimeType": "image/png", "data": "A" * 60_000_000}
        with pytest.raises(Refused, match="60 MB"):
            await editor.prompt(session, huge)
        assert await editor.prompt(session, "Still there?") == "end_turn"


async def test_nothing_but_the_protocol_is_on_stdout(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        async with Remote(place, entry="tests.acp.doors:chatty") as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "x") == "end_turn"
        assert "a stray print" in (tmp_path / "err").read_text()


@pytest.mark.parametrize("stdin", ["a file", "/dev/null"])
async def test_without_pipes_it_says_who_starts_it(tmp_path: Path, stdin: str) -> None:
    path = tmp_path / stdin  # an absolute one stands for itself
    if not path.exists():
        path.write_text("{}\n")
    async with ModelServer(instant) as server:
        env = first(server, tmp_path).env
        words = [sys.executable, "-m", "angelia", "acp", "--model", "openai-chat:m"]
        with path.open("rb") as given:
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(*words, env=env, stdin=given, stdout=pipe, stderr=pipe)
            out, err = await process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert b"started by an editor" in err
    assert b"Traceback" not in err


async def test_a_client_that_leaves_ends_the_process_and_the_answer_is_kept(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        async with Remote(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "x")
            assert await editor.leave() == 0
        facts = await place.facts()
        assert [fact.status for fact in facts if isinstance(fact, e.DeliverySettled)] == [e.DeliveryStatus.SENT]


async def test_a_client_that_vanishes_in_mid_permission_is_asked_again_later(tmp_path: Path) -> None:
    async with ModelServer(AGAIN) as server:
        place = first(server, tmp_path, sets=ASKING)
        async with Remote(place) as editor:
            await editor.hello()
            session = await editor.new()
            editor.begin(session, "Write.")
            await editor.until(lambda editor: editor.asked)
            assert await editor.leave() == 0
        assert await results(place) == []
        async with Remote(place, {PERMISSION: choose("allow_once")}) as editor:
            await editor.hello()
            await editor.load(session)
            await editor.until(lambda editor: editor.text().endswith("Written."))
        assert await results(place) == [CallStatus.OK]


SCRIPT = by_replies(
    [
        say("I write.") + call("write", {"path": "a.txt", "content": "x\n"}, wire_id="call_1"),
        call("shell", {"command": "echo x >> counter"}, wire_id="call_2"),
        say("It is written."),
    ]
)
SETS = (*ASKING, "sandbox.confine=off")  # so that every command asks, wherever this runs
TRIES = 5
NEVER = ["not reached"]


def at_desk() -> dict[str, Answerer]:
    """An editor with files of its own, whose person says yes."""
    return {**ClientSide().answers, PERMISSION: choose("allow_once")}


async def lived(place: Place, at: str = "") -> tuple[str, list[str]]:
    """A session with a picture and two questions, until its end or until it is killed; its id, and what was passed."""
    editor = Remote(place, at_desk(), at=at)
    session = ""
    async with editor:
        try:
            await editor.hello(**FS)
            session = await editor.new()
            await editor.prompt(session, "Write.", image(one_colour("orange")))
        except ConnectionResetError:
            pass
    return session, editor.passed


async def found_at(folder: Path, at: str) -> list[str]:
    """What is wrong after a kill at one point. It is tried again when the point was not reached: how many appends go
    into one commit is left to chance.
    """
    for life in range(TRIES):
        async with ModelServer(SCRIPT) as server:
            place = first(server, folder / str(life), sets=SETS)
            place.env |= FORKED
            session, passed = await lived(place, at)
            if at in passed:
                return await broken(place, session, server)
    return NEVER


async def broken(place: Place, session: str, server: ModelServer) -> list[str]:
    """What is wrong when a new life loads the session that was killed."""
    left = await place.entries()
    async with Editor(place, at_desk()) as editor:
        await editor.hello(**FS)
        if left:
            await editor.load(session)
            await editor.rest(session)
        else:
            session = await editor.new()
            await editor.prompt(session, "Write.", image(one_colour("orange")))
    facts = await place.facts()
    said = [fact for fact in facts if isinstance(fact, e.UserSaid)]
    endings = [fact.ending for fact in facts if isinstance(fact, e.TurnClosed)]
    seen = [len(request.heard.media) for request in server.requests]
    problems = [*await place.problems(), *editor.complaints, *await about_effects(place)]
    if len(said) != 1 or endings != [Answered()]:
        problems.append(f"{len(said)} messages, closed with {endings}")
    if set(seen) != {1}:
        problems.append(f"requests carried {seen} pictures")
    if editor.text().count("It is written.") != 1:
        problems.append("the answer is not told once")
    return problems


async def about_effects(place: Place) -> list[str]:
    """What is wrong with the file and with what the command did."""
    ended = await results(place)
    if len(ended) != 2 or not {*ended} <= {CallStatus.OK, CallStatus.UNKNOWN}:
        return [f"the calls are told as {ended}"]
    said = []
    for status, name in zip(ended, ("a.txt", "counter"), strict=True):
        file = place.workspace / name
        if (file.read_text() if file.exists() else "") not in ("x\n", *([""] if status is CallStatus.UNKNOWN else [])):
            said.append(f"{name} is not as it was asked for, and its call is told as {status}")
    return said


async def test_killed_anywhere_during_a_prompt_the_conversation_is_whole(tmp_path: Path) -> None:
    """At every third point that a whole life passes; `make soak` takes all of them."""
    async with ModelServer(SCRIPT) as server:
        _, points = await lived(first(server, tmp_path / "whole", sets=SETS))
    around = ["command.before_start:1", "command.after_start:1"]
    assert {*around} <= {*points}
    chosen = dict.fromkeys([*some(points, 5), *around])
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(point: str) -> tuple[str, list[str]]:
        async with gate:
            return point, await found_at(tmp_path / re.sub(r"\W", "-", point), point)

    found = {point: said for point, said in await asyncio.gather(*map(one, chosen)) if said}
    grouped = [point for point in chosen if found.get(point) == NEVER and point.startswith("append.")]
    assert len(grouped) <= 4, grouped
    found = {point: said for point, said in found.items() if point not in grouped}
    assert not found, "\n".join(f"{point}: {said}" for point, said in found.items())
