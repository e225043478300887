"""The composition root: a home is opened here, and a conversation is given what it works with."""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from angelia.context.request import ToolSpec
from angelia.core import entry as e
from angelia.core.errors import AngeliaError, NotFound, StoreError
from angelia.core.ids import Clock, ConversationId, new_conversation, wall_clock
from angelia.core.principal import OWNER, Principal
from angelia.engine.broker import Broker
from angelia.engine.compaction import ContextBudget, Summariser
from angelia.engine.driver import BoundModel, Driver, Settings
from angelia.engine.live import Resting
from angelia.policy.approvers import ApproversOf
from angelia.policy.situation import Mode
from angelia.policy.verdict import Effect, Verdict
from angelia.sandboxes.guard.guard import recover_all
from angelia.sandboxes.local.confined_program import confined_prefix
from angelia.sandboxes.local.process_ledger import reap_leftovers
from angelia.sandboxes.port import Sandbox, SandboxGone
from angelia.sandboxes.registry import fit_workspace
from angelia.sandboxes.undo.store import UndoStore
from angelia.service.chats.services import ChatServices
from angelia.service.command_port import CommandServices
from angelia.service.conversation.handed_out import HandedOut
from angelia.service.conversation.mcp_tools import ConversationServers, McpSources
from angelia.service.conversation.prompt import ConversationPrompt, PromptSources
from angelia.service.conversation.session import DAY_MS, Session
from angelia.service.conversation.terminal_delivery import TerminalDelivery
from angelia.service.conversation.toolbox import RenewingDriver, Toolbox
from angelia.service.conversation.undo import UndoServices
from angelia.service.conversation.workplace import Workplace, WorkplaceDeps, workplace
from angelia.service.files.attachments import Attachments
from angelia.service.files.inbox import Inboxes
from angelia.service.logs import log_to
from angelia.service.models.catalog import ModelCatalog
from angelia.service.models.second_model import summariser, wording
from angelia.service.own_process import hide_memory, key_variables, withdraw
from angelia.service.places.open_places import OpenPlaces
from angelia.service.places.places import SandboxPlaces
from angelia.service.places.presets import chosen, kept
from angelia.service.redaction import Redaction
from angelia.service.settings.config import Loaded
from angelia.service.settings.rules import rules_for
from angelia.service.settings.secret_refs import SecretRefs
from angelia.service.settings.tokens import Tokens
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from angelia.store.media.processes import MediaProcesses, program_folders
from angelia.store.media.renditions import Renditions
from angelia.store.sql.copies import copy_daily
from angelia.store.sql.database import Database
from angelia.store.sql.upkeep import sweep
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.store.tables.grants import Grants
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.outbox import Outbox
from angelia.store.tables.pairings import Pairings
from angelia.store.tables.trusted_files import TrustedFiles
from angelia.tools.discovery import found_toolsets
from angelia.tools.port import ConversationContext
from angelia.tools.registry import Registry

logger = logging.getLogger("angelia.service")

_TIDIED_S = 3600.0
"""Seconds between two looks whether a day has passed."""
_SWEPT = "last-sweep"
"""Under this name the moment of the last sweep is remembered, Unix milliseconds."""


