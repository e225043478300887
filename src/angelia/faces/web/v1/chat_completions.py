"""`/v1/chat/completions` and `/v1/models`, as OpenAI defines them."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.errors import AngeliaError
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.guards import RouteGuard
from angelia.faces.web.request import RouteRequest, RouteResponse, StreamedResponse, json_response
from angelia.faces.web.routes import Route
from angelia.faces.web.server_sent_events import MIME
from angelia.faces.web.v1.chat_messages import (
    ChatHistory,
    ChatRequest,
    asked_in,
    contents,
    require_possible,
    told_of_past,
)
from angelia.faces.web.v1.chat_past import ChatPast, KnownPast, instructions_digest
from angelia.faces.web.v1.files import file_lines, shown_words
from angelia.faces.web.v1.intake import MOST_BODY
from angelia.faces.web.v1.refusals import ApiRefused, ending_error, error_object, openai_error
from angelia.faces.web.v1.told_words import ToldWords
from angelia.faces.web.v1.turn import Beat, FollowedTurn, TurnResult, Wrote
from angelia.faces.web.v1.turns import ApiTurns, TurnPlace, message_key, place_in
from angelia.faces.web.web_conversations import WebConversations

if TYPE_CHECKING:
    from angelia.service.app import App

_KIND = "chatcmpl"
BEAT = b": nothing new\n\n"
_DONE = b"data: [DONE]\n\n"


class ChatRoutes:
    """The handlers."""

    def __init__(self, app: "App", conversations: WebConversations, turns: ApiTurns) -> None:
        self._intake, self._turns = app.intake, turns
        self._past = ChatPast(app.key_value, conversations)

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

    async def _models(self, _: RouteRequest) -> RouteResponse:
        return json_response({"object": "list", "data": [_model_object(one) for one in await self._turns.models()]})

    async def _model(self, request: RouteRequest) -> RouteResponse:
        await self._turns.model(request.found["id"])
        return json_response(_model_object(request.found["id"]))

    # -- completions --------------------------------------------------------------------------------------------------

    async def _create(self, request: RouteRequest) -> RouteResponse | StreamedResponse:
        assert request.key is not None
        body = await request.json(ChatRequest, MOST_BODY)
        require_possible(body)
        turn = await self._begun(request, request.key, body)
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

    async def _begun(self, request: RouteRequest, key: ApiKey, body: ChatRequest) -> FollowedTurn:
        model = await self._turns.model(body.model)
        stored_as, asked = message_key(request), asked_in(body.messages)
        said = await contents(list(asked.said), self._intake)
        async with self._turns.lock(stored_as):
            if place := await self._turns.repeated(key, stored_as):
                return same_message(await self._turns.again(key, place), said)
            await self._turns.require_money(key)
            async with self._turns.lock(key.name):
                return await self._go_on(key, asked, said, stored_as, model)

    async def _go_on(
        self, key: ApiKey, asked: ChatHistory, said: list[Content], stored_as: str, model: str
    ) -> FollowedTurn:
        """In the conversation that the past belongs to, or in a new one that is told of it."""
        known = await self._past.find(key, asked)
        wanted = instructions_digest(asked)
        parts: list[Content] = []
        if wanted and wanted != (known.instructions if known else ""):
            parts.append(Text(f"[How the program at this door wants it]\n\n{asked.instructions}\n\n[What is said]"))
        if asked.past and known is None:
            parts += await told_of_past(asked.past, self._intake)
        there = known.conversation if known else None
        turn = await self._turns.begin(key, there, [*parts, *said], stored_as, model)
        await self._past.keep(key, asked, KnownPast(turn.conversation, stored_as, wanted))
        return turn

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
        message = {
            "role": "assistant",
            "content": None if refused else words,
            "refusal": words if refused else None,
        }
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
                match event:
                    case Beat():
                        yield BEAT
                    case Wrote(text=text):
                        yield _chunk(head, {"content": told.wrote(text)})
                    case e.Entry(fact=fact):
                        if more := told.stored(fact):
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
        for task in (gone, ended):
            task.cancel()
        await asyncio.gather(gone, ended, return_exceptions=True)


async def _gone(request: RouteRequest) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def failed(result: TurnResult) -> ApiRefused | None:
    """Why there is no answer; None where there is one."""
    return ending_error(result.ending) if result.ending else None


def finish_reason(result: TurnResult) -> str:
    """Why the answer ends where it does."""
    match result.ending:
        case end.Refused():
            return "content_filter"
        case end.StepLimit() | end.BudgetSpent() | end.ReplyCutOff():
            return "length"
        case _:
            return "stop"


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


def same_message(turn: FollowedTurn, said: list[Content]) -> FollowedTurn:
    """A turn that was begun earlier under the same key, if it was by the same message.

    Raises:
        ApiRefused: it was by another one.
    """
    fact = turn.session.log.entries[turn.seq - 1].fact
    assert isinstance(fact, e.UserSaid)
    if said and fact.parts[-len(said) :] != tuple(said):
        raise ApiRefused(
            422,
            "This Idempotency-Key was used for another message.",
            then="A new message needs a new key.",
            code="idempotency_key_reused",
        )
    return turn


def _model_object(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "angelia"}


def _head(turn: FollowedTurn, result: TurnResult, model: str, kind: str) -> dict[str, Any]:
    own = TurnPlace(turn.conversation, turn.seq).named(_KIND)
    return {"id": own, "object": kind, "created": result.at // 1000, "model": model}


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})


def _event(value: object) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
