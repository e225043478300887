"""A worker that speaks ACP, as a model: its words are the reply, what it wants of its client are calls.

One `ask` goes as far as the next thing that is to be judged or recorded: the start of its program, a request for a
file, a terminal or a permission, a step that it has taken by itself, or the end of its turn. What the log says came of
a call is its answer, given with the next `ask`. Between the two it waits, or works on: what it writes meanwhile waits
in a bounded queue, and then in its pipe.
"""

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from angelia.acp.faults import INTERNAL, LOGIN, NO_METHOD, NO_RESOURCE, Fault
from angelia.acp.rpc import Method, Notice, Peer
from angelia.context.request import ModelRequest, Result, Role
from angelia.core import entry as e
from angelia.core.content import CallStatus, ReplyPart, Text, Thinking, ToolCall
from angelia.core.crash import crash_point
from angelia.core.ending import WorkerFate
from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId
from angelia.core.text import clean, one_line
from angelia.models.port import CallBegun, Credential, Piece, Price, Reply, TextDelta, ThinkingDelta
from angelia.sandboxes.port import Exit, Running
from angelia.workers.acp import messages as w
from angelia.workers.acp.connection import Connection, Ended
from angelia.workers.acp.steps import Steps, WorkerStep, paths_of, text_of
from angelia.workers.port import (
    PERMISSION,
    READ,
    SHELL,
    START,
    STEP,
    WRITE,
    TerminalProcess,
    Worker,
    WorkerContext,
)

HELLO_S = 60.0
"""Seconds that a worker has to answer its first words, and to open a session."""

MOST_WAITING = 1_000
"""Updates that wait while something is judged; then its pipe fills up."""

MOST_TEXT = 1_000_000
"""Characters of one reply; a longer one is no answer."""

_FATES = {
    "refusal": WorkerFate.REFUSED,
    "max_tokens": WorkerFate.CUT_OFF,
    "max_turn_requests": WorkerFate.OUT_OF_STEPS,
    "cancelled": WorkerFate.CANCELLED,
}
_FILES = w.OfferedFiles(read_text_file=True, write_text_file=True)
_OFFERED = w.Offered(_FILES, terminal=True)


class _Wanted(Struct, frozen=True):
    """A request that is to become a call; its answer is the call's result."""

    name: str
    arguments: Mapping[str, Any]
    answer: "asyncio.Future[Result]"


class _TaskOver(Struct, frozen=True):
    """The prompt was answered: how it ended, or with which fault; and whether it waited for an answer of ours then."""

    came: w.TaskEnded | Fault
    asks: bool


_Event = w.WorkerUpdate | _Wanted | _TaskOver | Ended


def open_worker(context: WorkerContext) -> Worker:
    """See `workers.port.OpenWorker`."""
    return AcpWorker(context)


