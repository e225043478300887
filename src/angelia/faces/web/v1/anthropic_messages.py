"""`/v1/messages`, as Anthropic defines it (https://docs.anthropic.com/en/api/messages)."""

from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from angelia.core.errors import AngeliaError
from angelia.faces.web.api_keys import ApiKey
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, StreamedResponse, json_response, status_of
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import MIME
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.web.v1.chat_completions import failed, finish_reason, unless_gone
from angelia.faces.web.v1.chat_messages import (
    CalledFunction,
    ChatCall,
    ChatMessage,
    FileData,
    FilePart,
    ImagePart,
    ImageUrl,
    MessagePart,
    TextPart,
)
from angelia.faces.web.v1.files import file_lines, shown_words
from angelia.faces.web.v1.history_turns import HistoryTurns
from angelia.faces.web.v1.intake import MOST_BODY
from angelia.faces.web.v1.offered_tools import AnthropicToolForm, ToolWishes, anthropic_tools, tool_wishes
from angelia.faces.web.v1.program_calls import ProgramCall
from angelia.faces.web.v1.refusals import NO_RETRY, ApiRefused, not_possible
from angelia.faces.web.v1.told_words import ToldWords
from angelia.faces.web.v1.turn import Beat, FollowedTurn, TurnResult
from angelia.faces.web.v1.turn_place import TurnPlace
from angelia.faces.web.v1.turns import ApiTurns

if TYPE_CHECKING:
    from angelia.service.app import App

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
_STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}


class BlockSource(Struct):
    """Where the bytes of a picture or document are."""

    type: str
    media_type: str = ""
    data: str = ""


class InputBlock(Struct):
    """One block of a message: words, a file, a call that was made, or what one came to."""

    type: str
    text: str = ""
    source: BlockSource | None = None
    title: str | None = None
    id: str = ""
    name: str = ""
    input: dict[str, Any] | None = None
    tool_use_id: str = ""
    content: "str | list[InputBlock] | None" = None
    is_error: bool | None = None


class AnthropicMessage(Struct):
    """One message of the history that the program keeps."""

    role: Literal["user", "assistant"]
    content: str | list[InputBlock]


class MessagesRequest(Struct):
    """The body of the request."""

    model: str
    messages: list[AnthropicMessage]
    system: str | list[InputBlock] = ""
    stream: bool = False
    tools: list[AnthropicToolForm] | None = None
    tool_choice: dict[str, Any] | None = None
    stop_sequences: list[str] | None = None


def anthropic_error(error: AngeliaError) -> RouteResponse:
    """An error as the answer to a request."""
    status = status_of(error)
    said = json_response({"type": "error", "error": _error(error)}, status)
    return RouteResponse(said.body, status, said.mime, NO_RETRY if status >= 409 else {})


def _error(error: AngeliaError) -> dict[str, str]:
    status = status_of(error)
    usual = "api_error" if status >= 500 else "invalid_request_error"
    return {"type": _KINDS.get(status, usual), "message": str(error)}


class MessagesRoutes:
    """The handlers."""

    def __init__(self, app: "App", conversations: WebConversations, turns: ApiTurns) -> None:
        self._turns = turns
        self._history = HistoryTurns(app, conversations, turns)

    def routes(self) -> list[Route]:
        """One row."""
        return [Route("POST", "/v1/messages", RouteGuard.CHAT_KEY, self._create, anthropic_error)]

    async def _create(self, request: RouteRequest) -> RouteResponse | StreamedResponse:
        assert request.key is not None
        body = await request.json(MessagesRequest, MOST_BODY)
        wishes = _wishes(body.tool_choice or {})
        turn = await self._history.begun(
            request, _messages(body), body.model, anthropic_tools(body.tools or (), wishes)
        )
        if body.stream:
            pieces = self._streamed(request.key, turn, body.model)
            return StreamedResponse(pieces, MIME, headers={"x-accel-buffering": "no"})
        result = await unless_gone(request, turn)
        if result is None:
            return RouteResponse(status=499)
        if why := failed(result):
            raise why
        await self._turns.given(request.key, turn, result.deliveries)
        words = shown_words(turn.conversation, result)
        calls = turn.calls()
        blocks = [{"type": "text", "text": words}] if words or not calls else []
        whole = _message_object(turn, body.model, [*blocks, *(_tool_use(one) for one in calls)])
        return json_response({**whole, "stop_reason": _stop(result), "usage": _usage(result)})

    async def _streamed(self, key: ApiKey, turn: FollowedTurn, model: str) -> AsyncGenerator[bytes, None]:
        told, open_block = ToldWords(), False
        begun = {**_message_object(turn, model, []), "stop_reason": None, "usage": _usage(turn.result())}
        yield _event("message_start", message=begun)
        try:
            async for event in turn.events():
                if isinstance(event, Beat):
                    yield _event("ping")
                    continue
                more = told.heard(event)
                if more and not open_block:
                    open_block = True
                    yield _TEXT_BEGINS
                if more:
                    yield _delta(more)
            result = turn.result()
            if why := failed(result):
                raise why
        except AngeliaError as error:
            yield _event("error", error=_error(error))
            return
        for piece in self._ended(turn, told, result, open_block=open_block):
            yield piece
        await self._turns.given(key, turn, result.deliveries)

    def _ended(self, turn: FollowedTurn, told: ToldWords, result: TurnResult, *, open_block: bool) -> Iterator[bytes]:
        """What is left to be told, and the calls."""
        calls = turn.calls()
        rest = [told.rest(result.words, turn.session.log.entries), file_lines(turn.conversation, result)]
        if not open_block and (any(rest) or not calls):
            open_block = True
            yield _TEXT_BEGINS
        yield from (_delta(f"\n\n{one}" if one.startswith("File: ") else one) for one in rest if one)
        if open_block:
            yield _event("content_block_stop", index=0)
        for index, call in enumerate(calls, int(open_block)):
            yield _event("content_block_start", index=index, content_block={**_tool_use(call), "input": {}})
            yield _event(
                "content_block_delta",
                index=index,
                delta={"type": "input_json_delta", "partial_json": call.arguments},
            )
            yield _event("content_block_stop", index=index)
        yield _event("message_delta", delta={"stop_reason": _stop(result), "stop_sequence": None}, usage=_usage(result))
        yield _event("message_stop")


