"""The bridge to every model that pydantic-ai speaks to: Gemini, Bedrock, Mistral and many more.

A model is named as pydantic-ai names it, behind our prefix: `pydantic-ai:google:gemini-2.5-pro`. Without a key of ours
its provider reads its own variables (`GOOGLE_API_KEY`, `MISTRAL_API_KEY`, the AWS ones, …).
"""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.context.request import ModelRequest, OpenMedia
from angelia.core.errors import MissingPart, ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.profile import Profile
from angelia.core.text import clean, one_line
from angelia.models.port import CallBegun, Credential, Piece, Reply, TextDelta, ThinkingDelta
from angelia.models.wires.failures import of_response, of_stream, redacted

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelAPIError
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.models import Model, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from angelia.models.context import ProviderContext, WireTimeouts

_FAULTS = (TimeoutError, LookupError, ValueError)
"""Silence, and what pydantic-ai raises by mistake when a stream is not what it expects (`choices=[]`, no JSON)."""

_CATEGORIES = {
    "ModelRateLimitError": FailureKind.BUSY,
    "ModelOverloadedError": FailureKind.BUSY,
    "ModelQuotaExceededError": FailureKind.OUT_OF_CREDIT,
    "ModelAuthenticationError": FailureKind.LOGIN_REJECTED,
    "ModelNotFoundError": FailureKind.UNKNOWN_MODEL,
    "ModelContextWindowExceededError": FailureKind.CONTEXT_TOO_LONG,
    "ModelRequestRejectedError": FailureKind.HISTORY_REFUSED,
    "ModelUnavailableError": FailureKind.UNREACHABLE,
    "ModelServerError": FailureKind.UNREACHABLE,
    "ModelConnectionError": FailureKind.UNREACHABLE,
    "ModelRequestTimeout": FailureKind.UNREACHABLE,
}
"""What pydantic-ai's own sorting of errors means, where the provider's words did not come along."""

MakeModel = Callable[[Profile, Credential], "Model"]
"""Makes pydantic-ai's model for a profile and a key."""


def open_provider(profile: Profile, context: "ProviderContext") -> "BridgeProvider":
    """The provider of one model; pydantic-ai brings clients of its own."""
    return BridgeProvider(profile, context.open_media, context.timeouts)


def model_by_name(profile: Profile, credential: Credential) -> "Model":
    """The model of that name, with our key if there is one.

    Raises:
        ModelError: UNKNOWN_MODEL or LOGIN_REJECTED; the name or the key is not there.
        MissingPart: its provider's SDK is not installed.
    """
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

    def provider(name: str) -> Provider[Any]:
        if not credential.secret:
            return infer_provider(name)
        made: Any = infer_provider_class(name)
        provided: Provider[Any] = made(api_key=credential.secret)
        return provided

    try:
        return _demanding(infer_model(profile.model, provider))
    except ImportError as error:
        raise MissingPart(f"{profile.name} ({one_line(str(error))})", "bridge") from error
    except (UserError, ValueError) as error:
        unknown = "unknown" in str(error).lower()
        kind = FailureKind.UNKNOWN_MODEL if unknown else FailureKind.LOGIN_REJECTED
        raise ModelError(Failure(kind, said=_readable(error))) from error


def _demanding(model: "Model") -> "Model":
    """The model, told that a stream of OpenAI's kind without a finish reason is not a reply."""
    if "pydantic_ai.models.openai" not in sys.modules:
        return model  # it cannot be one of OpenAI's kind
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    if not isinstance(model, OpenAIChatModel) or model.provider is None:
        return model
    demand = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return type(model)(model.model_name, provider=model.provider, profile=demand)


class BridgeProvider:
    """One model of pydantic-ai; keeps one client per key."""

    def __init__(
        self, profile: Profile, open_media: OpenMedia, timeouts: "WireTimeouts", make: MakeModel = model_by_name
    ) -> None:
        if not find_spec("pydantic_ai"):
            raise MissingPart(profile.name, "bridge")
        self._profile = profile
        self._open = open_media
        self._timeouts = timeouts
        self._make = make
        self._models: dict[str, Model] = {}

    def session(self) -> "BridgeSession":
        """A session; pydantic-ai encodes every request anew, so there is nothing to keep."""
        return BridgeSession(self._profile, self._open, self._timeouts, self.model)

    def model(self, credential: Credential) -> "Model":
        """The model that uses this key."""
        if credential.secret not in self._models:
            self._models[credential.secret] = self._make(self._profile, credential)
        return self._models[credential.secret]