class App:
    """An open home: one store, one blob folder, one set of models and tools, and any number of conversations."""

    def __init__(self, loaded: Loaded, db: Database, environ: Mapping[str, str], clock: Clock) -> None:
        self.loaded = loaded
        self.db = db
        self.clock = clock
        self.transcript = Transcript(db)
        self.blobs = BlobStore(loaded.home)
        files = loaded.config.files
        self.media = MediaProcesses(lambda: confined_prefix(program_folders()), ahead=True)
        self.renditions = Renditions(
            self.blobs, loaded.home / "renditions", self.media, keep_metadata=files.picture_metadata == "keep"
        )
        self.intake = Intake(self.blobs, limit=files.max_bytes, processes=self.media)
        self.attachments = Attachments(self.intake, transcriber=loaded.config.transcriber)
        self.inboxes = Inboxes(self.blobs)
        self.outbox = Outbox(db)
        self.grants = Grants(db)
        self.key_value = KeyValue(db)
        self.handed_out = HandedOut(self.key_value, clock)
        self.undo = UndoStore(loaded.home, loaded.config.undo)
        self.trusted_files = TrustedFiles(self.key_value)
        self.doors, self.pairings = ChatBindings(db), Pairings(db)
        self.model_catalog = ModelCatalog(loaded, self.blobs, self.renditions.open, environ)
        self.tokens = Tokens(environ)
        self.secret_refs = SecretRefs(environ)
        self.environ = environ
        self.redaction = Redaction(self._secrets)
        self.open_places = OpenPlaces(self.running)
        self.places = SandboxPlaces(loaded.home, self.running, loaded.config.sandbox, self.transcript, clock)
        self.toolsets = found_toolsets()
        self.mcp_sources = McpSources(
            loaded.config.mcp,
            self.secret_refs,
            environ,
            self.redaction.text,
            self.running,
            loaded.config.policy.allow_ranges,
        )
        self.undo_services = UndoServices(self.undo, self.transcript, self.redaction.text, loaded.home / "alive")
        self._workplace_deps = WorkplaceDeps(
            loaded=loaded,
            running=self.running,
            clock=clock,
            redaction=self.redaction,
            blobs=self.blobs,
            intake=self.intake,
            inboxes=self.inboxes,
            grants=self.grants,
            undo=self.undo,
            open_places=self.open_places,
            mode=self.mode,
        )
        self._sessions: dict[ConversationId, Session] = {}
        self._places: dict[ConversationId, Workplace] = {}
        self._boxes: dict[ConversationId, Toolbox] = {}
        self._prompts: dict[ConversationId, ConversationPrompt] = {}
        self._modes: dict[ConversationId, Mode] = {}

    @classmethod
    async def open(cls, loaded: Loaded, environ: Mapping[str, str] = os.environ, clock: Clock = wall_clock) -> "App":
        """Open the home, and end what a dead life left running.

        Raises:
            StoreError: the home cannot be read or written; says why and how to mend it.
            ConfigError: a vendor in the configuration is wrong.
        """
        app = cls(loaded, Database.open(loaded.home, clock=clock), environ, clock)
        log_to(loaded.home / "angelia.log", app.redaction.text)
        await reap_leftovers(app.running)
        for note in await asyncio.to_thread(recover_all, loaded.home):  # told with the next command there, too
            logger.warning("%s", note)
        await asyncio.to_thread(app.undo.recover)
        return app

    @classmethod
    async def open_alone(cls, loaded: Loaded) -> "App":
        """Open a home for a process that serves nothing else: from now on its keys are in its own memory only.

        Raises:
            StoreError, ConfigError: as `open`.
        """
        hide_memory()
        app = await cls.open(loaded, dict(os.environ))
        withdraw(os.environ, key_variables(app.model_catalog.rows, loaded.config))
        return app

    def _secrets(self) -> frozenset[str]:
        return self.model_catalog.keyring.secrets() | self.tokens.known() | self.secret_refs.known()

    @property
    def command_services(self) -> CommandServices:
        """What the commands of a conversation need of this home."""
        return CommandServices(
            transcript=self.transcript,
            outbox=self.outbox,
            blobs=self.blobs,
            model_catalog=self.model_catalog,
            clock=self.clock,
            home=self.loaded.home,
            mode=self.mode,
            set_mode=self.set_mode,
            undo=self.undo_services,
        )

    @property
    def running(self) -> Path:
        """Where commands that run outside of a confinement are recorded."""
        return self.loaded.home / "running"

    # -- conversations ------------------------------------------------------------------------------------------

    def begin(self, *, door: str, workspace: Path, sandbox: str = "", owner: Principal = OWNER) -> Session:
        """A new conversation; it is in the store from its first message on. `sandbox` names a preset or a spec, as
        `service.places.presets.chosen` takes it; the configured one, if it is not given. `owner` is whose it is.

        Raises:
            AccessRefused: no conversation works in `workspace` (a home, what configures programs, our own records).
        """
        at = chosen(self.loaded.config.sandbox, sandbox)
        inside = fit_workspace(at.spec, workspace, self.loaded.home)
        opened = e.ConversationOpened(door, inside, at.spec, owner, at.preset)
        return self._opened(new_conversation(self.clock), door, opened)

    def begin_beside(self, session: Session, *, door: str) -> Session:
        """A new conversation of the same owner that works where `session` does: in one place, each ending only what it
        runs itself.
        """
        opened = e.ConversationOpened(
            door, session.workspace, session.sandbox, session.owner, session.preset, session.place
        )
        return self._opened(new_conversation(self.clock), door, opened)

    async def rebegin(self, session: Session, workspace: Path, sandbox: str) -> None:
        """Let a conversation in which nothing was said work in another sandbox; it is to be employed again.

        Raises:
            BadInput: something was said in it.
            ConfigError: `sandbox` is no name of one.
            AccessRefused: as `begin`.
        """
        at = chosen(self.loaded.config.sandbox, sandbox)
        opened = session.begin_in(fit_workspace(at.spec, workspace, self.loaded.home), at.spec, at.preset)
        if await self.handed_out.of(session.conversation):
            await self.handed_out.keep(session.conversation, opened)
        if place := self._places.pop(session.conversation, None):
            await place.close()

    async def resume(self, conversation: ConversationId, *, door: str) -> Session:
        """Open a stored conversation.

        Raises:
            NotFound: there is none of this id.
            CodecError: an entry cannot be read by this version.
            StoreDamaged: an entry is not what was stored, or is missing; names it.
        """
        try:
            session = self._opened(conversation, door, None)
            await self.transcript.require_end(conversation)
            await session.catch_up()
        except NotFound:
            if (opened := await self.handed_out.of(conversation)) is None:
                raise
            return self._opened(conversation, door, opened)
        return session

    def _opened(self, conversation: ConversationId, door: str, opened: e.ConversationOpened | None) -> Session:
        session = Session(conversation, self.db, self.transcript, f"{door}, process {os.getpid()}", opened)
        self._sessions[conversation] = session
        return session

    async def employ(
        self,
        session: Session,
        model: str,
        *,
        approvers: ApproversOf,
        effort: str | None = None,
    ) -> BoundModel:
        """Give a conversation its model, tools and sandbox, and drive it from now on. Returns its first model, bound.

        Done again between two turns it changes the model; the sandbox and what runs in it stay. `effort` is how much
        the model thinks: as configured, if it is not given. `approvers` says of the running turn who may
        answer its questions, and where they are asked.

        Raises:
            ConfigError: the model cannot be used as configured.
            SandboxError: the workspace is gone, or cannot be one, or the sandbox cannot be had; no other is taken.
        """
        self.open_workplace(session, approvers=approvers)
        box, prompt = await self._open_toolsets(session), self.prompt(session)
        at = kept(self.loaded.config.sandbox, session.sandbox, session.preset)
        prompt.work_in(at, self._places[session.conversation].sandbox, self.model_catalog.profile(model))
        await prompt.look()
        bound_models, first = await self._driver(session, box.registry, model, effort)

        async def make(registry: Registry) -> Driver:
            return (await self._driver(session, registry, model, effort))[1]

        await session.attach(RenewingDriver(session, box, prompt, make, first))
        return bound_models[0]

    def open_workplace(self, session: Session, *, approvers: ApproversOf) -> None:
        """Open the sandbox that a conversation works in, unless it is open.

        Raises:
            ConfigError, SandboxError: see `workplace`.
        """
        if session.conversation not in self._places:
            self._places[session.conversation] = workplace(self._workplace_deps, session, approvers=approvers)

    def toolbox(self, session: Session) -> Toolbox:
        """What a conversation can call, with the servers of the settings and those that it has of its own."""
        if session.conversation not in self._boxes:
            self._boxes[session.conversation] = Toolbox(
                self.toolsets.makers,
                lambda taken: self.servers(session, self.mcp_sources, taken),
                lambda: session.wait(lambda: bool(session.turn.cancelled_at)),
            )
        return self._boxes[session.conversation]

    def servers(
        self, session: Session, sources: McpSources, taken: Callable[[], Collection[str]] = tuple
    ) -> ConversationServers:
        """MCP servers for a conversation; `taken` are the names of its other tools."""
        folder = session.workspace if session.sandbox == "local" else str(Path.home())
        return ConversationServers(sources, folder, lambda: self.sandbox_of(session), taken)

    async def _open_toolsets(self, session: Session) -> Toolbox:
        box = self.toolbox(session)
        await box.open(
            ConversationContext(
                session.conversation,
                lambda: self.sandbox_of(session),
                box.tell,
                lambda text: session.live.emit(Resting(self.clock(), text)),
            )
        )
        return box

    def prompt(self, session: Session) -> ConversationPrompt:
        """The system prompt of a conversation; what it says is there once the conversation has been employed."""
        if session.conversation not in self._prompts:
            context = self.loaded.config.context
            sources = PromptSources(
                home=self.loaded.home,
                state=self.running,
                standing=context.instructions,
                follow_folders=context.folder_instructions,
                trusted=self.trusted_files,
                blobs=self.blobs,
            )
            self._prompts[session.conversation] = ConversationPrompt(
                session, sources, self.toolbox(session).instructions
            )
        return self._prompts[session.conversation]

    def sandbox_of(self, session: Session) -> Sandbox:
        """Where a conversation's commands run, if it has been employed.

        Raises:
            SandboxGone: it has not, or was left.
        """
        if place := self._places.get(session.conversation):
            return place.sandbox
        raise SandboxGone("The conversation's sandbox is not open.", then="The next message opens it.")

    async def judged(self, session: Session, effect: Effect) -> Verdict:
        """What the policy says to something that is not a call of the model's; the conversation has been employed."""
        return await self._places[session.conversation].deps.judge([effect])

    async def _driver(
        self, session: Session, registry: Registry, model: str, effort: str | None
    ) -> tuple[list[BoundModel], Driver]:
        place, config = self._places[session.conversation], self.loaded.config
        tools = registry.specs()
        bound_models = [await self._bound(spec, self.prompt(session), tools) for spec in (model, *config.fallback)]
        words = await wording(config.transcriber, config.describer, self.model_catalog, self.blobs)
        settings = Settings(
            rules=rules_for(config, registry, bound_models, can_describe=words.describe is not None),
            space=ContextBudget(
                config.context.share,
                config.context.max_output or config.context.reserve,
                self._summariser(model, bound_models[0]),
            ),
            max_output=config.context.max_output,
            effort=config.effort if effort is None else effort,
            cache_hour=config.context.cache_hour,
        )
        broker = Broker(session.log, replace(place.deps, registry=registry))
        driver = Driver(session.log, bound_models, broker, settings, self.clock, words)
        await driver.catch_up()
        return bound_models, driver

    def mode(self, session: Session) -> Mode:
        """How freely a conversation works: as configured, until somebody says otherwise."""
        return self._modes.get(session.conversation, Mode(self.loaded.config.policy.mode))

    def set_mode(self, session: Session, mode: Mode) -> None:
        """From the next call on, in this process."""
        self._modes[session.conversation] = mode

    async def leave(self, session: Session) -> None:
        """Stop driving a conversation and end what runs in its sandbox; an open turn stays open in the log."""
        await session.close()
        self._sessions.pop(session.conversation, None)
        if box := self._boxes.pop(session.conversation, None):  # before the sandbox, in which they work
            await box.close()
        if place := self._places.pop(session.conversation, None):
            await place.close()
        self._prompts.pop(session.conversation, None)

    async def stop_turn(self, conversation: ConversationId) -> bool:
        """Tell the running turn of a conversation to stop, whichever process drives it; False when none runs.

        Raises:
            NotFound, CodecError: as `resume`.
        """
        session = await self.resume(conversation, door="terminal")
        stopped = await session.stop(OWNER)
        await self.leave(session)
        return stopped

    async def _bound(self, spec: str, prompt: ConversationPrompt, tools: tuple[ToolSpec, ...]) -> BoundModel:
        catalog = self.model_catalog
        return await catalog.bound(spec, prompt.prompt_for(catalog.profile(spec)).text, tools)

    def _summariser(self, model: str, bound: BoundModel) -> Summariser | None:
        """The model of the person's choice; none for the embedded one, which cannot write a summary."""
        settings = self.loaded.config.context
        spec = settings.summariser or ("none" if bound.profile.wire == "local" else model)
        return None if spec == "none" else summariser(spec, self.model_catalog, settings.summary_seconds)

    def terminal_delivery(self, session: Session) -> TerminalDelivery:
        """What brings answers and files to the terminal."""
        return TerminalDelivery(session, self.blobs, self.outbox_folder)

    @property
    def outbox_folder(self) -> Path:
        """Where files for the person are put: the configured folder, or `outbox` in the home."""
        folder = self.loaded.config.files.outbox
        return Path(folder).expanduser() if folder else self.loaded.home / "outbox"

    @property
    def chat_services(self) -> ChatServices:
        """What channels and chats need of this home."""
        return ChatServices(
            home=self.loaded.home,
            config=self.loaded.config,
            clock=self.clock,
            conversations=self,
            transcript=self.transcript,
            blobs=self.blobs,
            intake=self.intake,
            renditions=self.renditions,
            outbox=self.outbox,
            doors=self.doors,
            pairings=self.pairings,
            key_value=self.key_value,
            model_catalog=self.model_catalog,
            tokens=self.tokens,
            commands=self.command_services,
        )

    async def tidy(self) -> list[str]:
        """Once a day: put a copy of the log aside, set blobs aside that no entry refers to, such as those of a life
        that died before its commit, and remove what sandboxes left of conversations that are gone. Returns what a
        person has to know.
        """
        if self.clock() - int(await self.key_value.get(_SWEPT, "0")) < DAY_MS:
            return []
        await self.key_value.put(_SWEPT, str(self.clock()))
        told = []
        for act in (self._copied, self._swept):
            try:
                await act()
            except StoreError as error:
                logger.warning("%s", error)
                told.append(str(error))
        await asyncio.to_thread(self.undo.prune)
        await self.places.tidied()
        return told

    async def keep_tidy(self) -> None:
        """Until this is cancelled, `tidy` whenever a day has passed; for a process that runs for months. What a person
        has to know is in the log.
        """
        while True:
            try:
                await self.tidy()
            except AngeliaError as error:
                logger.warning("the home cannot be tidied: %s", error)
            await asyncio.sleep(_TIDIED_S)

    async def _copied(self) -> None:
        await copy_daily(self.db, self.clock())
        await self.db.write(lambda _: self.db.tips.rewrite())

    async def _swept(self) -> None:
        await sweep(self.db, self.blobs)
        await self.blobs.empty_trash()
        last = int(await self.key_value.get(_SWEPT, "0"))
        if self.clock() - last >= DAY_MS:
            await self.key_value.put(_SWEPT, str(self.clock()))
            await sweep(self.db, self.blobs)
            await asyncio.to_thread(self.undo.prune)
            await self.handed_out.tidy()
            await self.places.tidied()

    async def close(self) -> None:
        """Stop every conversation and close the store; open turns stay open in the log."""
        for session in tuple(self._sessions.values()):
            await self.leave(session)
        await self.model_catalog.close()
        self.media.close()
        self.db.close()
