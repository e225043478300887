"""The scripted provider keeps the promises of the port of model providers."""

import msgspec
import pytest

from angelia.context.request import ModelRequest, RequestMessage, Role
from angelia.core.content import Text, Thinking, ToolCall
from angelia.core.entry import StopReason
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.core.ids import CallId
from angelia.core.profile import Profile
from angelia.models.port import CallBegun, Credential, Piece, Provider, Reply, TextDelta
from angelia.testing.model.in_process import ScriptedProvider
from angelia.testing.model.received import Complaint
from angelia.testing.model.script import ScriptOver
from angelia.testing.model.steps import How, Step, busy, call, cut_after, empty, garbage, say, think, truncated_call

pytestmark = pytest.mark.anyio

KEY = Credential("first", "secret")


def request(*messages: RequestMessage) -> ModelRequest:
    """A request with these messages, after a person's greeting."""
    profile = Profile("scripted:m", "scripted", "m", "scripted")
    hello = RequestMessage(1, Role.USER, (Text("hello"),))
    return ModelRequest(profile, "Be kind.", (), (hello, *messages), generation=1, max_output=100)


async def pieces_of(*script: Step) -> list[Piece]:
    """What a session yields for the first step."""
    provider: Provider = ScriptedProvider([*script])
    return [piece async for piece in provider.session().ask(request(), KEY)]


async def test_deltas_come_first_and_one_reply_last() -> None:
    *deltas, reply = await pieces_of(say("two words") + call("shell", {"command": "true"}))
    assert deltas == [TextDelta("two"), TextDelta(" words"), CallBegun("shell")]
    assert isinstance(reply, Reply)
    assert reply.stop is StopReason.TOOL_CALLS
    assert reply.parts == (Text("two words"), ToolCall(CallId(""), "shell", '{"command": "true"}', "call_1x1"))


async def test_an_empty_reply_is_a_reply_without_parts() -> None:
    (reply,) = await pieces_of(empty())
    assert isinstance(reply, Reply)
    assert reply.parts == ()


@pytest.mark.parametrize("how", [How.RESET, How.CLOSE, How.END, How.ERROR])
async def test_a_cut_reply_fails_and_carries_what_had_arrived(how: How) -> None:
    with pytest.raises(ModelError) as failed:
        await pieces_of(cut_after(think("hm") + say("one two"), 2, how=how))
    assert failed.value.failure.kind is FailureKind.STREAM_CUT
    assert failed.value.partial == (Thinking("hm"), Text("one"))


async def test_a_truncated_call_without_a_finish_is_a_cut() -> None:
    with pytest.raises(ModelError) as failed:
        await pieces_of(truncated_call("shell", {"command": "rm -rf build"}, at=15, finish=False))
    assert failed.value.partial == (ToolCall(CallId(""), "shell", '{"command": "rm'),)


async def test_failures_carry_their_kind_and_numbers() -> None:
    with pytest.raises(ModelError) as failed:
        await pieces_of(busy(1.5))
    assert (failed.value.failure.kind, failed.value.failure.retry_after) == (FailureKind.BUSY, 1500)
    with pytest.raises(ModelError, match="captive portal"):
        await pieces_of(garbage())


async def test_requests_and_credentials_are_recorded_by_label() -> None:
    provider = ScriptedProvider([say("ok")])
    async for _ in provider.session().ask(request(), KEY):
        pass
    assert provider.requests == [request()]
    assert provider.credentials == ["first"]
    assert "secret" not in repr(msgspec.structs.asdict(provider.requests[0]))


async def test_a_call_without_its_result_and_a_request_too_many_are_errors() -> None:
    provider = ScriptedProvider([])
    called = RequestMessage(2, Role.ASSISTANT, (ToolCall(CallId("c1_0"), "shell", "{}"),))
    with pytest.raises(Complaint, match="c1_0"):
        await anext(provider.session().ask(request(called), KEY))
    with pytest.raises(ScriptOver):
        await anext(provider.session().ask(request(), KEY))
