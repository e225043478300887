"""One session of an editor: prompts become messages, and what happens is told until each of them is answered."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from angelia.context.compaction import last_move
from angelia.context.view import refused_by
from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.errors import AngeliaError, BadInput, StoreError
from angelia.core.ids import CallId, call_that_asks, sortable_id
from angelia.core.principal import OWNER
from angelia.engine.live import Committed, LiveEvent
from angelia.engine.remedies import DEFAULT
from angelia.engine.state import step
from angelia.faces.acp import calls
from angelia.faces.acp import incoming as i
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.faces.acp.blocks import PromptFiles, only_text, only_words, taken
from angelia.faces.acp.commands import EditorCommandPort, in_markdown, offered_commands
from angelia.faces.acp.editor_sandbox import Editing
from angelia.faces.acp.endings import stop_reason
from angelia.faces.acp.folder_questions import FolderQuestions
from angelia.faces.acp.permission_requests import PermissionRequests
from angelia.faces.acp.prompts import AcpWaiting, AskedBack, Prompts
from angelia.faces.acp.questions import in_words
from angelia.faces.acp.servers import Introductions
from angelia.faces.acp.session_sender import DOOR, Client, SessionSender, unsettled
from angelia.faces.acp.session_settings import SessionSettings
from angelia.faces.acp.session_updates import SessionUpdates, owed
from angelia.faces.acp.workspace_files import WorkspaceFiles
from angelia.policy.approvers import owner_at
from angelia.service.command_port import CommandPort, CommandReply, CommandTable, CommonResult, MessageToSend
from angelia.service.commands import editor_command

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

_SERVERS_STAY = (
    "A turn is running, so its MCP servers stay as they are. Load the session again after it for the new ones."
)
logger = logging.getLogger("angelia.acp")


class AcpConversation:
    """A session that is open in this process. `spec` is its model, `folder` the client's.

    Raises:
        ConfigError: `spec` names no vendor or no model.
    """

    def __init__(self, app: "App", session: "Session", client: Client, spec: str, folder: Path) -> None:
        self.app, self.session = app, session
        self.editing = Editing(client, session.conversation, self._in_terminal)
        self.choosing = SessionSettings(app, session, self.editing, spec, folder)
        self._updates = SessionUpdates(session.workspace, self.choosing.window)
        self._sending = SessionSender(app, session, client)
        self.servers = Introductions(app, session, client, self._sending.tell)
        self._folder = FolderQuestions(app, session, client, self._sending.tell)
        self._asking = PermissionRequests(
            session, client, app.clock, self._ask_in_words, lambda words: self.say_aloud([words])
        )
        self._order = asyncio.Lock()
        self._prompts = Prompts()
        self._question: e.ApprovalAsked | None = None
        self._turn = session.turn
        self._guard: asyncio.Task[None] | None = None
        self._named: Any = ()
        self._attached = False
        self._unwatch = session.live.watch(self._see)

    # -- opening and closing ------------------------------------------------------------------------------------

    async def drive(self) -> None:
        """Let the model drive it from now on.

        Raises:
            KeyMissing, ConfigError, MissingPart, SandboxError: it cannot be used as it is.
        """
        chosen = self.choosing
        bound = await self.app.conversations.employ(
            self.session,
            chosen.spec,
            approvers=owner_at(e.Address(DOOR, self.session.conversation)),
            effort=chosen.effort,
        )
        self._updates.window, self._updates.workspace = bound.profile.window, self.session.workspace
        if self._guard:
            self._guard.cancel()
        self._guard = asyncio.create_task(self.session.driven())
        self._guard.add_done_callback(self._fell)

    async def be_driven(self, servers: Any) -> None:
        """Know these servers, as the client names them, in place of those before, and let the model drive it.

        Raises:
            KeyMissing, ConfigError, MissingPart, SandboxError: as `drive` does.
        """
        async with self._order:
            await self._take(servers)

    async def open_again(self, servers: Any, *, replay: bool) -> list[str]:
        """Show it to the client that opens it, and see that it is driven; returns what the person is to be told.

        A turn that runs here goes on as it is, with the servers that it has.

        Raises:
            KeyMissing, ConfigError, MissingPart, SandboxError: as `drive` does.
        """
        if replay:
            self._replay()
        elif not self._attached:
            self._catch_up()
        async with self._order:
            runs = self._guard is not None and bool(self.session.turn.opened)
            if not runs:
                await self._take(servers)
        await self.drained()
        return [_SERVERS_STAY] if runs and (servers or ()) != self._named else []

    async def _take(self, servers: Any) -> None:
        await self.servers.take(servers)
        await self.drive()
        self._named = servers or ()

    def _replay(self) -> None:
        """Tell everything that was said and done, and what a running turn has streamed since; then give what had not
        been shown yet its receipt.
        """
        before, self._updates = self._updates, SessionUpdates(self.session.workspace, self._updates.window)
        self._sending.tell(self._updates.replay(self.session.log.entries))
        if self._attached:
            self._sending.tell(self._updates.go_on_from(before.streamed))
        for queued in unsettled(self.session):
            self._sending.settle(queued)

    def _catch_up(self) -> None:
        """Take in what the client knows already, and tell what was never shown to it."""
        self._updates.skip(self.session.log.entries)
        for queued in unsettled(self.session):
            self._sending.tell(owed(queued))
            self._sending.settle(queued)

    def attach(self) -> None:
        """The client knows the session: tell it about commands, put the open questions, begin its servers."""
        self._attached = True
        self._sending.tell([o.AcpCommands(offered_commands())])
        for asked in self.session.questions():
            self._ask(asked)
        self.servers.begin()
        self._ask_about_folder()

    def say_aloud(self, notes: Iterable[str]) -> None:
        """Tell the person something that belongs to no reply."""
        self._sending.tell(o.AgentChunk(o.AcpWords(f"{note}\n\n"), f"s{sortable_id()}") for note in notes)

    async def drained(self) -> None:
        """Wait until everything told so far was sent."""
        await self._sending.drained()

    async def close(self) -> None:
        """Leave it; an open turn stays open in the log."""
        self._unwatch()
        if self._guard:
            self._guard.cancel()
            self._guard = None
        await self._asking.close()
        await self._folder.close()
        await self.servers.close()
        await self.app.conversations.leave(self.session)
        await self._sending.close()
        self._prompts.leave()

    # -- what the person does -----------------------------------------------------------------------------------

    async def prompt(self, blocks: Sequence[i.Block]) -> r.Stopped:
        """Say something, and wait for the end of the turn that answers it; while one runs it steers that one.

        Raises:
            Fault: the turn ended without an answer, and no stop reason says how.
            AngeliaError: it could not be stored, or not be driven.
        """
        async with self._order:
            arrival, forwarded = e.Arrival.STEER, False
            if command := editor_command(only_text(blocks).strip()):
                result = await self._commanded(command)
                if result is None:
                    return r.Stopped("end_turn")
                blocks, arrival, forwarded = (i.TextBlock(result.words),), result.arrival, result.forwarded
            key = sortable_id(self.app.clock)
            waiting = self._prompts.begin(key)
            try:
                await self._say(blocks, key, waiting, arrival, forwarded=forwarded)
            except BaseException:
                self._prompts.forget(key)
                raise
        try:
            answer = await waiting.answer
        finally:
            self._prompts.forget(key)
        await self._sending.drained()
        return r.Stopped("end_turn" if isinstance(answer, AskedBack) else stop_reason(answer))

    async def _commanded(self, command: Callable[[CommandPort], Awaitable[CommonResult]]) -> MessageToSend | None:
        """Run a command and tell what it came to; the message that is to be sent, if it is one."""
        before = self.app.modes.of(self.session)
        try:
            result = await command(EditorCommandPort(self))
            if isinstance(result, CommandReply) and result.facts:
                await self.session.record(*result.facts)
        except BadInput as wrong:
            result = CommandReply(str(wrong))
        match result:
            case CommandReply(text=text):
                self.say_aloud([text])
            case CommandTable():
                self.say_aloud([in_markdown(result)])
            case MessageToSend(text=text):
                self.say_aloud([text])
            case _:
                assert_never(result)
        now = self.app.modes.of(self.session)
        self._sending.tell([*([o.ModeIs(now.value)] if now is not before else []), *self.choosing.news()])
        return result if isinstance(result, MessageToSend) else None

    async def _say(
        self, blocks: Sequence[i.Block], key: str, waiting: AcpWaiting, arrival: e.Arrival, *, forwarded: bool
    ) -> None:
        try:
            await self.choosing.begin(self.drive)
        except AngeliaError:
            self._sending.tell(self.choosing.news())
            raise
        if self._guard is None:
            await self.drive()
        profile = self.app.model_catalog.profile(self.choosing.spec)
        media = any(not isinstance(block, i.TextBlock) for block in blocks)
        refused = refused_by(profile.name, last_move(self.session.log.entries)) if media else frozenset()
        transcriber = self.app.loaded.config.transcriber
        intake = self.app.intake
        workspace = self.session.workspace if self.session.sandbox == "local" else ""
        files = WorkspaceFiles(workspace, self.app.running, intake.limit)
        reading = PromptFiles(intake.to_media, intake.text_to_media, files.content)
        message = await taken(blocks, reading, profile, refused, transcriber)
        self.say_aloud(message.notes)
        if self._question and (words := only_words(message.parts)):
            waiting.seq = self.session.turn.opened
            asked, self._question = self._question, None
            try:
                await self.session.approve(asked, by=OWNER, answer=words)
            except StoreError:
                self._question = asked  # the next prompt answers it
                raise
        else:
            address = e.Address(DOOR, self.session.conversation)
            await self.session.say(message.parts, address=address, key=key, arrival=arrival, forwarded=forwarded)

    async def choose(self, name: str, value: str) -> None:
        """Change a setting, and tell the client and the person of it; raises as `SessionSettings.choose` does."""
        if name == "mode":
            self.choosing.set_mode(value)
            self._sending.tell([o.ModeIs(value), *self.choosing.news()])
            return
        async with self._order:
            self.say_aloud(await self.choosing.choose(name, value, self.drive))

    async def cancel(self) -> None:
        """Stop the running turn, after what was asked before has been stored."""
        async with self._order:
            await self.session.stop(OWNER)

    async def finish(self) -> None:
        """Stop what runs and wait until it has stopped."""
        await self.cancel()
        if self._guard:
            await self.session.settled()
            await self._sending.drained()

    # -- what happens -------------------------------------------------------------------------------------------

    def _see(self, event: LiveEvent) -> None:
        if not isinstance(event, Committed):
            self._sending.tell(self._updates.tell(event))
            return
        for entry in event.entries:
            told = self._tell(entry)
            self._turn = replace(step(self._turn, entry, DEFAULT), seen=entry.seq)
            self._heed(entry, told=told)

    def _tell(self, entry: e.Entry) -> bool:
        """Whether it could be told: a fault of ours there must not keep a prompt from being answered."""
        try:
            self._sending.tell(self._updates.tell(Committed((entry,)), self._prompts.keys))
        except Exception:
            logger.exception("%s: entry %d could not be told", self.session.conversation, entry.seq)
            return False
        return True

    def _in_terminal(self, call: str, terminal: str) -> None:
        self._sending.tell(self._updates.in_terminal(CallId(call), terminal))

    def _heed(self, entry: e.Entry, *, told: bool) -> None:
        match entry.fact:
            case e.ConversationOpened():
                self._sending.tell(self.choosing.news())
            case e.UserSaid(key=key):
                self._question = None
                self._prompts.stored(key, entry.seq)
            case e.ApprovalAsked() if self._attached:
                self._ask(entry.fact)
            case e.ApprovalGiven(call=call) | e.ApprovalRefused(call=call) | e.ToolFinished(call=call):
                self._asking.withdraw(call)
                if "." in call:
                    self._sending.tell([o.CallChanged(call, status="completed")])
            case e.DeliveryQueued() if told:  # what was not stays open, and is told to whoever opens it next
                self._sending.settle(entry.fact)
            case e.TurnClosed(ending=ending):
                self._question = None
                self._prompts.closed(entry.seq, ending, {unread.seq for unread in self._turn.unread})
                self._ask_about_folder()
            case _:
                return

    def _ask(self, asked: e.ApprovalAsked) -> None:
        name, of_child, _ = asked.call.partition(".")
        call = self._updates.calls.get(call_that_asks(asked.call))
        if call is None and of_child:  # the editor is shown a call of its own, to put the question at
            call = ToolCall(asked.call, f"helper {name}", "{}")
            self._sending.tell([calls.made(call, self.session.workspace)])
        if call:
            self._asking.ask(asked, call)

    def _ask_about_folder(self) -> None:
        if self._attached and self._guard:
            self._folder.begin()

    def _ask_in_words(self, asked: e.ApprovalAsked) -> None:
        self._question = asked
        self.say_aloud([in_words(asked)])
        self._prompts.asked_back()

    def _fell(self, guard: "asyncio.Task[None]") -> None:
        """The driving failed: whoever waits is told why, and the next prompt tries again."""
        error = None if guard.cancelled() else guard.exception()
        if error is None:
            return
        self._guard = None
        logger.error("%s is not driven any more: %s", self.session.conversation, error)
        self._prompts.failed(error)
