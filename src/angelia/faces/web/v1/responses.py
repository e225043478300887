"""`/v1/responses`, as OpenAI and Open Responses define it: created, streamed, read again by its id, cancelled.

An event's number is its place in the words: the numbers of what comes before them, then one for each character, then
those of the end. So it is the same in every life and for every reader, whatever pieces the words came in, and whoever
says `starting_after` gets the rest, from the log. Where a reply was lost with the process that heard it, the log has
none of its words: places after that have higher numbers, and whoever had some of them gets the new reply below.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import AngeliaError, NotFound
from angelia.core.ids import ConversationId
from angelia.engine.state import waits_for_program
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, StreamedResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import MIME
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.web.v1.chat_completions import BEAT, failed, unless_gone
from angelia.faces.web.v1.files import file_lines
from angelia.faces.web.v1.history_turns import HistoryTurns
from angelia.faces.web.v1.intake import MOST_BODY
from angelia.faces.web.v1.offered_tools import response_tools, tool_wishes
from angelia.faces.web.v1.program_calls import ProgramCall
from angelia.faces.web.v1.refusals import ApiRefused, error_object, openai_error, unknown
from angelia.faces.web.v1.response_request import (
    ResponseRequest,
    conversation_in,
    conversation_name,
    messages_in,
    require_possible_response,
)
from angelia.faces.web.v1.told_words import ToldWords, apart, told_by_now
from angelia.faces.web.v1.turn import Beat, FollowedTurn, TurnResult
from angelia.faces.web.v1.turn_place import TurnPlace, place_in
from angelia.faces.web.v1.turns import ApiTurns, key_of
from angelia.tools.program.handed_over import offered_tools

if TYPE_CHECKING:
    from angelia.service.app import App

_KIND = "resp"
_BEFORE = 4
"""Events before the first character."""
_LOST = 10_000_000
"""How much higher numbers are after each reply that was lost: more than any answer has characters."""


class ResponseRoutes:
    """The handlers."""

    def __init__(self, app: "App", conversations: WebConversations, turns: ApiTurns) -> None:
        self._app, self._turns = app, turns
        self._history = HistoryTurns(app, conversations, turns)

    def routes(self) -> list[Route]:
        """One row each."""
        own = "/v1/responses"
        return [
            Route("POST", own, RouteGuard.CHAT_KEY, self._create, openai_error),
            Route("GET", f"{own}/{{id}}", RouteGuard.READ_KEY, self._read, openai_error),
            Route("POST", f"{own}/{{id}}/cancel", RouteGuard.CHAT_KEY, self._cancel, openai_error),
        ]

    async def _create(self, request: RouteRequest) -> RouteResponse | StreamedResponse:
        assert request.key is not None
        body = await request.json(ResponseRequest, MOST_BODY)
        require_possible_response(body)
        turn = await self._begun(request, request.key, body)
        if body.stream:
            return StreamedResponse(self._streamed(request.key, turn, -1), MIME, headers={"x-accel-buffering": "no"})
        if not body.background and await unless_gone(request, turn) is None:
            return RouteResponse(status=499)
        return await self._told(request.key, turn)

    async def _read(self, request: RouteRequest) -> RouteResponse | StreamedResponse:
        assert request.key is not None
        turn = await self._turns.again(request.key, place_in(request.found["id"]))
        if request.query.get("stream") == "true":
            after = request.number("starting_after", 0, 10**12) if "starting_after" in request.query else -1
            return StreamedResponse(self._streamed(request.key, turn, after), MIME)
        return await self._told(request.key, turn)

    async def _cancel(self, request: RouteRequest) -> RouteResponse:
        assert request.key is not None
        turn = await self._turns.again(request.key, place_in(request.found["id"]))
        result = turn.result()
        if result.handed and waits_for_program(turn.session.turn):  # the response is whole, and nothing goes on from it
            await turn.session.stop(request.key.principal)
            await turn.session.settled()
        elif not result.over:
            await turn.session.stop(request.key.principal)
            if await unless_gone(request, turn) is None:
                return RouteResponse(status=499)
        return await self._told(request.key, turn)

    async def _told(self, key: ApiKey, turn: FollowedTurn) -> RouteResponse:
        result = turn.result()
        if result.over:
            await self._turns.given(key, turn, result.deliveries)
        return json_response(response_object(turn, result, _all_words(turn, result)))

    async def _begun(self, request: RouteRequest, key: ApiKey, body: ResponseRequest) -> FollowedTurn:
        offers = response_tools(body.tools or (), tool_wishes(body.tool_choice, body.parallel_tool_calls))
        named = body.conversation or body.previous_response_id
        where = (lambda: self._goes_on_in(key, body)) if named else None
        return await self._history.begun(request, messages_in(body), body.model, offers, where)

    async def _goes_on_in(self, key: ApiKey, body: ResponseRequest) -> ConversationId:
        if body.conversation:
            own = conversation_in(body.conversation)
            with suppress(NotFound):
                return (await self._app.transcript.summary(key.principal, own)).id
            raise unknown(conversation_name(own))
        before = await self._turns.again(key, place_in(body.previous_response_id or ""))
        if any(key_of(entry) for entry in before.session.log.entries[before.seq :]):
            raise ApiRefused(
                400,
                "More was said after that response.",
                "A conversation goes on from its end.",
                code="not_the_last",
                param="previous_response_id",
            )
        return before.conversation

    async def _streamed(self, key: ApiKey, turn: FollowedTurn, after: int) -> AsyncGenerator[bytes, None]:
        """What comes after the event of this number."""
        told, reader = ToldWords(), _Reader(after)
        for piece in _since(_before(turn, turn.result()), after):
            yield piece
        opened = False
        try:
            async for one in turn.events():
                if isinstance(one, Beat):
                    yield BEAT
                else:
                    told.heard(one)
                if told.told and not opened:
                    opened = True
                    for piece in _since(_message_begins(turn), after):
                        yield piece
                if delta := reader.delta(turn, told, told.told):
                    yield _event(delta)
        except AngeliaError as error:
            yield _event({**error_object(error), "type": "error", "sequence_number": reader.number + 1})
            return
        result = turn.result()
        words = _with_rest(told, turn, result)
        begins = _message_begins(turn) if not opened and (words or not result.handed) else iter(())
        last = reader.delta(turn, told, words)
        ends = _after(turn, result, words, len(told.lost) * _LOST + _BEFORE + len(words))
        for piece in chain(_since(begins, after), [_event(last)] if last else (), _since(ends, reader.number)):
            yield piece
        await self._turns.given(key, turn, result.deliveries)


def _since(events: Iterable[dict[str, Any]], after: int) -> Iterator[bytes]:
    return (_event(event) for event in events if event["sequence_number"] > after)


def _with_rest(told: ToldWords, turn: FollowedTurn, result: TurnResult) -> str:
    told.rest(result.words, turn.session.log.entries)
    files = file_lines(turn.conversation, result)
    return "\n\n".join(one for one in (told.told, files) if one)


def _all_words(turn: FollowedTurn, result: TurnResult) -> str:
    """The words that a stream would have told by now, from the log."""
    told = told_by_now(turn)
    return _with_rest(told, turn, result) if result.over else told.told


def response_object(turn: FollowedTurn, result: TurnResult, words: str) -> dict[str, Any]:
    """A response as it stands (Open Responses, `ResponseResource`)."""
    status, why, error = _status(result)
    one = result.usage
    usage = {
        "input_tokens": one.input,
        "input_tokens_details": {"cached_tokens": one.cache_read},
        "output_tokens": one.output,
        "output_tokens_details": {"reasoning_tokens": one.thinking},
        "total_tokens": one.input + one.output,
    }
    return {
        "id": TurnPlace(turn.conversation, turn.seq).named(_KIND),
        "object": "response",
        "created_at": result.at // 1000,
        "completed_at": result.ended // 1000 if status == "completed" else None,
        "status": status,
        "incomplete_details": {"reason": why} if why else None,
        "error": error,
        "model": result.model or "angelia",
        "previous_response_id": _previous(turn.session.log.entries, turn),
        "conversation": {"id": conversation_name(turn.conversation)},
        "output": _output(turn, words, status),
        "usage": usage if result.over else None,
        **_FIXED,
        **_offered(turn),
    }


_FIXED: dict[str, Any] = {
    "instructions": None,
    "tools": [],
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "text": {"format": {"type": "text"}},
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "temperature": 1.0,
    "reasoning": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": True,
    "background": False,
    "service_tier": "default",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
}
"""What the protocol wants in each response, and is not for a program to choose here."""


def _offered(turn: FollowedTurn) -> dict[str, Any]:
    offered = offered_tools(turn.session.log.entries[: turn.seq])
    tools = [
        {
            "type": "function",
            "name": one.name,
            "description": one.description,
            "parameters": msgspec.Raw(one.parameters.encode()),
            "strict": True,
        }
        for one in offered.tools
    ]
    return {"tools": tools, "parallel_tool_calls": not offered.one_by_one}


def _output(turn: FollowedTurn, words: str, status: str) -> list[dict[str, Any]]:
    calls = [_call_item(one) for one in turn.calls()]
    message = [_item(turn, words, status)] if words or (status == "completed" and not calls) else []
    return [*message, *calls]


def _call_item(call: ProgramCall) -> dict[str, Any]:
    named = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {"type": "function_call", "id": f"fc_{call.id.removeprefix('call_')}", **named, "status": "completed"}


def _status(result: TurnResult) -> tuple[str, str, dict[str, Any] | None]:
    if result.handed:
        return "completed", "", None
    match result.ending:
        case None:
            return "in_progress", "", None
        case end.Cancelled():
            return "cancelled", "", None
        case end.Refused():
            return "incomplete", "content_filter", None
        case end.StepLimit() | end.BudgetSpent() | end.ReplyCutOff():
            return "incomplete", "max_output_tokens", None
        case _:
            pass
    if why := failed(result):
        return "failed", "", {"code": why.code, "message": str(why)}
    return "completed", "", None


def _previous(entries: Sequence[e.Entry], turn: FollowedTurn) -> str | None:
    said = [entry.seq for entry in entries[: turn.seq - 1] if key_of(entry) and not _is_past(entry.fact)]
    return TurnPlace(turn.conversation, said[-1]).named(_KIND) if said else None


def _is_past(fact: e.AnyFact) -> bool:
    return isinstance(fact, e.UserSaid) and fact.forwarded


def _item_id(turn: FollowedTurn) -> str:
    return TurnPlace(turn.conversation, turn.seq).named("msg")


def _part(words: str) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": [], "logprobs": []}


def _item(turn: FollowedTurn, words: str, status: str) -> dict[str, Any]:
    done = status if status in ("in_progress", "completed") else "incomplete"
    return {"type": "message", "id": _item_id(turn), "status": done, "role": "assistant", "content": [_part(words)]}


def _before(turn: FollowedTurn, result: TurnResult) -> Iterator[dict[str, Any]]:
    begun = response_object(turn, TurnResult(result.seq, result.at, result.model), "")
    begun = {**begun, "output": []}
    yield {"type": "response.created", "sequence_number": 0, "response": begun}
    yield {"type": "response.in_progress", "sequence_number": 1, "response": begun}


def _message_begins(turn: FollowedTurn) -> Iterator[dict[str, Any]]:
    place = {"item_id": _item_id(turn), "output_index": 0, "content_index": 0}
    item = {**_item(turn, "", "in_progress"), "content": []}
    yield {"type": "response.output_item.added", "sequence_number": 2, "output_index": 0, "item": item}
    yield {"type": "response.content_part.added", "sequence_number": 3, **place, "part": _part("")}


class _Reader:
    """Who reads a stream, by the number of the last event that they had."""

    def __init__(self, after: int) -> None:
        self.number = after
        self._lost, place = divmod(max(after, 0), _LOST)
        self._had, self._below = max(place + 1 - _BEFORE, 0), False

    def delta(self, turn: FollowedTurn, told: ToldWords, words: str) -> dict[str, Any] | None:
        """What they have not had of these words, under the number of its last character; None where that is nothing."""
        if len(told.lost) > self._lost:
            self._below = self._below or self._had > told.lost[self._lost]
            self._had, self._lost = min(self._had, told.lost[self._lost]), len(told.lost)
        more = words[self._had :]
        if not more:
            return None
        below, self._below, self._had = self._below, False, len(words)
        self.number = self._lost * _LOST + _BEFORE + len(words) - 1
        delta = {"delta": apart(more) if below else more, "logprobs": []}
        place = {"item_id": _item_id(turn), "output_index": 0, "content_index": 0}
        return {"type": "response.output_text.delta", "sequence_number": self.number, **place, **delta}


def _after(turn: FollowedTurn, result: TurnResult, words: str, first: int) -> Iterator[dict[str, Any]]:
    whole = response_object(turn, result, words)
    numbers = count(first)
    for event in _ends(turn, whole, words):
        yield {"sequence_number": next(numbers), **event}


def _ends(turn: FollowedTurn, whole: dict[str, Any], words: str) -> Iterator[dict[str, Any]]:
    for index, item in enumerate(whole["output"]):
        at = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            place = {**at, "content_index": 0}
            yield {"type": "response.output_text.done", **place, "text": words, "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": _part(words)}
        else:
            begun = {**item, "arguments": "", "status": "in_progress"}
            said = item["arguments"]
            yield {"type": "response.output_item.added", "output_index": index, "item": begun}
            yield {"type": "response.function_call_arguments.delta", **at, "delta": said}
            yield {"type": "response.function_call_arguments.done", **at, "arguments": said, "name": item["name"]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    kind = {"completed": "completed", "incomplete": "incomplete"}.get(whole["status"], "failed")
    yield {"type": f"response.{kind}", "response": whole}


def _event(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n"
