"""`/v1/chat/completions` and `/v1/models`, as OpenAI defines them."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.cancellation import cancel_and_wait
from angelia.core import ending as end
from angelia.core.errors import AngeliaError
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, StreamedResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import MIME
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.web.v1.chat_messages import (
    ChatRequest,
    require_possible,
)
from angelia.faces.web.v1.files import file_lines, shown_words
from angelia.faces.web.v1.history_turns import HistoryTurns
from angelia.faces.web.v1.intake import MOST_BODY
from angelia.faces.web.v1.offered_tools import chat_tools, tool_wishes
from angelia.faces.web.v1.program_calls import ProgramCall
from angelia.faces.web.v1.refusals import ApiRefused, ending_error, error_object, openai_error
from angelia.faces.web.v1.told_words import ToldWords
from angelia.faces.web.v1.turn import Beat, FollowedTurn, TurnResult
from angelia.faces.web.v1.turn_place import TurnPlace, place_in
from angelia.faces.web.v1.turns import ApiTurns

if TYPE_CHECKING:
    from angelia.service.app import App

_KIND = "chatcmpl"
BEAT = b": nothing new\n\n"
_DONE = b"data: [DONE]\n\n"


class ChatRoutes:
    """The handlers."""

    def __init__(self, app: "App", conversations: WebConversations, turns: ApiTurns) -> None:
        self._turns = turns
        self._history = HistoryTurns(app, conversations, turns)

    def routes(self) -> list[Route]:
        """One row each."""
        own = "/v1/chat/completions"
        return [
            Route("POST", own, RouteGuard.CHAT_KEY, self._create, openai_error),
            Route("GET", f"{own}/{{id}}", RouteGuard.READ_KEY, self._read, openai_error),
            Route("GET", "/v1/models", RouteGuard.READ_KEY, self._models, openai_error),
            Route("GET", "/v1/models/{id}", RouteGuard.READ_KEY, self._model, openai_error),
        ]

    # -- models -------------------------------------------------------------------------------------------------------

    async def _models(self, request: RouteRequest) -> RouteResponse:
        assert request.key is not None
        models = await self._turns.models(request.key)
        return json_response({"object": "list", "data": [_model_object(one) for one in models]})

    async def _model(self, request: RouteRequest) -> RouteResponse:
        assert request.key is not None
        await self._turns.model(request.key, request.found["id"])
        return json_response(_model_object(request.found["id"]))

    # -- completions --------------------------------------------------------------------------------------------------

    async def _create(self, request: RouteRequest) -> RouteResponse | StreamedResponse:
        assert request.key is not None
        body = await request.json(ChatRequest, MOST_BODY)
        require_possible(body)
        offers = chat_tools(body.tools or (), tool_wishes(body.tool_choice, body.parallel_tool_calls))
        turn = await self._history.begun(request, body.messages, body.model, offers)
        if not body.stream:
            return await self._whole(request, request.key, turn, body.model)
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        pieces = self._streamed(request.key, turn, body.model, with_usage=with_usage)
        return StreamedResponse(pieces, MIME, headers={"x-accel-buffering": "no"})

    async def _read(self, request: RouteRequest) -> RouteResponse:
        """A completion by its id: of who hung up, once it is there."""
        assert request.key is not None
        turn = await self._turns.again(request.key, place_in(request.found["id"]))
        return await self._whole(request, request.key, turn, turn.result().model)

    # -- answered -----------------------------------------------------------------------------------------------------

    async def _whole(self, request: RouteRequest, key: ApiKey, turn: FollowedTurn, model: str) -> RouteResponse:
        result = await unless_gone(request, turn)
        if result is None:
            return RouteResponse(status=499)
        if error := failed(result):
            raise error
        await self._turns.given(key, turn, result.deliveries)
        words = shown_words(turn.conversation, result)
        refused = isinstance(result.ending, end.Refused)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if refused or (result.handed and not words) else words,
            "refusal": words if refused else None,
        }
        if calls := turn.calls():
            message["tool_calls"] = [_call(one) for one in calls]
        choice = {"index": 0, "message": message, "finish_reason": finish_reason(result), "logprobs": None}
        return json_response(
            {
                **_head(turn, result, model, "chat.completion"),
                "choices": [choice],
                "usage": usage(result),
                "angelia": about(turn, result),
            }
        )

    async def _streamed(
        self, key: ApiKey, turn: FollowedTurn, model: str, *, with_usage: bool
    ) -> AsyncGenerator[bytes, None]:
        head = _head(turn, turn.result(), model, "chat.completion.chunk")
        if with_usage:
            head["usage"] = None
        told = ToldWords()
        yield _chunk(head, {"role": "assistant", "content": ""})
        try:
            async for event in turn.events():
                if isinstance(event, Beat):
                    yield BEAT
                elif more := told.heard(event):
                    yield _chunk(head, {"content": more})
        except AngeliaError as error:
            yield _event({"error": error_object(error)})
            return
        result = turn.result()
        if why := failed(result):
            yield _event({"error": error_object(why)})
            return
        for piece in (told.rest(result.words, turn.session.log.entries), file_lines(turn.conversation, result)):
            if piece:
                yield _chunk(head, {"content": f"\n\n{piece}" if piece.startswith("File: ") and told.told else piece})
        for at, call in enumerate(turn.calls()):
            yield _chunk(head, {"tool_calls": [{"index": at, **_call(call)}]})
        yield _chunk(head, {}, finish_reason(result))
        if with_usage:
            yield _event({**head, "choices": [], "usage": usage(result), "angelia": about(turn, result)})
        yield _DONE
        await self._turns.given(key, turn, result.deliveries)


async def unless_gone(request: RouteRequest, turn: FollowedTurn) -> TurnResult | None:
    """What the turn comes to; None if whoever asked has gone meanwhile. The turn goes on either way.

    Raises:
        ApiRefused: as `FollowedTurn.events`.
    """
    gone, ended = asyncio.create_task(_gone(request)), asyncio.create_task(turn.ended())
    try:
        await asyncio.wait([gone, ended], return_when=asyncio.FIRST_COMPLETED)
        return ended.result() if ended.done() else None
    finally:
        await cancel_and_wait(gone, None if ended.done() else ended)  # what it failed with is told to who asked


async def _gone(request: RouteRequest) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def failed(result: TurnResult) -> ApiRefused | None:
    """Why there is no answer; None where there is one."""
    return ending_error(result.ending) if result.ending else None


def finish_reason(result: TurnResult) -> str:
    """Why the answer ends where it does."""
    if result.handed:
        return "tool_calls"
    match result.ending:
        case end.Refused():
            return "content_filter"
        case end.StepLimit() | end.BudgetSpent() | end.ReplyCutOff():
            return "length"
        case _:
            return "stop"


def _call(call: ProgramCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def usage(result: TurnResult) -> dict[str, Any]:
    """The tokens of all requests to the model that the turn took."""
    one = result.usage
    return {
        "prompt_tokens": one.input,
        "completion_tokens": one.output,
        "total_tokens": one.input + one.output,
        "prompt_tokens_details": {"cached_tokens": one.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": one.thinking, "audio_tokens": 0},
    }


def about(turn: FollowedTurn, result: TurnResult) -> dict[str, Any]:
    """What only we say: which conversation it is, which model answered, and how the turn ended."""
    ending = type(result.ending).__name__ if result.ending else ""
    return {"conversation": turn.conversation, "model": result.model, "ending": ending}


def _model_object(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "angelia"}


def _head(turn: FollowedTurn, result: TurnResult, model: str, kind: str) -> dict[str, Any]:
    own = TurnPlace(turn.conversation, turn.seq).named(_KIND)
    return {"id": own, "object": kind, "created": result.at // 1000, "model": model}


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})


def _event(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
