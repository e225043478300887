"""The official clients in Python and TypeScript, which nobody here wrote, drive every method over stdio."""

import asyncio
import json
import os
import shutil
import sys
from base64 import b64encode
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

import acp
from acp import schema
from angelia.testing.model import steps
from angelia.testing.model.answerers import name_the_colour
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.acp.client_side import ClientSide
from tests.acp.editor import Refused, first
from tests.npm import installed
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent


EDITS = (
    call("read", {"path": "b.txt"}),
    call("edit", {"path": "b.txt", "old": "unsaved", "new": "saved"}),
    call("shell", {"command": "cat b.txt"}),
    call("shell", {"command": "sleep 600", "seconds": 1}),
)


def story(request: ReceivedRequest) -> Step:
    """A colour; calls that ask for a yes, and a question of the model's own; files and terminals; silence."""
    done = sum(len(said.calls) for said in request.heard.messages)
    match _asked(request):
        case "Colour?":
            return name_the_colour(request)
        case "Work." if done == 0:
            return say("I write.") + call("write", {"path": "a.txt", "content": "x\n"})
        case "Work." if done == 1:
            return call("ask_user", {"question": "Which?", "choices": ["red", "blue"]})
        case "Work." if done == 2:
            return call("todo", {"items": [{"text": "All", "status": "done"}]})
        case "Work.":
            return say("Done.")
        case "Edit." if done < 3 + len(EDITS):
            return EDITS[done - 3]
        case "Edit.":
            return say("Edited.")
        case _:
            return steps.hang()


def _asked(request: ReceivedRequest) -> str:
    """What the person said last, notes of ours aside."""
    said = "\n".join(one.text for one in request.heard.messages if one.role == "user")
    return max(("Colour?", "Work.", "Edit.", "Hang."), key=said.rfind)


def argv(place: Place) -> list[str]:
    """How a client starts the agent."""
    return [sys.executable, "-m", "angelia", "acp", "--model", f"{place.wire}:m", "--set=policy.mode=ask"]


class Client:
    """What the Python SDK calls back."""

    def __init__(self) -> None:
        self.client = ClientSide()
        self.asked: list[str] = []
        self.updates: list[Any] = []
        self.permissions = self.elicitations = 0

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """An update."""
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        """Yes, for as long as it can be said."""
        self.permissions += 1
        chosen = [one for one in options if one.kind.startswith("allow")][-1]
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        """Blue."""
        self.elicitations += 1
        return schema.AcceptElicitationResponse(action="accept", content={"answer": "blue"})

    async def _at_desk(self, method: str, **params: Any) -> Any:
        self.asked.append(method)
        try:
            answer = self.client.answers[method](params)
        except Refused as refused:
            raise acp.RequestError(refused.code, refused.message) from None
        return await answer if isawaitable(answer) else answer

    async def read_text_file(self, path: str, session_id: str, **_: Any) -> Any:
        """As it is at the client."""
        return schema.ReadTextFileResponse(**await self._at_desk("fs/read_text_file", path=path))

    async def write_text_file(self, content: str, path: str, session_id: str, **_: Any) -> None:
        """To the disk."""
        await self._at_desk("fs/write_text_file", path=path, content=content)

    async def create_terminal(self, command: str, session_id: str, args: Any, cwd: str, **_: Any) -> Any:
        """A real one."""
        made = await self._at_desk("terminal/create", command=command, args=args, cwd=cwd)
        return schema.CreateTerminalResponse(terminal_id=made["terminalId"])

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        """What it wrote."""
        return schema.TerminalOutputResponse.model_validate(
            await self._at_desk("terminal/output", terminalId=terminal_id)
        )

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        """How it ended."""
        ended = await self._at_desk("terminal/wait_for_exit", terminalId=terminal_id)
        return schema.WaitForTerminalExitResponse.model_validate(ended)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        """End it."""
        await self._at_desk("terminal/kill", terminalId=terminal_id)

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        """Let go of it."""
        await self._at_desk("terminal/release", terminalId=terminal_id)

    def said(self) -> str:
        """The text of the replies."""
        chunks = [one for one in self.updates if isinstance(one, schema.AgentMessageChunk)]
        return "".join(one.content.text for one in chunks if isinstance(one.content, schema.TextContentBlock))