def _wishes(choice: dict[str, Any]) -> ToolWishes:
    kind = choice.get("type", "auto")
    parallel = False if choice.get("disable_parallel_tool_use") else None
    return tool_wishes(kind if isinstance(kind, str) else "", parallel)


def _tool_use(call: ProgramCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": msgspec.Raw(call.arguments.encode())}


def _messages(body: MessagesRequest) -> list[ChatMessage]:
    if body.stop_sequences:
        raise not_possible("stop_sequences", "An answer ends by itself.")
    if not body.messages or body.messages[-1].role != "user":
        raise ApiRefused(400, "The last message is not a user's.", param="messages")
    system = body.system if isinstance(body.system, str) else "\n\n".join(one.text for one in body.system)
    found = [said for at, one in enumerate(body.messages) for said in _said(one, f"messages.{at}")]
    return [ChatMessage("system", system), *found] if system else found


def _said(message: AnthropicMessage, param: str) -> Iterator[ChatMessage]:
    """A message as one or several: the results of calls stand by themselves, before what is said beside them."""
    if isinstance(message.content, str):
        yield ChatMessage(message.role, message.content)
        return
    for one in message.content:
        if one.type == "tool_result":
            inside = AnthropicMessage("user", one.content or "")
            yield ChatMessage("tool", _content(inside, param), None, one.tool_use_id, bool(one.is_error))
    calls = [
        ChatCall(one.id, CalledFunction(one.name, msgspec.json.encode(one.input or {}).decode()))
        for one in message.content
        if one.type == "tool_use"
    ]
    rest = [one for one in message.content if one.type not in _NOT_SAID]
    if rest or calls:
        yield ChatMessage(message.role, [_part(block, param) for block in rest], calls or None)


_NOT_SAID = frozenset({"tool_result", "tool_use", "thinking", "redacted_thinking"})


def _content(message: AnthropicMessage, param: str) -> str | list[MessagePart]:
    if isinstance(message.content, str):
        return message.content
    return [_part(block, param) for block in message.content]


def _part(block: InputBlock, param: str) -> MessagePart:
    source = block.source
    match block.type:
        case "text":
            return TextPart(block.text)
        case "image" if source and source.type == "base64":
            return ImagePart(ImageUrl(f"data:{source.media_type};base64,{source.data}"))
        case "document" if source and source.type == "base64":
            return FilePart(FileData(f"data:{source.media_type};base64,{source.data}", block.title or ""))
        case _:
            raise not_possible(
                param, f"A block {block.type[:40]!r} cannot be taken as it came.", "Bytes come in base64."
            )


def _message_object(turn: FollowedTurn, model: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    own = TurnPlace(turn.conversation, turn.seq).named("msg")
    head = {"id": own, "type": "message", "role": "assistant", "model": model}
    return {**head, "content": content, "stop_sequence": None}


def _stop(result: TurnResult) -> str:
    return _STOPS[finish_reason(result)]


def _usage(result: TurnResult) -> dict[str, int]:
    """As Anthropic counts: what was read from a cache or written to it is not in `input_tokens`."""
    one = result.usage
    return {
        "input_tokens": max(one.input - one.cache_read - one.cache_write, 0),
        "cache_creation_input_tokens": one.cache_write,
        "cache_read_input_tokens": one.cache_read,
        "output_tokens": one.output,
    }


_TEXT_BEGINS = b"""event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

"""


def _delta(text: str) -> bytes:
    return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def _event(kind: str, **data: object) -> bytes:
    return f"event: {kind}\ndata: ".encode() + msgspec.json.encode({"type": kind, **data}) + b"\n\n"
