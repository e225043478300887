"""Our providers and the scripted server understand each other on all three wires."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from angelia.context.request import ModelRequest, OpenedBytes, OpenedText, RequestMessage, Result, Role, Shown
from angelia.context.view import project
from angelia.core import entry as e
from angelia.core.content import BlobRef, CallStatus, Form, Media, MediaKind, Text, ToolCall
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.core.ids import call_id
from angelia.core.profile import Ability, Profile
from angelia.http.client import open_server
from angelia.models.context import ProviderContext
from angelia.models.port import Credential, Piece, Provider, Reply
from angelia.models.registry import open_provider
from angelia.testing.logs.random_logs import log_from
from angelia.testing.model.answerers import Answerer, instant, name_the_colour
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import (
    Fail,
    Garbage,
    How,
    Step,
    busy,
    calls,
    cut_after,
    garbage,
    history_refused,
    login_rejected,
    out_of_credit,
    refuse_media,
    say,
    server_error,
    think,
    too_large,
    too_long,
    unknown_model,
)
from tests.models.shapes import always

pytestmark = pytest.mark.anyio

VENDORS = {"openai-chat": "openai", "openai-responses": "openai", "anthropic": "anthropic"}
PICTURE = one_colour("purple", form="JPEG")
SHOWN = Shown(Media(BlobRef("a" * 64, len(PICTURE), "image/jpeg"), MediaKind.IMAGE, "p.jpg"), Form.NATIVE)
HELLO = RequestMessage(1, Role.USER, (Text("What colour?"), SHOWN))


def profile(wire: str) -> Profile:
    """A model that takes pictures and documents."""
    vendor = VENDORS[wire]
    return Profile(f"{vendor}:m", vendor, "m", wire, images=Ability.YES, documents=Ability.YES)


async def open_media(shown: Shown) -> tuple[OpenedBytes | OpenedText, ...]:
    """The picture, or a tiny document."""
    if shown.form is not Form.NATIVE:
        return (OpenedText("its words"),)
    if shown.media.media is MediaKind.IMAGE:
        return (OpenedBytes("image/jpeg", PICTURE),)
    return (OpenedBytes("application/pdf", b"%PDF-1.4"),)


@asynccontextmanager
async def opened(wire: str, server: ModelServer) -> AsyncIterator[Provider]:
    """The wire's provider, connected to the server."""
    base = server.url if wire == "anthropic" else server.base_url
    async with aclosing(await open_server(base, {})) as http:
        yield open_provider(profile(wire), ProviderContext(open_media, always(http)))


async def asked(provider: Provider, wire: str, *messages: RequestMessage) -> list[Piece]:
    """All pieces of one reply, in a session of its own."""
    request = ModelRequest(profile(wire), "Be brief.", (), messages, generation=1, max_output=1000)
    return [piece async for piece in provider.session().ask(request, Credential("key", "secret"))]


def reply_of(pieces: Sequence[Piece]) -> Reply:
    """The one reply, which comes last."""
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


@pytest.mark.parametrize("wire", VENDORS)
async def test_the_picture_is_seen_on_a_later_turn_and_signed_thinking_comes_back_unbroken(wire: str) -> None:
    script: list[Step | Answerer] = [
        think("Let me look.") + say("Looking.") + calls(("a", {"x": 1}), ("b", {})),
        name_the_colour,
    ]
    async with ModelServer(script) as server, opened(wire, server) as provider:
        first = reply_of(await asked(provider, wire, HELLO))
        parts = tuple(
            ToolCall(call_id(2, number), part.name, part.arguments, part.wire_id, part.native)
            if isinstance(part, ToolCall)
            else part
            for number, part in enumerate(first.parts)
        )
        made = [part for part in parts if isinstance(part, ToolCall)]
        results = tuple(Result(one.id, one.name, CallStatus.OK, (Text("ok"),), one.wire_id) for one in made)
        replied = RequestMessage(3, Role.ASSISTANT, parts, VENDORS[wire])
        second = reply_of(await asked(provider, wire, HELLO, replied, RequestMessage(5, Role.TOOL, results)))
        assert [one.text for one in second.parts if isinstance(one, Text)] == ["purple"]
        assert [one.size for one in server.requests[1].images] == [len(PICTURE)]
        assert server.connections == 1


@pytest.mark.parametrize("wire", VENDORS)
async def test_requests_of_random_conversations_are_legal(wire: str) -> None:
    dice = random.Random(f"{wire} 1")
    async with ModelServer(instant) as server, opened(wire, server) as provider:
        for _ in range(60):
            log = log_from(dice.randbytes(dice.randrange(200)))
            ends = [at + 1 for at, entry in enumerate(log) if isinstance(entry.fact, e.ModelAsked)]
            view = project(log[: dice.choice(ends)], profile(wire))
            await asked(provider, wire, *view.messages)
        assert len(server.requests) == 60


FAILURES: list[Fail] = [
    busy(2),
    server_error(),
    too_long(),
    too_large(),
    refuse_media(),
    login_rejected(),
    out_of_credit(),
    history_refused("signature"),
    history_refused("pair"),
    history_refused("role"),
    unknown_model(),
]


@pytest.mark.parametrize("wire", VENDORS)
@pytest.mark.parametrize("step", FAILURES, ids=lambda step: f"{step.kind} {step.about}".strip())
async def test_a_failure_is_known_by_its_kind(wire: str, step: Fail) -> None:
    async with ModelServer([step]) as server, opened(wire, server) as provider:
        with pytest.raises(ModelError) as failed:
            await asked(provider, wire, HELLO)
    assert failed.value.failure.kind is step.kind
    assert failed.value.failure.retry_after == round(step.retry_after * 1000)


CUT: list[Step] = [
    cut_after(say("one two three"), at, how=how) for how in How if how is not How.SILENCE for at in (1, 9)
]


@pytest.mark.parametrize("wire", VENDORS)
@pytest.mark.parametrize("step", [*CUT, garbage()])
async def test_what_is_not_whole_is_never_a_reply(wire: str, step: Step) -> None:
    page = FailureKind.WRONG_ADDRESS if isinstance(step, Garbage) else FailureKind.STREAM_CUT
    whole = {FailureKind.STREAM_CUT, FailureKind.UNREACHABLE, FailureKind.BUSY, page}
    async with ModelServer([step]) as server, opened(wire, server) as provider:
        with pytest.raises(ModelError) as failed:
            await asked(provider, wire, HELLO)
    assert failed.value.failure.kind in whole