class AcpWorker:
    """See `workers.port.Worker`."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._connection: Connection | None = None
        self._session = ""
        self._events: asyncio.Queue[_Event] = asyncio.Queue()
        self._taken = asyncio.Event()
        self._tasking: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[Result]] = {}
        self._count = 0
        self._told = 0
        self._steps = Steps()
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._size = 0
        self._paid, self._paid_before = -1.0, 0.0
        self._unpriced = 0
        self._trouble: Ended | None = None
        self._unreachable = asyncio.Event()

    # -- as a model -----------------------------------------------------------------------------------------------

    async def ask(self, request: ModelRequest, credential: Credential) -> AsyncIterator[Piece]:
        """See `ProviderSession`."""
        del credential  # what it logs in with, it was started with
        try:
            async for piece in self._asked(request):
                yield piece
        except ModelError:
            await self.close()
            raise
        except asyncio.CancelledError:
            if self._connection and self._session:
                self._connection.peer.notify("session/cancel", w.StopWork(self._session))
            raise

    async def _asked(self, request: ModelRequest) -> AsyncIterator[Piece]:
        results = {result.wire_id: result for result in _results(request)}
        if self._connection is None:
            if (started := results.get(START)) is None:
                yield self._call(START, START, {"program": self._context.program.name})
                return
            raise self._failed(self._trouble or _not_there(started))
        for name, future in [*self._waiting.items()]:
            if name in results and not future.done():
                del self._waiting[name]
                future.set_result(results[name])
        self._connection.progressed()
        if not self._session:
            await self._say_hello(self._connection.peer)
        self._give_task(self._connection.peer)
        async for piece in self._until_something_is_to_be_done():
            yield piece

    async def _until_something_is_to_be_done(self) -> AsyncIterator[Piece]:
        while True:
            event = self._trouble if self._trouble and self._events.empty() else await self._events.get()
            self._taken.set()
            match event:
                case w.WorkerUpdate():
                    for piece in self._update(event):
                        yield piece
                        if isinstance(piece, Reply):
                            return
                case _Wanted():
                    yield CallBegun(event.name)
                    self._count += 1
                    name = f"r{self._count}"
                    self._waiting[name] = event.answer
                    yield self._call(name, event.name, event.arguments)
                    return
                case _TaskOver():
                    if reply := self._over(event.came, asks=event.asks):
                        yield reply
                        return
                case Ended():
                    raise self._failed(event)

    def _update(self, told: w.WorkerUpdate) -> list[Piece]:
        match told.session_update:
            case "agent_message_chunk":
                return self._grow(self._text, text_of(told.content), TextDelta)
            case "agent_thought_chunk":
                return self._grow(self._thinking, text_of(told.content), ThinkingDelta)
            case "tool_call" | "tool_call_update":
                step = self._steps.told(told)
                if step is None:
                    return [CallBegun(one_line(clean(told.title), 100))] if told.title else []
                self._count += 1
                return [self._call(f"s{self._count}", STEP, _arguments(step))]
            case "usage_update" if told.cost and told.cost.currency.upper() == "USD":
                self._paid = told.cost.amount
        return []

    def _grow(self, held: list[str], text: str, piece: type[TextDelta | ThinkingDelta]) -> list[Piece]:
        self._size += len(text)
        if self._size > MOST_TEXT:
            raise self._failed(Ended(WorkerFate.FLOODED, f"its answer grew beyond {MOST_TEXT:,} characters"))
        held.append(text)
        return [piece(text)] if text else []

    def _call(self, wire_id: str, name: str, arguments: Mapping[str, Any]) -> Reply:
        call = ToolCall(CallId(""), name, msgspec.json.encode(arguments).decode(), wire_id)
        return Reply((*self._said(), call), e.StopReason.TOOL_CALLS, e.Usage())

    def _said(self) -> tuple[ReplyPart, ...]:
        """What it has said since the last reply."""
        thinking, text = clean("".join(self._thinking)), clean("".join(self._text))
        self._thinking, self._text = [], []
        self._size = 0
        parts: list[ReplyPart] = [Thinking(thinking)] if thinking.strip() else []
        return (*parts, Text(text)) if text.strip() else tuple(parts)

    def _over(self, came: w.TaskEnded | Fault, *, asks: bool) -> Reply | None:
        """The reply with which its turn ends; None where it was told something more meanwhile, and goes on with that.

        Raises:
            ModelError: its end is no answer.
        """
        if isinstance(came, Fault):
            fate = WorkerFate.LOGIN if came.code == LOGIN else WorkerFate.FAILED
            raise self._failed(Ended(fate, came.message))
        if fate_told := _FATES.get(came.stop_reason):
            raise self._failed(Ended(fate_told, "".join(self._text)[-300:].strip()))
        if came.stop_reason != "end_turn":
            raise self._failed(Ended(WorkerFate.NONSENSE, f"it ended its turn with {came.stop_reason!r}"))
        if asks:
            raise self._failed(Ended(WorkerFate.UNFINISHED, ""))
        if self._connection and self._told < self._heard_upto():
            self._text.append("\n\n")
            self._give_task(self._connection.peer)
            return None
        parts = self._said()
        if not any(isinstance(part, Text) for part in parts):
            raise self._failed(Ended(WorkerFate.EMPTY, ""))
        used = came.usage or w.UsedTokens()
        usage = e.Usage(used.input_tokens + used.cached_read_tokens, used.output_tokens, used.cached_read_tokens)
        return Reply(parts, e.StopReason.END, usage)

    def _asks(self) -> bool:
        """Whether it waits for an answer of ours."""
        held = [self._events.get_nowait() for _ in range(self._events.qsize())]
        for event in held:
            self._events.put_nowait(event)
        return bool(self._waiting) or any(isinstance(one, _Wanted) for one in held)

    def _failed(self, ended: Ended) -> ModelError:
        said = one_line(clean(ended.said), 400)
        self._trouble = ended
        return ModelError(Failure(FailureKind.WORKER, said=said, names=ended.fate.value), self._said())

    async def price(self, usage: e.Usage) -> Price:
        """See `Worker`: it tells what its whole session has cost (ACP, `usage_update`), and what is new is this."""
        del usage
        if self._paid < 0:
            self._unpriced += 1
            return Price(-1)
        since, self._paid_before = self._paid - self._paid_before, self._paid
        covers, self._unpriced = self._unpriced, 0
        return Price(max(round(since * 1e6), 0), covers)

    # -- its program ----------------------------------------------------------------------------------------------

    def take(self, running: Running) -> None:
        """See `Worker`."""

        def peer(write: Any) -> Peer:
            return Peer(write, self._methods(), {"session/update": Notice(w.SessionTold, self._take_in)})

        self._connection = Connection(running, peer, self._end)
        self._connection.wait_for(self._space_left)

    def _end(self, ended: Ended) -> None:
        self._trouble = self._trouble or ended
        self._unreachable.set()
        self._events.put_nowait(ended)

    async def _space_left(self) -> None:
        while self._events.qsize() > MOST_WAITING:
            self._taken.clear()
            await self._taken.wait()

    async def _take_in(self, told: w.SessionTold) -> None:
        if told.session_id == self._session:
            self._events.put_nowait(told.update)

    async def _say_hello(self, peer: Peer) -> None:
        """Agree on the protocol, and open a session in the workspace.

        Raises:
            ModelError: it does not, or cannot.
        """
        try:
            async with asyncio.timeout(HELLO_S):
                async with asyncio.TaskGroup() as group:
                    waiting = group.create_task(self._gone())
                    self._session = (await opened_session(peer, await self._context.workspace())).session_id
                    waiting.cancel()
        except TimeoutError:
            raise self._failed(Ended(WorkerFate.SILENT, f"it did not answer for {HELLO_S:.0f} s")) from None
        except BaseExceptionGroup as group_of:
            raise self._failed(_first_end(group_of)) from None
        crash_point("worker.opened")

    async def _gone(self) -> None:
        """Wait until the line ends while nothing else can come of it."""
        while True:
            event = await self._events.get()
            if isinstance(event, Ended):
                raise _LineEnded(event)

    def _give_task(self, peer: Peer) -> None:
        """Hand over what was said since the last task, once that one is over."""
        if self._tasking and not self._tasking.done():
            return
        upto, words = self._heard_upto(), list[str]()
        for entry in self._context.entries():
            if isinstance(entry.fact, e.Opening) and self._told < entry.seq <= upto:
                words += [part.text for part in entry.fact.parts if isinstance(part, Text)]
        if not words:
            return
        self._told = upto
        task = w.GivenTask(self._session, (w.GivenWords("text", "\n\n".join(words)),))
        self._tasking = asyncio.create_task(self._task(peer, task))

    def _heard_upto(self) -> int:
        """The last message that the log says it has been asked with: one that comes later is asked with later."""
        asked = (entry.fact for entry in self._context.entries() if isinstance(entry.fact, e.ModelAsked))
        return max((seq for fact in asked for seq in fact.heard), default=0)

    async def _task(self, peer: Peer, task: w.GivenTask) -> None:
        try:
            came: w.TaskEnded | Fault = await peer.ask("session/prompt", task, w.TaskEnded)
        except Fault as fault:
            came = fault
        self._tasking = None
        asks = self._asks()
        if asks:
            self._unreachable.set()
        self._events.put_nowait(_TaskOver(came, asks))

    async def gone(self) -> None:
        """See `Worker`."""
        await self._unreachable.wait()

    async def close(self) -> None:
        """See `Worker`."""
        connection, self._connection = self._connection, None
        self._trouble = self._trouble or Ended(WorkerFate.DIED, "it was ended")
        if self._tasking:
            self._tasking.cancel()
        if connection:
            await connection.close()

    # -- what it asks of us ---------------------------------------------------------------------------------------

    def _methods(self) -> dict[str, Method]:
        return {
            "fs/read_text_file": Method(w.AskedRead, self._read),
            "fs/write_text_file": Method(w.AskedWrite, self._write),
            "session/request_permission": Method(w.AskedPermission, self._permission),
            "terminal/create": Method(w.AskedTerminal, self._open_terminal),
            "terminal/output": Method(w.NamedTerminal, self._terminal_output),
            "terminal/wait_for_exit": Method(w.NamedTerminal, self._terminal_end),
            "terminal/kill": Method(w.NamedTerminal, self._kill_terminal),
            "terminal/release": Method(w.NamedTerminal, self._kill_terminal),
        }

    async def _want(self, name: str, arguments: Mapping[str, Any]) -> Result:
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._events.put_nowait(_Wanted(name, arguments, answer))
        return await answer

    async def _read(self, asked: w.AskedRead) -> w.FileRead:
        given = {"path": asked.path, "line": asked.line or 1, "limit": asked.limit or 0}
        return w.FileRead(_good(await self._want(READ, given)))

    async def _write(self, asked: w.AskedWrite) -> w.DoneAnswer:
        _good(await self._want(WRITE, {"path": asked.path, "content": asked.content}))
        return w.DoneAnswer()

    async def _permission(self, asked: w.AskedPermission) -> w.PermissionAnswer:
        about = asked.tool_call
        title = one_line(clean(about.title or about.kind or "go on"), 300)
        given = {"title": title, "kind": one_line(clean(about.kind), 40), "paths": paths_of(about.locations)}
        result = await self._want(PERMISSION, given)
        choice = chosen(asked.options, yes=result.status is CallStatus.OK)
        return w.PermissionAnswer(w.ChosenOutcome("selected", choice) if choice else w.ChosenOutcome("cancelled"))

    async def _open_terminal(self, asked: w.AskedTerminal) -> w.TerminalOpened:
        words = shlex.join([asked.command, *asked.args]) if asked.args else asked.command
        set_to = " ".join(f"{one.name}={shlex.quote(one.value)}" for one in asked.env if one.name.isidentifier())
        given = {"command": f"{set_to} {words}".strip(), "cwd": asked.cwd or ""}
        result = await self._want(SHELL, given)
        _good(result)
        return w.TerminalOpened(result.call)

    async def _terminal_output(self, asked: w.NamedTerminal) -> w.TerminalShown:
        terminal = self._terminal(asked)
        return w.TerminalShown(terminal.shown(), truncated=False, exit_status=_exit_of(terminal))

    async def _terminal_end(self, asked: w.NamedTerminal) -> w.TerminalEnded:
        terminal = self._terminal(asked)
        await terminal.wait()
        return _exit_of(terminal) or w.TerminalEnded(None, None)

    async def _kill_terminal(self, asked: w.NamedTerminal) -> w.DoneAnswer:
        terminal = self._terminal(asked)
        if terminal.ended() is None:
            await terminal.kill()
        return w.DoneAnswer()

    def _terminal(self, asked: w.NamedTerminal) -> TerminalProcess:
        terminal = self._context.terminal(CallId(asked.terminal_id))
        if terminal is None:
            raise Fault(NO_RESOURCE, f"There is no terminal {asked.terminal_id[:40]!r}.")
        return terminal


class _LineEnded(Exception):
    """The line has ended before a session was opened."""

    def __init__(self, ended: Ended) -> None:
        self.ended = ended
        super().__init__(ended.said)


async def opened_session(peer: Peer, workspace: str) -> w.WorkOpened:
    """Say hello, and open a session.

    Raises:
        Fault: it answered with an error, or speaks another version.
    """
    await said_hello(peer)
    return await peer.ask("session/new", w.OpenWork(workspace, ()), w.WorkOpened)


async def said_hello(peer: Peer) -> w.HelloBack:
    """Say who we are, and what we do for it.

    Raises:
        Fault: as `opened_session`.
    """
    from importlib.metadata import version

    hello = w.Initializing(w.VERSION, _OFFERED, w.OurName("angelia", version("angelia")))
    answer = await peer.ask("initialize", hello, w.HelloBack)
    if answer.protocol_version != w.VERSION:
        raise Fault(NO_METHOD, f"it speaks version {answer.protocol_version}, and we speak {w.VERSION}")
    return answer


def chosen(options: tuple[w.PermissionChoice, ...], *, yes: bool) -> str:
    """The option that says a person's answer, once rather than always; empty where there is none.

    >>> chosen((w.PermissionChoice("a", "allow_always"), w.PermissionChoice("b", "allow_once")), yes=True)
    'b'
    """
    kinds = ("allow_once", "allow_always") if yes else ("reject_once", "reject_always")
    found = (one.option_id for kind in kinds for one in options if one.kind == kind)
    return next(found, "")


def _first_end(group: BaseExceptionGroup[BaseException]) -> Ended:
    for error in group.exceptions:
        if isinstance(error, _LineEnded):
            ended = error.ended
            return Ended(WorkerFate.NOT_STARTED, ended.said) if ended.fate is WorkerFate.DIED else ended
        if isinstance(error, Fault):
            fates = {LOGIN: WorkerFate.LOGIN, NO_METHOD: WorkerFate.NOT_SPOKEN}
            return Ended(fates.get(error.code, WorkerFate.FAILED), error.message)
    raise group


def _not_there(started: Result) -> Ended:
    """Why there is no program: it was not started, or that was in another life of ours."""
    begun = started.status in (CallStatus.OK, CallStatus.UNKNOWN)
    return Ended(WorkerFate.LOST, "") if begun else Ended(WorkerFate.NOT_STARTED, _words(started))


def _results(request: ModelRequest) -> list[Result]:
    tools = (message for message in request.messages if message.role is Role.TOOL)
    return [part for message in tools for part in message.parts if isinstance(part, Result)]


def _words(result: Result) -> str:
    return "".join(part.text for part in result.parts if isinstance(part, Text))


def _good(result: Result) -> str:
    """What a call came to, as the worker gets it; raises Fault for what it did not get."""
    if result.status is not CallStatus.OK:
        raise Fault(INTERNAL, _words(result))
    return _words(result)


def _arguments(step: WorkerStep) -> dict[str, Any]:
    found = msgspec.to_builtins(step)
    assert isinstance(found, dict)
    return found


def _exit_of(terminal: TerminalProcess) -> w.TerminalEnded | None:
    match terminal.ended():
        case None:
            return None
        case Exit(status=status, signal=signal):
            return w.TerminalEnded(None, f"SIG{signal}") if signal else w.TerminalEnded(status, None)
        case _:
            return w.TerminalEnded(None, None)