class BridgeSession:
    """One conversation through the bridge."""

    def __init__(
        self, profile: Profile, open_media: OpenMedia, timeouts: "WireTimeouts", model: "Callable[[Credential], Model]"
    ) -> None:
        self._profile = profile
        self._open = open_media
        self._timeouts = timeouts
        self._model = model

    async def ask(self, request: ModelRequest, credential: Credential) -> AsyncIterator[Piece]:
        """See `Session.ask`."""
        model = await asyncio.to_thread(self._model, credential)  # the SDKs take seconds to import
        from pydantic_ai.exceptions import AgentRunError, UserError

        from angelia.models.pydantic_ai.parts import reply_parts, stop_of, usage_of

        events = _Events(self._timeouts)
        try:
            async with contextlib.aclosing(events.of(model, request, self._open)) as pieces:
                async for piece in pieces:
                    yield piece
            response = events.response()
            parts = reply_parts(response, self._profile.vendor)
            stop = stop_of(response, parts)
            if stop is None:
                raise ModelError(Failure(FailureKind.STREAM_CUT, said="The stream ended without a finish reason."))
        except (AgentRunError, UserError, ModelError, NotImplementedError, *_FAULTS) as error:
            partial = reply_parts(events.response(), self._profile.vendor)
            failure = failure_of(error)
            if partial and failure.kind is FailureKind.UNREACHABLE:
                failure = msgspec.structs.replace(failure, kind=FailureKind.STREAM_CUT)
            raise ModelError(redacted(failure, credential.secret), partial) from error
        yield Reply(parts, stop, usage_of(response))


class _Events:
    """One streamed request, watched for silence."""

    def __init__(self, timeouts: "WireTimeouts") -> None:
        self._timeouts = timeouts
        self._stream: StreamedResponse | None = None

    async def of(self, model: "Model", request: ModelRequest, open_media: OpenMedia) -> AsyncGenerator[Piece]:
        """The deltas of the reply."""
        from pydantic_ai.direct import model_request_stream

        from angelia.models.pydantic_ai.parts import history, parameters

        opening = model_request_stream(
            model,
            await history(request, open_media),
            model_settings=settings_of(request, model),
            model_request_parameters=parameters(request),
        )
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(self._timeouts.first_byte):
                self._stream = await stack.enter_async_context(opening)
            events, wait = aiter(self._stream), self._timeouts.first_byte
            while True:
                async with asyncio.timeout(wait):
                    event = await anext(events, None)
                if event is None:
                    return
                wait = self._timeouts.silence
                if piece := _piece(event):
                    yield piece

    def response(self) -> "ModelResponse":
        """What has arrived so far."""
        from pydantic_ai.messages import ModelResponse

        return self._stream.get() if self._stream else ModelResponse(parts=[])


def settings_of(request: ModelRequest, model: "Model") -> "ModelSettings":
    """How to answer. Retries are the engine's, so the SDK is asked for none where it can be."""
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings()
    if "max_retries" not in model.unsupported_settings:
        settings["max_retries"] = 0
    if request.max_output:
        settings["max_tokens"] = request.max_output
    match request.effort:
        case "low" | "medium" | "high" as effort:
            settings["thinking"] = effort
        case _:
            pass
    if request.profile.cache_marks:
        settings["cache"] = "1h" if request.cache_hour else True
    return settings


def failure_of(error: Exception) -> Failure:
    """What an exception of pydantic-ai's means."""
    from pydantic_ai.exceptions import ContentFilterError, ModelAPIError, ModelHTTPError, UserError

    match error:
        case ModelError(failure=failure):
            return failure
        case ModelHTTPError():
            return of_response(error.status_code, error.headers or {}, _body(error), time.time())
        case ContentFilterError():
            return Failure(FailureKind.REFUSAL, said=_readable(error))
        case ModelAPIError(body=body) if body is not None:
            return of_stream(_body(error), time.time())
        case ModelAPIError():
            kinds = (_CATEGORIES[one.__name__] for one in type(error).__mro__ if one.__name__ in _CATEGORIES)
            wait = int((error.retry_after or 0) * 1000)
            return Failure(next(kinds, FailureKind.STREAM_CUT), said=_readable(error), retry_after=wait)
        case TimeoutError():
            return Failure(FailureKind.UNREACHABLE, said="The provider fell silent.")
        case UserError() | NotImplementedError():  # refused before it was sent: mostly media that have no form there
            refused = of_stream(json.dumps(str(error)).encode(), time.time())
            known = refused.kind is not FailureKind.UNREACHABLE
            return refused if known else msgspec.structs.replace(refused, kind=FailureKind.HISTORY_REFUSED)
        case _:  # nothing at all, a chunk without choices (an IndexError), or an end without a finish
            return Failure(FailureKind.STREAM_CUT, said=_readable(error))


def _piece(event: "ModelResponseStreamEvent") -> Piece | None:
    from pydantic_ai import messages as theirs

    match event:
        case theirs.PartStartEvent(part=theirs.TextPart(content=text)) if text:
            return TextDelta(clean(text))
        case theirs.PartStartEvent(part=theirs.ThinkingPart(content=text)) if text:
            return ThinkingDelta(clean(text))
        case theirs.PartStartEvent(part=theirs.ToolCallPart(tool_name=name)):
            return CallBegun(name)
        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)) if text:
            return TextDelta(clean(text))
        case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=str(text))) if text:
            return ThinkingDelta(clean(text))
        case _:
            return None


def _body(error: "ModelAPIError") -> bytes:
    """The provider's own words, as JSON."""
    return json.dumps(error.body if error.body is not None else error.message, default=str).encode()


def _readable(error: Exception) -> str:
    return one_line(clean(str(error) or type(error).__name__), 500)
