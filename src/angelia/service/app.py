"""The composition root: a home is opened here, and each part is given what it works with."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.ids import Clock, wall_clock
from angelia.policy.situation import Mode
from angelia.sandboxes.local.confined_program import confined_prefix, start_confined
from angelia.sandboxes.local.process_ledger import reap_leftovers
from angelia.sandboxes.undo.store import UndoStore
from angelia.sandboxes.workspace import snapshots_folder
from angelia.service.audit import Audit
from angelia.service.blob_places import blob_keys, blobs_of, in_log, shared_name
from angelia.service.browser_address import remote_browser
from angelia.service.conversation.conversations import ConversationDeps, Conversations
from angelia.service.conversation.drivers import DriverSources
from angelia.service.conversation.earlier_folders import tidy_earlier_folders
from angelia.service.conversation.handed_out import HandedOut
from angelia.service.conversation.mcp_tools import McpSources
from angelia.service.conversation.modes import ConversationModes
from angelia.service.conversation.prompt import PromptSources
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TerminalDelivery
from angelia.service.conversation.undo_services import UndoServices
from angelia.service.conversation.workplace import WorkplaceDeps
from angelia.service.files.attachments import Attachments
from angelia.service.files.inbox import Inboxes
from angelia.service.log_places import open_log, store_keys
from angelia.service.logs import log_to
from angelia.service.models.catalog import ModelCatalog
from angelia.service.models.choice import choose
from angelia.service.notes.conversation_notes import NoteSources
from angelia.service.own_process import hide_memory, key_variables, withdraw
from angelia.service.painter import HomePainter
from angelia.service.people.budgets import Budgets
from angelia.service.places.open_places import OpenPlaces
from angelia.service.redaction import Redaction
from angelia.service.schedule.conversation_schedules import ConversationSchedules
from angelia.service.secrets.store import SecretStore
from angelia.service.settings.config import Loaded
from angelia.service.settings.secret_refs import SecretRefs
from angelia.service.settings.server_logins import ServerLogins
from angelia.service.settings.tokens import Tokens
from angelia.service.skills.conversation_skills import SkillSources
from angelia.service.upkeep import Upkeep
from angelia.service.web_search import WebSearch
from angelia.store.log.transcript import Transcript
from angelia.store.media.measure import Intake
from angelia.store.media.processes import MediaProcesses, program_folders
from angelia.store.media.renditions import Renditions
from angelia.store.port import LogStore
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.store.tables.grants import Grants
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.notes import Notes
from angelia.store.tables.outbox import Outbox
from angelia.store.tables.questions import WaitingQuestions
from angelia.store.tables.schedules import Schedules
from angelia.store.tables.trusted_files import TrustedFiles
from angelia.tools.discovery import MakeToolset, found_toolsets
from angelia.tools.port import Toolset
from angelia.tools.standalone import Standalone

if TYPE_CHECKING:
    from angelia.sandboxes.undo.mirror import Mirror
    from angelia.service.chats.services import ChatServices
    from angelia.service.chats.voice_answers import VoiceAnswers
    from angelia.service.command_port import CommandServices
    from angelia.service.conversation.deletion import Deletion
    from angelia.service.delegation.copies import WorkspaceCopies
    from angelia.service.models.speech import Speech
    from angelia.service.past.reranking import Reranking
    from angelia.service.people.admission import Admission
    from angelia.service.people.erasure import PersonErasure
    from angelia.service.people.export import PersonExport
    from angelia.service.places.places import SandboxPlaces
    from angelia.service.retention import Retention
    from angelia.service.schedule.keep_time import ClockServices
    from angelia.service.schedule.outside import OutsideServices
    from angelia.service.schedule.service import ScheduleService
    from angelia.service.schedule.watching import Watching
    from angelia.service.screenshots import Screenshots
    from angelia.service.skills.proposals import ProposalBox
    from angelia.service.skills.seen import Skills
    from angelia.service.skills.served import ServedSkills

logger = logging.getLogger("angelia.service")


class App:
    """An open home: one store, one blob folder, one set of models and tools, and any number of conversations."""

    def __init__(
        self, loaded: Loaded, db: LogStore, environ: Mapping[str, str], clock: Clock, tools: Sequence[MakeToolset]
    ) -> None:
        self.loaded = loaded
        self.db, self.clock = db, clock
        self.running = loaded.home / "running"
        """Where commands that run outside of a confinement are recorded."""
        self.blobs = blobs_of(loaded, environ, in_log(db), shared_name(loaded, db))
        self.transcript = Transcript(db, self.blobs)
        files = loaded.config.files
        self.outbox_folder = Path(files.outbox).expanduser() if files.outbox else loaded.home / "outbox"
        """Where files for the person are put."""
        self.media = MediaProcesses(lambda: confined_prefix(program_folders()), start=start_confined, ahead=True)
        self.renditions = Renditions(
            self.blobs, loaded.home / "renditions", self.media, keep_metadata=files.picture_metadata == "keep"
        )
        self.intake = Intake(self.blobs, limit=files.max_bytes, processes=self.media)
        self.attachments = Attachments(self.intake, transcriber=loaded.config.transcriber)
        self.inboxes = Inboxes(self.blobs)
        self.outbox, self.grants = Outbox(db), Grants(db)
        self.key_value = KeyValue(db)
        self.handed_out = HandedOut(self.key_value, clock)
        self.audit = Audit(loaded.home, self.transcript, self.key_value)
        self.undo = UndoStore(loaded.home, loaded.config.undo)
        self.trusted_files = TrustedFiles(self.key_value)
        self.notes = Notes(db)
        self.doors = ChatBindings(db)
        self.budgets = Budgets(loaded.config, db, clock)
        self.secrets = SecretStore(loaded.home)
        read = self.secrets.value
        self.model_catalog = ModelCatalog(loaded, self.blobs, self.renditions.open, self.key_value, environ, read)
        self.tokens, self.secret_refs = Tokens(environ, read), SecretRefs(environ, read)
        self.environ = environ
        self.redaction = Redaction(self._secrets)
        self.schedules, self.questions = Schedules(db), WaitingQuestions(db)
        self.web_search = WebSearch(loaded.config.search, environ, self.tokens)
        ranges = loaded.config.policy.allow_ranges
        self.painter = HomePainter(loaded.config.painter, self.model_catalog, ranges, self.media)
        spoken = (self._speech_tools,) if loaded.config.speaker else ()
        self.toolsets = (*tools, self.web_search.toolset, self.painter.toolset, *spoken)
        redact, logins = self.redaction.text, ServerLogins(loaded.home, self.secret_refs)
        self.mcp_sources = McpSources(
            loaded.config.mcp, self.secret_refs, environ, redact, loaded.home, self.running, ranges, logins
        )
        self.undo_services = UndoServices(
            self.undo, self.transcript, self.redaction.text, loaded.home / "alive", self._mirror_of
        )
        self.modes = ConversationModes(Mode(loaded.config.policy.mode))
        deps = self._conversation_deps()
        self._workplaces, self.conversations = deps.workplaces, Conversations(deps)
        self.upkeep = self._upkeep()

    def _mirror_of(self, session: Session) -> AbstractAsyncContextManager["Mirror | None"]:
        from angelia.service.conversation.undo_elsewhere import mirror_of

        return mirror_of(self._workplaces, session)

    def _upkeep(self) -> Upkeep:
        once_a_day = self._tidy_copies, lambda: self.places, lambda: self.screenshots, lambda: self.retention
        return Upkeep(self.db, self.blobs, self.key_value, self.clock, self.undo, self.handed_out, *once_a_day)

    @cached_property
    def places(self) -> "SandboxPlaces":
        """Where conversations work."""
        from angelia.service.places.places import SandboxPlaces

        sandbox = self.loaded.config.sandbox
        return SandboxPlaces(self.loaded.home, self.running, sandbox, self.transcript, self.clock)

    @property
    def screenshots(self) -> "Screenshots":
        """What lets go of old ones."""
        from angelia.service.screenshots import Screenshots

        hours = self.loaded.config.files.screenshot_hours
        return Screenshots(self.db, self.transcript, self.blobs, self.renditions, self.key_value, hours)

    @cached_property
    def admission(self) -> "Admission":
        """What lets people in and out."""
        from angelia.service.people.admission import Admission
        from angelia.store.tables.pairings import Pairings

        return Admission(self.loaded.config.people, Pairings(self.db), self.audit)

    @property
    def retention(self) -> "Retention":
        """For how long conversations are kept."""
        from angelia.service.retention import Retention

        return Retention(self.loaded.config.retention, self.db, self.deletion, self.key_value, self.clock)

    @classmethod
    async def open(
        cls,
        loaded: Loaded,
        environ: Mapping[str, str] = os.environ,
        clock: Clock = wall_clock,
        tools: Sequence[MakeToolset] = (),
    ) -> "App":
        """Open the home, and end what a dead life left running. `tools` are beside those that there always are.

        Raises:
            StoreError: the home cannot be read or written; says why and how to mend it.
            ConfigError, MissingPart: a vendor in the configuration is wrong, or where the log is to lie.
        """
        found = found_toolsets(loaded.home, remote_browser(loaded, lambda: app.secret_refs))  # opening closes the home
        db = open_log(loaded, environ, clock)
        app = cls(loaded, db, environ, clock, (*found.makers, *tools))
        log_to(loaded.home / "angelia.log", app.redaction.text)
        await reap_leftovers(app.running)
        if (loaded.home / "guarded").is_dir():
            from angelia.sandboxes.guard.guard import recover_all

            for note in await asyncio.to_thread(recover_all, loaded.home):  # told with the next command there, too
                logger.warning("%s", note)
        for fault in found.faults:
            logger.warning("%s", fault)
        await asyncio.to_thread(app.undo.recover)
        await app._tidy_copies()
        await app.audit.notice()
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
        known = self.model_catalog.keyring.secrets() | self.tokens.known() | self.secret_refs.known()
        stores = blob_keys(self.loaded, self.environ) | store_keys(self.loaded, self.environ)
        return known | self.secrets.known() | stores

    @cached_property
    def speech(self) -> "Speech":
        """What speaks, as it is set; nothing of it is loaded before its first use."""
        return self.speech_of(self.loaded.config.speaker, self.loaded.config.voice)

    def speech_of(self, speaker: str, voice: str = "") -> "Speech":
        """What speaks by this speaker, whatever is set."""
        from angelia.service.models.speech import Speech, SpeechDeps

        voices = self.loaded.home / "voices"
        language = self.loaded.config.language
        deps = SpeechDeps(self.model_catalog, voices, self.blobs, self.media, self.redaction.text, language)
        return Speech(speaker, voice, deps)

    def _speech_tools(self) -> Toolset:
        from angelia.tools.people.speak import SpeakTool

        return Standalone("speech", SpeakTool(self.speech))

    @property
    def command_services(self) -> "CommandServices":
        """What the commands of a conversation need of this home."""
        from angelia.service.command_port import CommandServices

        return CommandServices(
            transcript=self.transcript,
            outbox=self.outbox,
            blobs=self.blobs,
            model_catalog=self.model_catalog,
            clock=self.clock,
            home=self.loaded.home,
            mode=self.modes.of,
            set_mode=self.modes.choose,
            undo=self.undo_services,
            notes=self.notes,
            admission=self.admission,
            schedules=lambda: self.schedule_service,
            voice_answers=lambda: self.voice_answers,
            skills=lambda session: self.conversations.skills(session).there(),
            servers=lambda session: self.conversations.toolbox(session).servers,
        )

    @cached_property
    def voice_answers(self) -> "VoiceAnswers":
        """Which chats are answered by voice."""
        from angelia.service.chats.voice_answers import VoiceAnswers

        return VoiceAnswers(self.key_value, self.loaded.config)

    @cached_property
    def reranking(self) -> "Reranking | None":
        """What orders a search of the past anew; None where the person has named no model for that."""
        if not self.loaded.config.ranker:
            return None
        from angelia.service.past.reranking import Reranking

        config = self.loaded.config
        offline = config.sandbox.network == "off"
        return Reranking(config.ranker, self.model_catalog, self.redaction.text, offline=offline)

    @cached_property
    def skills(self) -> "Skills":
        """Those of the person and of projects; loaded where there is a folder that may hold some."""
        from angelia.service.skills.seen import Skills
        from angelia.store.tables.seen_skills import SeenSkills

        return Skills(SeenSkills(self.key_value), self.loaded.home, self.clock)

    @cached_property
    def served(self) -> "ServedSkills":
        """Skills that MCP servers serve."""
        from angelia.service.skills.served import ServedSkills
        from angelia.store.tables.seen_skills import SeenSkills

        return ServedSkills(self.key_value, SeenSkills(self.key_value), self.loaded.home)

    @cached_property
    def proposals(self) -> "ProposalBox":
        """Skills that models have proposed."""
        from angelia.service.skills.proposals import ProposalBox
        from angelia.store.tables.proposed_skills import ProposedSkills

        table, entries = ProposedSkills(self.key_value), self.transcript.entries
        return ProposalBox(table, self.skills, self.loaded.home, self.clock, entries)

    @property
    def deletion(self) -> "Deletion":
        """What erases a conversation for good."""
        from angelia.service.conversation.deletion import Deletion

        kept = self.transcript, self.blobs, self.renditions, self.undo, self.places
        return Deletion(self.loaded.home, *kept, self.audit)

    @property
    def person_erasure(self) -> "PersonErasure":
        """What erases a person."""
        from angelia.service.people.erasure import PersonErasure

        return PersonErasure(self.db, self.deletion, self.key_value, self.clock)

    @property
    def person_export(self) -> "PersonExport":
        """What takes a person out into a file."""
        from angelia.service.people.export import PersonExport

        return PersonExport(self.loaded.home, self.db, self.transcript, self.blobs, self.secrets, self.clock)

    async def _tidy_copies(self, upto: float = 0.0) -> None:
        if snapshots_folder(self.loaded.home).is_dir():
            await self.copies.tidied(self.transcript, upto)
        await tidy_earlier_folders(self.loaded.home)

    @cached_property
    def copies(self) -> "WorkspaceCopies":
        """The copies of folders in which helpers work."""
        from angelia.service.delegation.copies import WorkspaceCopies

        return WorkspaceCopies(self.loaded.home, self.loaded.config.delegation.copy_bytes, self.intake)

    def _conversation_deps(self) -> ConversationDeps:
        context = self.loaded.config.context
        return ConversationDeps(
            loaded=self.loaded,
            db=self.db,
            transcript=self.transcript,
            clock=self.clock,
            handed_out=self.handed_out,
            toolsets=self.toolsets,
            mcp=self.mcp_sources,
            prompts=PromptSources(
                home=self.loaded.home,
                state=self.running,
                standing=context.instructions,
                follow_folders=context.folder_instructions,
                trusted=self.trusted_files,
                blobs=self.blobs,
            ),
            notes=NoteSources(self.notes, self.loaded.home, self.redaction.text, context.notes),
            skills=SkillSources(self.loaded.home, lambda: self.skills, lambda: self.proposals, lambda: self.served),
            reranking=lambda: self.reranking,
            copies=lambda: self.copies,
            workplaces=WorkplaceDeps(
                loaded=self.loaded,
                running=self.running,
                clock=self.clock,
                redaction=self.redaction,
                blobs=self.blobs,
                intake=self.intake,
                inboxes=self.inboxes,
                grants=self.grants,
                trusted=self.trusted_files,
                undo=self.undo,
                open_places=OpenPlaces(self.running),
                mode=self.modes.of,
                schedules=lambda session: ConversationSchedules(lambda: self.schedule_service, session),
            ),
            drivers=DriverSources(self.loaded.config, self.model_catalog, self.blobs, self.clock, lambda: self.speech),
            budgets=self.budgets,
            secrets=self.secrets,
        )

    def terminal_delivery(self, session: Session, spoken: Path | None = None) -> TerminalDelivery:
        """What brings answers and files to the terminal; see there."""
        return TerminalDelivery(session, self.blobs, self.outbox_folder, spoken)

    @property
    def schedule_service(self) -> "ScheduleService":
        """What people and models do with schedules."""
        from angelia.service.schedule.outside_marks import mark
        from angelia.service.schedule.service import ScheduleService

        return ScheduleService(
            home=self.loaded.home,
            transcript=self.transcript,
            schedules=self.schedules,
            key_value=self.key_value,
            doors=self.doors,
            config=self.loaded.config,
            clock=self.clock,
            watching=lambda: self.watching,
            begins_on=lambda schedule, when: mark(self.outside_services, schedule, when),
            audit=self.audit,
        )

    @property
    def outside_services(self) -> "OutsideServices":
        """What begins turns from outside works with."""
        from angelia.service.schedule.outside import OutsideServices

        config = self.loaded.config
        return OutsideServices(
            home=self.loaded.home,
            signals=config.signals,
            mailboxes=config.mailboxes,
            folders=config.folders,
            tokens=self.tokens,
            transcript=self.transcript,
            schedules=self.schedules,
            intake=self.intake,
            key_value=self.key_value,
            clock=self.clock,
            budgets=self.budgets,
        )

    @property
    def watching(self) -> "Watching":
        """What looks at what schedules watch."""
        from angelia.service.schedule.watching import Watching

        return Watching(self.conversations, self.transcript, self.db)

    @property
    def clock_services(self) -> "ClockServices":
        """What keeping time needs of this home."""
        from angelia.service.schedule.clockwork import ClockworkDeps
        from angelia.service.schedule.keep_time import ClockServices
        from angelia.service.schedule.turns import TurnSources

        async def model() -> str:
            return (await choose(self.loaded.config.model, self.model_catalog, self.key_value, None)).spec

        looks = self.clock, self.db.data_version, self.watching.look_again
        return ClockServices(
            self.loaded.home,
            ClockworkDeps(self.transcript, self.schedules, *looks, self.budgets),
            TurnSources(self.conversations, self.schedules, model, self.terminal_delivery, self.loaded.config),
            self.outside_services,
        )

    @property
    def chat_services(self) -> "ChatServices":
        """What channels and chats need of this home."""
        from angelia.service.chats.services import ChatServices

        return ChatServices(
            home=self.loaded.home,
            config=self.loaded.config,
            clock=self.clock,
            conversations=self.conversations,
            transcript=self.transcript,
            blobs=self.blobs,
            intake=self.intake,
            renditions=self.renditions,
            outbox=self.outbox,
            doors=self.doors,
            admission=self.admission,
            budgets=self.budgets,
            key_value=self.key_value,
            model_catalog=self.model_catalog,
            tokens=self.tokens,
            commands=self.command_services,
        )

    async def close(self) -> None:
        """Stop every conversation and close the store; open turns stay open in the log."""
        async with AsyncExitStack() as closing:  # backwards; each is closed, whatever fails before
            closing.callback(self.db.close)
            closing.callback(self.media.close)
            closing.push_async_callback(self.model_catalog.close)
            if "speech" in self.__dict__:  # it was used
                closing.push_async_callback(self.speech.close)
            closing.push_async_callback(self.conversations.close)
