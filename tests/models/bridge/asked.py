"""The bridge at a loopback server or at a scripted model of theirs, for its tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Raw
from pydantic_ai import messages as theirs
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings

from angelia.context.request import ModelRequest, RequestMessage, Role, ToolSpec
from angelia.core.content import Text
from angelia.core.profile import Profile
from angelia.models.context import WireTimeouts
from angelia.models.port import Credential, Piece
from angelia.models.pydantic_ai.provider import BridgeProvider
from tests.models.shapes import open_media

KEY = Credential("test", "sk-very-secret")
GPT = Profile("pydantic-ai:openai-chat:gpt-4o", "pydantic-ai", "openai-chat:gpt-4o", "pydantic-ai")
TOOL = ToolSpec("shell", "Runs a command.", Raw(b'{"type":"object","properties":{"command":{"type":"string"}}}'))
HELLO = RequestMessage(1, Role.USER, (Text("Hello"),))

Streaming = Callable[[list[theirs.ModelMessage], AgentInfo], AsyncIterator[Any]]


def request(*messages: RequestMessage, **fields: Any) -> ModelRequest:
    """A request with instructions and one tool."""
    whole: dict[str, Any] = {"generation": 1, "max_output": 100, **fields}
    return ModelRequest(GPT, "Be brief.", (TOOL,), messages or (HELLO,), **whole)


async def collected(provider: BridgeProvider, asked: ModelRequest) -> list[Piece]:
    """Everything that one request brings."""
    return [piece async for piece in provider.session().ask(asked, KEY)]


class Finishing(FunctionModel):
    """Their scripted model, with the finish reason that a real provider sends."""

    finish: theirs.FinishReason | None = "stop"

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[theirs.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncIterator[StreamedResponse]:
        """As ever, and then finish."""
        async with super().request_stream(messages, model_settings, model_request_parameters, run_context) as stream:
            stream.finish_reason = self.finish
            yield stream


def scripted(streaming: Streaming, finish: theirs.FinishReason | None = "stop") -> BridgeProvider:
    """A provider whose model says what `streaming` yields."""

    def make(_: Profile, __: Credential) -> Model:
        model = Finishing(stream_function=streaming)
        model.finish = finish
        return model

    return BridgeProvider(GPT, open_media, WireTimeouts(), make)


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> bytes:
    """One chunk of a Chat Completions stream."""
    whole = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", **fields}
    whole.setdefault("choices", [{"index": 0, "delta": delta, "finish_reason": finish}])
    return b"data: " + msgspec.json.encode(whole) + b"\n\n"


DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": {"cached_tokens": 4}}
TEXT = (chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo"}))