async def test_the_official_python_client_drives_every_method(tmp_path: Path) -> None:
    async with ModelServer(story) as server:
        place, client = first(server, tmp_path), Client()
        cwd, (command, *words) = str(place.workspace), argv(place)
        async with acp.spawn_agent_process(
            client,  # type: ignore[arg-type]  # the parts of a client that an agent asks for
            command,
            *words,
            env=place.env,
            use_unstable_protocol=True,
        ) as (agent, process):
            forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
            able = schema.ClientCapabilities(
                elicitation=forms,
                fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
                terminal=True,
            )
            hello = await agent.initialize(acp.PROTOCOL_VERSION, able)
            assert hello.auth_methods
            await agent.authenticate(hello.auth_methods[0].id)
            session = (await agent.new_session(cwd)).session_id
            await agent.set_config_option("sandbox", session, "local")
            await check_turns(agent, client, session)
            await agent.set_config_option("commands", session, "editor")
            await check_editing(agent, client, session, place)
            await agent.set_session_mode(session, "edit")
            options = await agent.set_config_option("model", session, "openai-chat:other")
            assert "openai-chat:other" in [one.current_value for one in options.config_options]
            waiting = asyncio.create_task(agent.prompt(session, [acp.text_block("Hang.")]))
            await server.when(lambda server: _asked(server.requests[-1]) == "Hang.")
            await agent.cancel(session)
            assert (await waiting).stop_reason == "cancelled"
            await check_taking_back(agent, session, server)
            client.updates.clear()
            answered = await agent.prompt(session, [acp.text_block("/status")])
            assert (answered.stop_reason, session in client.said()) == ("end_turn", True)
            await check_reopening(agent, client, session, cwd)
            assert process.returncode is None


async def check_turns(agent: Any, client: Client, session: str) -> None:
    """A picture is seen, and work is shown, asked about and done."""
    picture = acp.image_block(b64encode(one_colour("orange")).decode(), "image/png")
    answered = await agent.prompt(session, [acp.text_block("Colour?"), picture])
    assert (answered.stop_reason, client.said()) == ("end_turn", "orange")
    answered = await agent.prompt(session, [acp.text_block("Work.")])
    assert (answered.stop_reason, client.permissions, client.elicitations) == ("end_turn", 1, 1)
    kinds = {type(one).__name__ for one in client.updates}
    assert {"ToolCallStart", "ToolCallProgress", "AgentPlanUpdate", "AvailableCommandsUpdate"} <= kinds
    assert [one.title for one in client.updates if isinstance(one, schema.SessionInfoUpdate)] == ["Colour?"]
    filled = [one for one in client.updates if isinstance(one, schema.UsageUpdate)]
    assert 0 < filled[0].used < filled[-1].used < filled[-1].size


async def check_editing(agent: Any, client: Client, session: str, place: Place) -> None:
    """What is not saved is seen, what is changed is written there, and commands run in a terminal there."""
    file = place.workspace / "b.txt"
    file.write_text("on the disk\n")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    client.client.unsaved[str(file)] = "unsaved\n"
    assert (await agent.prompt(session, [acp.text_block("Edit.")])).stop_reason == "end_turn"
    assert file.read_text() == "saved\n"
    assert {method.partition("/")[2] for method in client.asked} == {
        *("read_text_file", "write_text_file"),
        *("create", "output", "wait_for_exit", "kill", "release"),
    }
    changes = [one for one in client.updates if isinstance(one, schema.ToolCallProgress)]
    shown = {piece.terminal_id for one in changes for piece in one.content or () if piece.type == "terminal"}
    assert shown == {"term-1", "term-2"}


async def check_taking_back(agent: Any, session: str, server: ModelServer) -> None:
    """A request is taken back by its number; the client has no name for that yet."""
    asked, connection = len(server.requests), agent._conn
    number = connection._next_request_id
    waiting = asyncio.create_task(agent.prompt(session, [acp.text_block("Hang.")]))
    await server.when(lambda server: len(server.requests) > asked)
    await connection.send_notification("$/cancel_request", {"requestId": number})
    assert (await waiting).stop_reason == "cancelled"


