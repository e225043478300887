"""The bridge to pydantic-ai: what the failures of its models become."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo

from angelia.core.content import Text
from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.models.context import ProviderContext, WireTimeouts
from angelia.models.port import Credential, TextDelta
from angelia.models.pydantic_ai.provider import BridgeProvider, open_provider
from tests.models.bridge.asked import DONE, GPT, KEY, TEXT, chunk, collected, request, scripted
from tests.models.loopback import Answer, Peer, Server, says, streams
from tests.models.shapes import open_media

REFUSED = b'{"error":{"message":"%s","type":"x","code":"%s"}}'
FAILURES: dict[str, tuple[Answer, FailureKind]] = {
    "no finish reason": (streams(*TEXT, DONE), FailureKind.STREAM_CUT),
    "a clean end": (streams(*TEXT), FailureKind.STREAM_CUT),
    "nothing at all": (streams(), FailureKind.STREAM_CUT),
    "no choices": (streams(chunk({}, choices=[]), DONE), FailureKind.STREAM_CUT),
    "garbage": (streams(b"data: {nonsense\n\n"), FailureKind.STREAM_CUT),
    "a server error": (says("500 Oops", REFUSED % (b"oops", b"")), FailureKind.UNREACHABLE),
    "too many requests": (says("429 No", REFUSED % (b"Rate limit", b""), b"retry-after: 7"), FailureKind.BUSY),
    "an empty account": (says("429 No", REFUSED % (b"no", b"insufficient_quota")), FailureKind.OUT_OF_CREDIT),
    "a wrong key": (
        says("401 No", REFUSED % (b"Bad key sk-very-secret", b"invalid_api_key")),
        FailureKind.LOGIN_REJECTED,
    ),
    "an unknown model": (says("404 No", REFUSED % (b"no", b"model_not_found")), FailureKind.UNKNOWN_MODEL),
    "too long": (
        says("400 No", REFUSED % (b"maximum context length is 8192 tokens", b"context_length_exceeded")),
        FailureKind.CONTEXT_TOO_LONG,
    ),
}


@pytest.mark.anyio
@pytest.mark.parametrize("case", FAILURES)
async def test_every_failure_has_its_kind_and_is_asked_once(
    case: str, provider: BridgeProvider, server: Server
) -> None:
    answer, kind = FAILURES[case]
    server.answers = [answer]
    with pytest.raises(ModelError) as failed:
        await collected(provider, request())
    assert failed.value.failure.kind is kind
    assert "very-secret" not in str(failed.value)
    assert len(server.requests) == 1
    match case:
        case "no finish reason" | "a clean end":
            assert failed.value.partial == (Text("Hello"),)
        case "too many requests":
            assert failed.value.failure.retry_after == 7000
        case "too long":
            assert failed.value.failure.limit == 8192
        case _:
            pass


@pytest.mark.anyio
async def test_a_reset_after_some_text_is_a_cut_with_what_had_arrived(provider: BridgeProvider, server: Server) -> None:
    arrived = asyncio.Event()

    async def reset(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", *TEXT)
        await arrived.wait()
        peer.reset()

    server.answers = [reset]
    pieces = provider.session().ask(request(), KEY)
    assert [await anext(aiter(pieces)) for _ in range(2)] == [TextDelta("Hel"), TextDelta("lo")]
    arrived.set()
    with pytest.raises(ModelError) as failed:
        await anext(aiter(pieces))
    assert failed.value.failure.kind is FailureKind.STREAM_CUT
    assert failed.value.partial == (Text("Hello"),)


@pytest.mark.anyio
@pytest.mark.parametrize("timeouts", [WireTimeouts(60.0, 60.0, silence=0.5)])
async def test_silence_is_a_cut(provider: BridgeProvider, server: Server) -> None:
    async def hang(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", *TEXT)
        await server.over.wait()

    server.answers = [hang]
    with pytest.raises(ModelError) as failed:
        await collected(provider, request())
    assert failed.value.failure.kind is FailureKind.STREAM_CUT


@pytest.mark.anyio
@pytest.mark.parametrize("finish", [None, "error"])
async def test_an_end_that_is_no_finish_is_a_cut(finish: theirs.FinishReason | None) -> None:
    async def words(_: list[theirs.ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        yield "Hi"

    with pytest.raises(ModelError) as failed:
        await collected(scripted(words, finish), request())
    assert failed.value.failure.kind is FailureKind.STREAM_CUT
    assert failed.value.partial == (Text("Hi"),)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "secret", "kind"),
    [
        ("nobody:gpt", "k", FailureKind.UNKNOWN_MODEL),
        ("gpt", "k", FailureKind.UNKNOWN_MODEL),
        ("google:gemini-2.5-pro", "", FailureKind.LOGIN_REJECTED),
    ],
)
async def test_a_name_or_key_that_is_not_there_fails_before_anything_is_sent(
    name: str, secret: str, kind: FailureKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    profile = msgspec.structs.replace(GPT, model=name)
    session = open_provider(profile, ProviderContext(open_media)).session()
    with pytest.raises(ModelError) as failed:
        await anext(aiter(session.ask(request(), Credential("test", secret))))
    assert failed.value.failure.kind is kind
