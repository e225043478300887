"""`/a2a` and the card: tasks begun, followed, told elsewhere, listed and cancelled by agents with a key of the API."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.ids import ConversationId
from angelia.faces.web.a2a.card import CALL_PATH, CARD_PATH, agent_card
from angelia.faces.web.a2a.push_configs import PushConfig, only
from angelia.faces.web.a2a.pushes import TaskPushes
from angelia.faces.web.a2a.rpc import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NO_VERSION,
    NOT_CANCELABLE,
    PARSE_ERROR,
    UNSUPPORTED,
    VERSION,
    CallRefused,
    RpcCall,
    refused_call,
    rpc_error,
    rpc_result,
)
from angelia.faces.web.a2a.task_message import SendRequest, content_of, require_possible
from angelia.faces.web.a2a.task_object import message_key, state_of, task_id, task_object
from angelia.faces.web.a2a.task_stream import task_stream
from angelia.faces.web.api_keys import ApiKey, KeyScope
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RequestRefused, RouteRequest, RouteResponse, StreamedResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.asgi.server_sent_events import MIME, last_seen
from angelia.faces.web.v1.chat_completions import unless_gone
from angelia.faces.web.v1.intake import MOST_BODY
from angelia.faces.web.v1.response_request import conversation_in, conversation_name
from angelia.faces.web.v1.turn import FollowedTurn, StoredTurn
from angelia.faces.web.v1.turn_place import place_in
from angelia.faces.web.v1.turns import USUAL, ApiTurns, ProgramMessage

if TYPE_CHECKING:
    from angelia.service.app import App

T = TypeVar("T")

MOST_LISTED, USUALLY_LISTED = 100, 50
"""Tasks on one page of a list."""

MOST_LOOKED_AT = 200
"""Contexts whose tasks are listed where none is named: those that were used last."""


class _TaskNamed(Struct, rename="camel"):
    id: str
    history_length: int | None = None


class _TasksOf(Struct, rename="camel"):
    context_id: str = ""
    status: str = ""
    page_size: int = USUALLY_LISTED
    page_token: str = ""
    history_length: int | None = 0
    include_artifacts: bool = False


class _PushNamed(Struct, rename="camel"):
    task_id: str
    id: str = ""


class CallRoutes:
    """The handlers."""

    def __init__(self, app: "App", turns: ApiTurns, pushes: TaskPushes) -> None:
        self._app, self._turns = app, turns
        self._pushes = pushes
        self._methods: Mapping[str, Callable[[RouteRequest, RpcCall], Awaitable[RouteResponse | StreamedResponse]]] = {
            "SendMessage": self._send,
            "SendStreamingMessage": self._send_streaming,
            "GetTask": self._get,
            "ListTasks": self._list,
            "CancelTask": self._cancel,
            "SubscribeToTask": self._subscribe,
            "CreateTaskPushNotificationConfig": self._push,
            "GetTaskPushNotificationConfig": self._push_config,
            "ListTaskPushNotificationConfigs": self._push_configs,
            "DeleteTaskPushNotificationConfig": self._no_push,
        }

    def routes(self) -> list[Route]:
        """One row each. A call's method is in its body, so the scope of the key is looked at where it is known."""
        return [
            Route("GET", CARD_PATH, RouteGuard.NONE, self._card),
            Route("POST", CALL_PATH, RouteGuard.READ_KEY, self._call, refused_call),
        ]

    async def _card(self, request: RouteRequest) -> RouteResponse:
        return json_response(agent_card(request.origin))

    async def _call(self, request: RouteRequest) -> RouteResponse | StreamedResponse:
        try:
            call = await request.json(RpcCall, MOST_BODY)
        except BadInput as error:
            return json_response(rpc_error(None, CallRefused(PARSE_ERROR, error.what, error.why)))
        try:
            _require_version(request.headers.get("a2a-version", ""))
            return await self._method(call)(request, call)
        except AngeliaError as error:
            return json_response(rpc_error(call.id, error))

    def _method(self, call: RpcCall) -> Callable[[RouteRequest, RpcCall], Awaitable[RouteResponse | StreamedResponse]]:
        if call.jsonrpc != "2.0":
            raise CallRefused(INVALID_REQUEST, f"`jsonrpc` is {call.jsonrpc[:20]!r}, expected '2.0'.")
        if call.method == "GetExtendedAgentCard":
            raise CallRefused(UNSUPPORTED, "There is one card, for everybody.")
        if call.method not in self._methods:
            known = ", ".join(self._methods)
            raise CallRefused(METHOD_NOT_FOUND, f"There is no method {call.method[:80]!r}.", f"There are: {known}.")
        return self._methods[call.method]

    # -- a message ----------------------------------------------------------------------------------------------------

    async def _send(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        asked = _params(call, SendRequest)
        turn = await self._begun(request, asked)
        if not asked.configuration.return_immediately and await unless_gone(request, turn) is None:
            return RouteResponse(status=499)
        task = await self._told(request, turn, asked.configuration.history_length)
        return json_response(rpc_result(call.id, {"task": task}))

    async def _send_streaming(self, request: RouteRequest, call: RpcCall) -> StreamedResponse:
        turn = await self._begun(request, _params(call, SendRequest))
        return self._streamed(request, call, turn)

    async def _begun(self, request: RouteRequest, asked: SendRequest) -> FollowedTurn:
        """The turn that a message opens, or has opened."""
        key = _speaking(request)
        require_possible(asked)
        push = asked.configuration.task_push_notification_config
        if push is not None:
            await self._pushes.require_reachable(push)
        turn = await self._said(key, asked)
        if push is not None:
            await self._pushes.add(key, request.origin, replace(push, task_id=task_id(turn)))
        return turn

    async def _said(self, key: ApiKey, asked: SendRequest) -> FollowedTurn:
        said = await content_of(asked.message, self._app.intake)
        stored_as = message_key(key.name, asked.message.message_id)
        async with self._turns.lock(stored_as):
            if place := await self._turns.repeated(key, stored_as):
                return _same(await self._turns.again(key, place), said)
            await self._turns.require_money(key)
            where = await self._context(key, asked)
            message = ProgramMessage(stored_as, await self._turns.model(key, USUAL), said)
            return await self._turns.begin(key, where, message)

    async def _context(self, key: ApiKey, asked: SendRequest) -> ConversationId | None:
        """Where a message goes; None for a context that is begun with it.

        Raises:
            RequestRefused: there is none of this name for the key.
            CallRefused: its task is over, or runs.
            BadInput: the task is of another context.
        """
        message = asked.message
        if message.task_id:
            turn = await self._turns.again(key, place_in(message.task_id))
            if message.context_id not in ("", conversation_name(turn.conversation)):
                raise BadInput(f"The task {message.task_id} is of another context than {message.context_id[:80]}.")
            over = turn.result().over
            raise CallRefused(
                UNSUPPORTED,
                f"The task {message.task_id} {'is over' if over else 'is being worked on'}.",
                then="Begin a further one in its context." if over else "Wait for it, or cancel it.",
            )
        if not message.context_id:
            return None
        try:
            own = conversation_in(message.context_id)
            return (await self._app.transcript.summary(key.principal, own)).id
        except AngeliaError:
            raise BadInput(
                f"There is no context {message.context_id[:80]!r}.", "Contexts are named here.", "Leave it out."
            ) from None

    # -- a task -------------------------------------------------------------------------------------------------------

    async def _get(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        asked = _params(call, _TaskNamed)
        turn = await self._turn(request, asked.id)
        return json_response(rpc_result(call.id, await self._told(request, turn, asked.history_length)))

    async def _cancel(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        key, asked = _speaking(request), _params(call, _TaskNamed)
        turn = await self._turn(request, asked.id)
        if turn.result().over:
            raise CallRefused(NOT_CANCELABLE, f"The task {asked.id} is over already.")
        await turn.session.stop(key.principal)
        if await unless_gone(request, turn) is None:
            return RouteResponse(status=499)
        return json_response(rpc_result(call.id, await self._told(request, turn)))

    async def _subscribe(self, request: RouteRequest, call: RpcCall) -> StreamedResponse:
        asked = _params(call, _TaskNamed)
        turn = await self._turn(request, asked.id)
        if turn.result().over and not last_seen(request):
            raise CallRefused(UNSUPPORTED, f"The task {asked.id} is over.", then="Ask for it (`GetTask`).")
        return self._streamed(request, call, turn)

    async def _list(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        """The tasks of one context, or of all that the key sees, the newest first. They are read and not driven on."""
        asked, key = _params(call, _TasksOf), _key(request)
        turns = list[StoredTurn]()
        for own in [conversation_in(asked.context_id)] if asked.context_id else await self._contexts(key):
            await self._app.transcript.summary(key.principal, own)
            entries = await self._app.transcript.entries(own)
            places = [one.seq for one in entries if isinstance(one.fact, e.UserSaid) and _is_of(key, one.fact)]
            turns += [StoredTurn(own, entries, seq) for seq in places]
        newest = sorted(turns, key=lambda one: (one.entries[one.seq - 1].at, task_id(one)), reverse=True)
        found = [one for one in newest if asked.status in ("", state_of(one.result()))]
        size = min(max(asked.page_size, 1), MOST_LISTED)
        skipped = next((at + 1 for at, one in enumerate(found) if task_id(one) == asked.page_token), 0)
        page = found[skipped : skipped + size]
        tasks = [task_object(one, request.origin, asked.history_length, whole=asked.include_artifacts) for one in page]
        more = task_id(page[-1]) if page and skipped + size < len(found) else ""
        return json_response(
            rpc_result(call.id, {"tasks": tasks, "nextPageToken": more, "pageSize": size, "totalSize": len(found)})
        )

    async def _contexts(self, key: ApiKey) -> list[ConversationId]:
        """The conversations of a key that were used last."""
        used = await self._app.transcript.conversations(key.principal, MOST_LOOKED_AT, owner=key.principal, door=e.API)
        return [one.id for one in used]

    # -- where it is told ---------------------------------------------------------------------------------------------

    async def _push(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        key, config = _speaking(request), _params(call, PushConfig)
        await self._turn(request, config.task_id)
        await self._pushes.require_reachable(config)
        return json_response(rpc_result(call.id, await self._pushes.add(key, request.origin, config)))

    async def _push_config(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        return json_response(rpc_result(call.id, await self._named_push(request, call)))

    async def _push_configs(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        task = _params(call, _PushNamed).task_id
        await self._turn(request, task)
        return json_response(rpc_result(call.id, {"configs": await self._pushes.configs.of(_key(request).name, task)}))

    async def _no_push(self, request: RouteRequest, call: RpcCall) -> RouteResponse:
        _speaking(request)
        await self._pushes.end(await self._named_push(request, call))
        return json_response(rpc_result(call.id, {}))

    async def _named_push(self, request: RouteRequest, call: RpcCall) -> PushConfig:
        named = _params(call, _PushNamed)
        await self._turn(request, named.task_id)
        return only(await self._pushes.configs.of(_key(request).name, named.task_id), named.id)

    async def _turn(self, request: RouteRequest, task: str) -> FollowedTurn:
        return await self._turns.again(_key(request), place_in(task))

    async def _told(self, request: RouteRequest, turn: FollowedTurn, history: int | None = None) -> dict[str, Any]:
        """The task; where it is over, this is its receipt."""
        result = turn.result()
        task = task_object(turn, request.origin, history)
        if result.over:
            await self._turns.given(_key(request), turn, result.deliveries)
        return task

    def _streamed(self, request: RouteRequest, call: RpcCall, turn: FollowedTurn) -> StreamedResponse:
        async def pieces() -> AsyncGenerator[bytes, None]:
            async for piece in task_stream(turn, call.id, request.origin, last_seen(request)):
                yield piece
            result = turn.result()
            if result.over:
                await self._turns.given(_key(request), turn, result.deliveries)

        return StreamedResponse(pieces(), MIME, headers={"x-accel-buffering": "no"})


def _key(request: RouteRequest) -> ApiKey:
    assert request.key is not None
    return request.key


def _speaking(request: RouteRequest) -> ApiKey:
    """The key, whose scope allows to speak.

    Raises:
        RequestRefused: it does not.
    """
    key = _key(request)
    if key.scope is KeyScope.READ:
        raise RequestRefused(403, f"The key {key.name} may only read.", "Its scope is `read`.")
    return key


def _require_version(asked: str) -> None:
    """Without a version that of before 1.0 is meant (section 3.6.2), which nobody speaks here.

    Raises:
        CallRefused: it is another one.
    """
    if asked.partition(".")[0] != VERSION.partition(".")[0]:
        what = f"The version {asked[:20]} of the protocol is not spoken." if asked else "No version is named."
        raise CallRefused(NO_VERSION, what, f"This is {VERSION}.", f"Send `A2A-Version: {VERSION}`.")


def _params(call: RpcCall, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(call.params, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadInput(f"The parameters of {call.method} are not what is expected.", str(error)) from error


def _is_of(key: ApiKey, said: e.UserSaid) -> bool:
    return said.key.startswith(f"{key.name}:") and not said.forwarded


def _same(turn: FollowedTurn, said: list[Any]) -> FollowedTurn:
    """A turn that the same message has opened.

    Raises:
        BadInput: it was another one.
    """
    fact = turn.session.log.entries[turn.seq - 1].fact
    if not isinstance(fact, e.UserSaid) or list(fact.parts) != said:
        raise BadInput("This `messageId` was used for another message.", then="A new message needs a new one.")
    return turn
