"""The bridge to pydantic-ai: what its models are asked, and what their answers become."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall

from angelia.context.request import RequestMessage, Result, Role
from angelia.core.content import CallStatus, ProviderBlock, Text, Thinking, ToolCall
from angelia.core.entry import StopReason
from angelia.core.ids import CallId
from angelia.models.port import CallBegun, Reply, TextDelta, ThinkingDelta
from angelia.models.pydantic_ai.provider import BridgeProvider
from tests.models.bridge.asked import DONE, HELLO, TEXT, USAGE, chunk, collected, request, scripted
from tests.models.loopback import Server, streams
from tests.models.shapes import PNG, photo


@pytest.mark.anyio
async def test_a_reply_streams_and_ends_with_usage(provider: BridgeProvider, server: Server) -> None:
    server.answers = [streams(*TEXT, chunk({}, "stop"), chunk({}, choices=[], usage=USAGE), DONE)]
    *deltas, reply = await collected(provider, request())
    assert deltas == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(reply, Reply)
    assert (reply.parts, reply.stop) == ((Text("Hello"),), StopReason.END)
    assert (reply.usage.input, reply.usage.output, reply.usage.cache_read) == (9, 2, 4)


@pytest.mark.anyio
async def test_the_whole_conversation_arrives(provider: BridgeProvider, server: Server) -> None:
    server.answers = [streams(*TEXT, chunk({}, "stop"), DONE)]
    call = ToolCall(CallId("c2_0"), "shell", '{"command":"ls"}', "call_theirs")
    result = Result(CallId("c2_0"), "shell", CallStatus.OK, (Text("a.txt"),), "call_theirs")
    await collected(
        provider,
        request(
            RequestMessage(1, Role.USER, (Text("See"), photo())),
            RequestMessage(2, Role.ASSISTANT, (Thinking("hm"), Text("Looking."), call), "anthropic"),
            RequestMessage(3, Role.TOOL, (result,)),
        ),
    )
    body = msgspec.json.decode(server.requests[0].body)
    system, user, assistant, tool = body["messages"]
    assert system["content"] == "Be brief."
    assert user["content"][0]["text"] == "See"
    assert base64.b64encode(PNG + b"\0").decode() in user["content"][1]["image_url"]["url"]
    assert assistant["content"] == "Looking."
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"] == "c2_0"
    assert tool["content"] == "a.txt"
    assert body["tools"][0]["function"]["name"] == "shell"
    assert b"sk-very-secret" in server.requests[0].head


@pytest.mark.anyio
async def test_a_tool_call_arrives_as_the_model_wrote_it(provider: BridgeProvider, server: Server) -> None:
    def part(**function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}

    written = [
        chunk(part(name="shell", arguments="")),
        chunk(part(arguments='{"command": ')),
        chunk(part(arguments='"ls"}')),
    ]
    server.answers = [streams(*written, chunk({}, "tool_calls"), DONE)]
    begun, reply = await collected(provider, request())
    assert begun == CallBegun("shell")
    assert isinstance(reply, Reply)
    assert reply.parts == (ToolCall(CallId(""), "shell", '{"command": "ls"}', "call_1"),)
    assert reply.stop is StopReason.TOOL_CALLS


@pytest.mark.anyio
@pytest.mark.parametrize("written", ['{"comm', '{"command":  "ls"}', "", "ls"])
async def test_arguments_are_never_repaired(written: str) -> None:
    async def called(_: list[theirs.ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        yield {0: DeltaToolCall(name="shell", json_args=written, tool_call_id="t1")}

    reply = (await collected(scripted(called), request()))[-1]
    assert isinstance(reply, Reply)
    assert reply.parts == (ToolCall(CallId(""), "shell", written, "t1"),)


@pytest.mark.anyio
async def test_signed_thinking_goes_back_as_it_came() -> None:
    heard: list[theirs.ModelMessage] = []

    async def thinking(messages: list[theirs.ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        heard[:] = messages
        yield {0: DeltaThinkingPart(content="Let me see", signature="sig/==")}
        yield {1: DeltaToolCall(name="shell", json_args='{"command":"ls"}', tool_call_id="t1")}

    provider = scripted(thinking, "tool_call")
    *deltas, reply = await collected(provider, request())
    assert deltas == [ThinkingDelta("Let me see"), CallBegun("shell")]
    assert isinstance(reply, Reply)
    thought, call = reply.parts
    assert isinstance(thought, Thinking)
    assert isinstance(call, ToolCall)
    named = msgspec.structs.replace(call, id=CallId("c2_0"))
    result = Result(CallId("c2_0"), "shell", CallStatus.ERROR, (Text("no"),), "t1")
    said = RequestMessage(2, Role.ASSISTANT, (thought, named), "pydantic-ai")
    await collected(provider, request(HELLO, said, RequestMessage(3, Role.TOOL, (result,))))
    response, returned = heard[1:]
    assert isinstance(response, theirs.ModelResponse)
    assert response.parts[0] == theirs.ThinkingPart("Let me see", signature="sig/==", provider_name="function")
    assert isinstance(returned, theirs.ModelRequest)
    (back,) = returned.parts
    assert isinstance(back, theirs.ToolReturnPart)
    assert (back.tool_call_id, back.content, back.outcome) == ("t1", "no", "failed")


@pytest.mark.anyio
async def test_another_vendors_thinking_and_blocks_stay_away() -> None:
    heard: list[theirs.ModelMessage] = []

    async def words(messages: list[theirs.ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        heard[:] = messages
        yield "Hi"

    block = ProviderBlock("anthropic", Raw(b'{"type":"redacted_thinking","data":"x"}'))
    foreign = RequestMessage(2, Role.ASSISTANT, (Thinking("hm", native=block), block, Text("Hi.")), "anthropic")
    await collected(scripted(words), request(HELLO, foreign, RequestMessage(3, Role.USER, (Text("Go on"),))))
    assert isinstance(heard[1], theirs.ModelResponse)
    assert heard[1].parts == [theirs.TextPart("Hi.")]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("finish", "stop"),
    [("length", StopReason.LENGTH), ("content_filter", StopReason.REFUSAL), ("tool_call", StopReason.END)],
)
async def test_finish_reasons_are_said_in_our_words(finish: theirs.FinishReason, stop: StopReason) -> None:
    async def words(_: list[theirs.ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        yield "Hi"

    reply = (await collected(scripted(words, finish), request()))[-1]
    assert isinstance(reply, Reply)
    assert reply.stop is stop
