"""One request to a model, recorded before it leaves, and whatever comes of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from angelia.context.limits import LEAST_BYTES
from angelia.context.request import ModelRequest
from angelia.core import entry as e
from angelia.core.content import ReplyPart, Text, Thinking, ToolCall
from angelia.core.crash import crash_point
from angelia.core.errors import ModelError
from angelia.core.failure import STOPPED, Failure, FailureKind
from angelia.core.ids import call_id
from angelia.core.text import clean
from angelia.engine.live import Awaiting, CallComing, Thinks, Writing
from angelia.engine.log import Log
from angelia.engine.machine import AskModel
from angelia.engine.reply_files import named_by
from angelia.models.port import CallBegun, Credential, Price, ProviderSession, Reply, TextDelta, ThinkingDelta
from angelia.store.log.lease import Lease

QUIET_S = 3.0
"""After so many seconds without a word from a model a person wants to know what is waited for."""

Cost = Callable[[e.Usage], Awaitable[Price]]
"""Millionths of a dollar for what a reply used; -1 when nobody knows."""


class ModelCall:
    """Asks one model once."""

    def __init__(
        self, log: Log, session: ProviderSession, credential: Credential, cost: Cost, first_byte: float = 0.0
    ) -> None:
        """`first_byte` is how many seconds the provider waits for it, 0 where that is not known."""
        self._log = log
        self._live = log.live
        self._first_byte_ms = round(first_byte * 1000)
        self._session = session
        self._credential = credential
        self._cost = cost
        self._text: list[str] = []

    async def ask(
        self,
        effect: AskModel,
        setup: e.SetupChanged,
        in_force: e.SetupChanged | None,
        request: Callable[[], ModelRequest],
        lease: Lease,
    ) -> list[e.AnyFact]:
        """Append `ModelAsked`, send, and return what came: `ModelSaid` and the files it names, or `ModelError`.

        A stop by a person counts, and is appended here.
        """
        asked = e.ModelAsked(setup.model, effect.attempt, effect.heard, self._credential.label)
        changed = [setup] if setup != in_force else []
        entries = await self._log.append(*changed, asked, lease=lease)
        crash_point("model.asked")
        made = request()
        body = made.body if made.body >= LEAST_BYTES else 0
        try:
            await asyncio.sleep(0)  # a wish to stop that came in with the append is heeded here: nothing is sent then
            reply = await self._stream(made, entries[-1].at)
        except ModelError as failed:
            refused = body if failed.failure.kind is FailureKind.BODY_TOO_LARGE else 0
            return [e.ModelFailed(setup.model, failed.failure, _cleaned(failed.partial), body=refused)]
        except asyncio.CancelledError:
            partial = (Text(clean("".join(self._text))),) if self._text else ()
            await asyncio.shield(self._log.append(e.ModelFailed(setup.model, STOPPED, partial), lease=lease))
            raise
        crash_point("model.replied")
        price = await self._cost(reply.usage)
        said = _fact(setup.model, reply, price, entries[-1].seq)
        if isinstance(said, e.ModelSaid):
            said = replace(said, body=body)
        return [said, *named_by(self._log.entries, effect.continues, said, entries[-1].seq)]

    async def _stream(self, request: ModelRequest, since: int) -> Reply:
        """The reply. Whoever watches is told when nothing has come of the request for a while."""
        until = since + self._first_byte_ms if self._first_byte_ms else 0
        silent = Awaiting(request.profile.name, since, until)
        telling = asyncio.get_running_loop().call_later(QUIET_S, self._live.emit, silent)
        try:
            return await self._pieces(request, telling)
        finally:
            telling.cancel()

    async def _pieces(self, request: ModelRequest, telling: asyncio.TimerHandle) -> Reply:
        async for piece in self._session.ask(request, self._credential):
            telling.cancel()
            match piece:
                case TextDelta(text=text):
                    self._text.append(text)
                    self._live.emit(Writing(text))
                case ThinkingDelta(text=text):
                    self._live.emit(Thinks(text))
                case CallBegun(name=name):
                    self._live.emit(CallComing(name))
                case Reply():
                    return piece
        raise ModelError(Failure(FailureKind.STREAM_CUT, said="the stream ended without a reply"))


def _fact(model: str, reply: Reply, price: Price, asked: int) -> e.ModelSaid | e.ModelFailed:
    """An empty or refused reply is a failure: it is kept in the log, and no request ever carries it."""
    parts = _named(_cleaned(reply.parts), asked)
    if reply.stop is e.StopReason.REFUSAL:
        said = "".join(part.text for part in parts if isinstance(part, Text))[:500]
        return e.ModelFailed(model, Failure(FailureKind.REFUSAL, said=said), parts, reply.usage, price.cost)
    if reply.stop is not e.StopReason.PAUSE and not _says_anything(parts):
        return e.ModelFailed(model, Failure(FailureKind.EMPTY_REPLY), parts, reply.usage, price.cost)
    return e.ModelSaid(model, parts, reply.stop, reply.usage, price.cost, covers=price.covers)


def _says_anything(parts: Sequence[ReplyPart]) -> bool:
    return any(
        isinstance(part, ToolCall) or (isinstance(part, Text | Thinking) and part.text.strip()) for part in parts
    )


def _named(parts: Sequence[ReplyPart], asked: int) -> tuple[ReplyPart, ...]:
    """Give each call the log's own id, since providers repeat theirs."""
    named: list[ReplyPart] = []
    for part in parts:
        if isinstance(part, ToolCall):
            index = sum(isinstance(p, ToolCall) for p in named)
            named.append(ToolCall(call_id(asked, index), part.name, part.arguments, part.wire_id, part.native))
        else:
            named.append(part)
    return tuple(named)


def _cleaned(parts: Sequence[ReplyPart]) -> tuple[ReplyPart, ...]:
    """Models can write what UTF-8 cannot carry; a part that a provider signed is already bytes and stays."""
    cleaned: list[ReplyPart] = []
    for part in parts:
        match part:
            case Text(text=text, native=native):
                cleaned.append(Text(clean(text), native))
            case Thinking(text=text, native=native):
                cleaned.append(Thinking(clean(text), native))
            case ToolCall():
                cleaned.append(ToolCall(part.id, clean(part.name), clean(part.arguments), part.wire_id, part.native))
            case _:
                cleaned.append(part)
    return tuple(cleaned)