async def check_reopening(agent: Any, client: Client, session: str, cwd: str) -> None:
    """A session is listed, on the second page too, closed, resumed, loaded, deleted; then one logs out."""
    assert [(one.session_id, one.title) for one in (await agent.list_sessions()).sessions] == [(session, "Colour?")]
    made = [(await agent.new_session(cwd)).session_id for _ in range(50)]
    for one in made:
        await agent.prompt(one, [acp.text_block("Colour?")])
    page = await agent.list_sessions()
    rest = await agent.list_sessions(cursor=page.next_cursor)
    assert (len(page.sessions), len(rest.sessions), rest.next_cursor) == (50, 1, None)
    assert [one.session_id for one in (*page.sessions, *rest.sessions)] == [*reversed(made), session]
    await agent.close_session(session)
    with pytest.raises(acp.RequestError):
        await agent.prompt(session, [acp.text_block("x")])
    client.updates.clear()
    await agent.resume_session(session, cwd)
    assert client.said() == ""
    await agent.load_session(cwd, session)
    assert client.said().startswith("orangeI write.")
    for method, params in (("session/delete", {"sessionId": session}), ("logout", {})):
        await agent._conn.send_request(method, params)  # the client has no name for these yet
    with pytest.raises(acp.RequestError):
        await agent.new_session(cwd)


@pytest.fixture
def typescript() -> Path:
    """A folder with the official TypeScript client in it, installed once per version into the user's cache."""
    cache = installed("acp-typescript", HERE / "typescript" / "package.json")
    shutil.copy(HERE / "typescript" / "drive.mjs", cache / "drive.mjs")
    return cache


@pytest.mark.soak
@pytest.mark.real("acp-typescript")
async def test_the_official_typescript_client_drives_every_method(tmp_path: Path, typescript: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(one_colour("orange"))
    async with ModelServer(story) as server:
        place = first(server, tmp_path)
        pipe = asyncio.subprocess.PIPE
        words = ["node", str(typescript / "drive.mjs"), str(place.workspace), str(picture), *argv(place)]
        driving = await asyncio.create_subprocess_exec(
            *words, env=place.env, stdout=pipe, stderr=pipe, limit=10_000_000
        )
        out, err = await driving.communicate()
        assert driving.returncode == 0, err.decode()
    seen = json.loads(out)
    assert {name: stop["stopReason"] for name, stop in seen["stops"].items()} == {
        "colour": "end_turn",
        "tools": "end_turn",
        "editing": "end_turn",
        "cancelled": "cancelled",
        "taken back": "cancelled",
        "command": "end_turn",
    }
    assert (seen["asked"]["elicitation"], seen["status"]) == (1, 0)
    assert seen["asked"]["permission"] >= 3
    assert set(seen["asked"]) == {
        *("permission", "elicitation", "read", "write"),
        *("create", "output", "waitForExit", "kill", "release"),
    }
    assert (place.workspace / "b.txt").read_text() == "saved\n"
    assert seen["errors"] == {"closed": -32002, "deleted": -32002, "unknown": -32601, "logged out": -32000}
    said = [one["update"] for one in seen["updates"] if one["update"]["sessionUpdate"] == "agent_message_chunk"]
    assert said[0]["content"]["text"] == "orange"
    assert (seen["resumed"], seen["pages"], seen["listed"]["title"]) == (0, [50, 1], "Colour?")
    session = seen["listed"]["sessionId"]
    told = {one["update"]["sessionUpdate"]: one["update"] for one in seen["updates"] if one["sessionId"] == session}
    assert told["session_info_update"]["title"] == "Colour?"
    assert 0 < told["usage_update"]["used"] < told["usage_update"]["size"]
    assert any(session in one["content"]["text"] for one in said)
    assert {"user_message_chunk", "tool_call", "tool_call_update", "plan", "agent_message_chunk"} <= set(seen["loaded"])
    assert (place.workspace / "a.txt").read_text() == "x\n"
