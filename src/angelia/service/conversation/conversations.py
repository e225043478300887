"""The conversations of this process: begun or found again, given what they work with, and closed."""

import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from angelia.core import entry as e
from angelia.core.days import day_of
from angelia.core.errors import AngeliaError, NotFound
from angelia.core.ids import CallId, Clock, ConversationId, new_conversation
from angelia.core.principal import OWNER, Principal
from angelia.engine.background import Background
from angelia.engine.broker import Broker
from angelia.engine.driver import BoundModel, Driver
from angelia.engine.live import Resting
from angelia.policy.approvers import ApproversOf
from angelia.policy.verdict import Effect, Verdict
from angelia.sandboxes.port import Sandbox, SandboxGone
from angelia.sandboxes.registry import fit_workspace
from angelia.service.conversation.drivers import DriverSources, WantedModel, driver_for
from angelia.service.conversation.handed_out import HandedOut
from angelia.service.conversation.mcp_tools import ConversationServers, McpSources
from angelia.service.conversation.program_tools import tools_of_program
from angelia.service.conversation.prompt import ConversationPrompt, PromptSources
from angelia.service.conversation.session import Session
from angelia.service.conversation.toolbox import RenewingDriver, Toolbox
from angelia.service.conversation.workplace import Workplace, WorkplaceDeps, workplace
from angelia.service.delegation.children import Children, ChildSources
from angelia.service.delegation.rights import may_call
from angelia.service.files.instruction_files import on_this_machine
from angelia.service.notes.conversation_notes import ConversationNotes, NoteSources
from angelia.service.past.conversation_past import ConversationPast
from angelia.service.past.find_past import OrdersAnew
from angelia.service.people.budgets import Budgets, limits_for
from angelia.service.places.presets import chosen, kept
from angelia.service.secrets.site_secrets import SiteSecrets
from angelia.service.secrets.store import SecretStore
from angelia.service.settings.config import Caps, Loaded
from angelia.service.settings.rules import limits_in
from angelia.service.skills.conversation_skills import ConversationSkills, SkillSources
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore
from angelia.store.tables.day_budgets import DayBudget
from angelia.tools.delegation.access import ChildrenAccess
from angelia.tools.discovery import MakeToolset
from angelia.tools.mcp.settings import McpSettings
from angelia.tools.page_access import ProfilesAccess
from angelia.tools.port import ConversationContext
from angelia.tools.registry import Registry
from angelia.tools.skills.toolset import SkillTools

if TYPE_CHECKING:
    from angelia.service.delegation.copies import WorkspaceCopies
    from angelia.service.delegation.employed_worker import EmployedWorker
    from angelia.service.delegation.presets import ConversationPresets
    from angelia.service.notes.learner import Learner

logger = logging.getLogger("angelia.service")


class ConversationDeps(Struct, frozen=True):
    """What every conversation of a home is made with."""

    loaded: Loaded
    db: LogStore
    transcript: Transcript
    clock: Clock
    handed_out: HandedOut
    toolsets: Iterable[MakeToolset]
    mcp: McpSources
    prompts: PromptSources
    notes: NoteSources
    skills: SkillSources
    reranking: Callable[[], OrdersAnew | None]
    copies: "Callable[[], WorkspaceCopies]"
    workplaces: WorkplaceDeps
    drivers: DriverSources
    budgets: Budgets
    secrets: SecretStore


class _Open:
    """What one conversation has, as far as it was needed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.workplace: Workplace | None = None
        self.toolbox: Toolbox | None = None
        self.prompt: ConversationPrompt | None = None
        self.notes: ConversationNotes | None = None
        self.skills: ConversationSkills | None = None
        self.children: Children | None = None
        self.presets: ConversationPresets | None = None
        self.learner: Learner | None = None
        self.worker: EmployedWorker | None = None


class Conversations:
    """Those that are open here. Other processes may have the same ones open: a lease says who drives."""

    def __init__(self, deps: ConversationDeps) -> None:
        self._deps = deps
        self._open: dict[ConversationId, _Open] = {}

    @property
    def sessions(self) -> Mapping[ConversationId, Session]:
        """Those that are open, by their ids."""
        return {conversation: one.session for conversation, one in self._open.items()}

    # -- begun and found ----------------------------------------------------------------------------------------

    def begin(self, *, door: str, workspace: Path, sandbox: str = "", owner: Principal = OWNER) -> Session:
        """A new conversation; it is in the store from its first message on. `sandbox` names a preset or a spec, as
        `service.places.presets.chosen` takes it; the configured one, if it is not given. `owner` is whose it is.

        Raises:
            AccessRefused: no conversation works in `workspace` (a home, what configures programs, our own records).
        """
        at = chosen(self._deps.loaded.config.sandbox, sandbox)
        inside = fit_workspace(at.spec, workspace, self._deps.loaded.home)
        notes = self._deps.notes.enabled
        opened = e.ConversationOpened(door, inside, at.spec, owner, at.preset, notes=notes)
        return self._opened(new_conversation(self._deps.clock), door, opened)

    def begin_as(self, opened: e.ConversationOpened, *, door: str) -> Session:
        """A new conversation that begins just so; see `begin`."""
        return self._opened(new_conversation(self._deps.clock), door, opened)

    async def rebegin(self, session: Session, workspace: Path, sandbox: str) -> None:
        """Let a conversation in which nothing was said work in another sandbox; it is to be employed again.

        Raises:
            BadInput: something was said in it.
            ConfigError: `sandbox` is no name of one.
            AccessRefused: as `begin`.
        """
        at = chosen(self._deps.loaded.config.sandbox, sandbox)
        opened = session.begin_in(fit_workspace(at.spec, workspace, self._deps.loaded.home), at.spec, at.preset)
        if await self._deps.handed_out.of(session.conversation):
            await self._deps.handed_out.keep(session.conversation, opened)
        await self._leave_place(self._of(session))

    async def resume(self, conversation: ConversationId, *, door: str) -> Session:
        """Open a stored conversation.

        Raises:
            NotFound: there is none of this id.
            CodecError: an entry cannot be read by this version.
            StoreDamaged: an entry is not what was stored, or is missing; names it.
        """
        try:
            session = self._opened(conversation, door, None)
            await self._deps.transcript.require_end(conversation)
            await session.catch_up()
        except NotFound:
            if (opened := await self._deps.handed_out.of(conversation)) is None:
                raise
            return self._opened(conversation, door, opened)
        return session

    def _opened(self, conversation: ConversationId, door: str, opened: e.ConversationOpened | None) -> Session:
        life = f"{door}, process {os.getpid()}"
        session = Session(conversation, self._deps.db, self._deps.transcript, life, opened)
        self._of(session).session = session
        return session

    def _of(self, session: Session) -> _Open:
        return self._open.setdefault(session.conversation, _Open(session))

    # -- at work ------------------------------------------------------------------------------------------------

    async def employ(
        self,
        session: Session,
        model: str,
        *,
        approvers: ApproversOf,
        effort: str | None = None,
        limits: Caps | None = None,
        budgets: tuple[DayBudget, ...] = (),
    ) -> BoundModel:
        """Give a conversation its model, tools and sandbox, and drive it from now on. Returns its first model, bound.

        Done again between two turns it changes the model; the sandbox and what runs in it stay. `effort` is how much
        the model thinks: as configured, if it is not given; `limits` are the caps of its turns, and `budgets` hold for
        the day, beside those of whose it is. `approvers` says of the running turn who may answer its questions, and
        where they are asked.

        Raises:
            ConfigError: the model cannot be used as configured.
            SandboxError: the workspace is gone, or cannot be one, or the sandbox cannot be had; no other is taken.
        """
        try:
            await self._deps.secrets.learn()
        except AngeliaError as error:
            logger.warning("Secrets in the keyring are not searched for in what tools bring: %s", error)
        place, worker = self.open_workplace(session, approvers=approvers), self._worker(session)
        children = self._children(session)
        children.work_with(model, approvers)
        box, prompt = await self._open_toolsets(session), self.prompt(session)
        at = kept(self._deps.loaded.config.sandbox, session.sandbox, session.preset)
        prompt.work_in(at, place.sandbox, worker.profile if worker else self._deps.drivers.model_catalog.profile(model))
        await prompt.look()
        config = self._deps.loaded.config
        capped = limits_for(config, session.owner, limits or limits_in(config, session.door, session.terms))
        wanted = WantedModel(model, capped, effort, self._deps.budgets.day_money(session.owner, budgets))

        async def made(registry: Registry) -> tuple[BoundModel, Driver]:
            at_work = replace(self._place(session).deps, registry=registry)
            if worker:
                return await worker.driver(at_work, capped, self._deps.drivers.blobs, self._deps.clock)
            return await driver_for(self._deps.drivers, session.log, at_work, prompt, wanted)

        async def make(registry: Registry) -> Driver:
            return (await made(registry))[1]

        bound, first = await made(box.registry)
        driver = RenewingDriver(session, box, prompt, make, first)
        if place.hooks:
            driver.turned = place.hooks.turned
        if learner := self._learner(session):
            driver.at_rest = learner.look
        await session.attach(driver)
        children.go_on()
        return bound

    def _children(self, session: Session) -> Children:
        opened = self._of(session)
        if opened.children is None:
            deps = self._deps

            def told() -> Background:
                return self._place(session).deps.background

            sources = ChildSources(
                deps.transcript,
                deps.loaded.config,
                deps.budgets,
                told,
                lambda: self.toolbox(session).registry,
                lambda: self._place(session).deps.place,
                deps.copies,
            )
            opened.children = Children(session, self, sources)
        return opened.children

    def open_workplace(self, session: Session, *, approvers: ApproversOf) -> Workplace:
        """Open the sandbox that a conversation works in, unless it is open.

        Raises:
            ConfigError, SandboxError: see `workplace`.
        """
        opened = self._of(session)
        if opened.workplace is None:
            opened.workplace = workplace(self._deps.workplaces, session, approvers=approvers)
        return opened.workplace

    def toolbox(self, session: Session) -> Toolbox:
        """What a conversation can call, with the servers of the settings and those that it has of its own."""
        opened = self._of(session)
        if opened.toolbox is None:
            skills, worker, mcp = self.skills(session), self._worker(session), self._deps.mcp
            more = (lambda: SkillTools(skills), *tools_of_program(session, self.toolbox))
            opened.toolbox = Toolbox(
                (lambda: worker.tools,) if worker else (*self._deps.toolsets, *more),
                lambda taken: self.servers(session, replace(mcp, settings=McpSettings()) if worker else mcp, taken),
                lambda: session.wait(lambda: bool(session.turn.cancelled_at)),
                lambda tool: may_call(session.door, session.terms, tool),
            )
        return opened.toolbox

    async def end_work(self, conversation: ConversationId, call: CallId) -> bool:
        """End what a call began in the background; False where nothing of it runs in this process."""
        opened = self._open.get(conversation)
        return opened is not None and opened.toolbox is not None and await opened.toolbox.end_work(call)

    def _worker(self, session: Session) -> "EmployedWorker | None":
        """The other agent that works in this conversation; None where a model does."""
        opened, deps = self._of(session), self._deps
        if opened.worker is None and session.terms and session.terms.worker:
            from angelia.service.delegation.employed_worker import EmployedWorker

            secrets = deps.mcp.secret_refs
            opened.worker = EmployedWorker(session, deps.loaded.config, secrets, lambda: self.sandbox_of(session))
        return opened.worker

    def servers(
        self, session: Session, sources: McpSources, taken: Callable[[], Collection[str]] = tuple
    ) -> ConversationServers:
        """MCP servers for a conversation; `taken` are the names of its other tools."""
        folder = session.workspace if self._folder_here(session) else ""
        return ConversationServers(sources, folder, lambda: self.sandbox_of(session), taken)

    async def _open_toolsets(self, session: Session) -> Toolbox:
        box = self.toolbox(session)
        await box.open(
            ConversationContext(
                session.conversation,
                lambda: self.sandbox_of(session),
                lambda origin, host, port: self._place(session).addresses(origin, host, port),
                box.tell,
                lambda text: session.live.emit(Resting(self._deps.clock(), text)),
                self.notes(session),
                ConversationPast(session, self._deps.db, self._deps.reranking),
                self._delegation(session),
                SiteSecrets(self._deps.secrets) if session.owner == OWNER else None,
                self._profiles() if session.owner == OWNER else None,
            )
        )
        return box

    def _profiles(self) -> ProfilesAccess:
        from angelia.service.secrets.browser_profiles import BrowserProfiles  # loaded where a toolset asks for it

        return BrowserProfiles(self._deps.loaded.home)

    def _delegation(self, session: Session) -> ChildrenAccess | None:
        """What its tools do with children; None where it may have none."""
        depth = session.terms.depth if session.terms else 0
        if depth >= self._deps.loaded.config.delegation.depth:
            return None
        from angelia.service.delegation.conversation_children import ConversationChildren

        return ConversationChildren(self._children(session), self.presets(session))

    def presets(self, session: Session) -> "ConversationPresets":
        """The helpers that its model can name."""
        opened = self._of(session)
        if opened.presets is None:
            from angelia.service.delegation.presets import ConversationPresets, PresetSources

            deps = self._deps
            sources = PresetSources(deps.loaded.home, deps.loaded.config.helpers, deps.prompts.trusted)
            opened.presets = ConversationPresets(session, lambda: self._folder_here(session), sources)
        return opened.presets

    def notes(self, session: Session) -> ConversationNotes | None:
        """What a conversation knows of earlier ones; None where it neither reads nor writes notes."""
        opened = self._of(session)
        if opened.notes is None and session.notes and self._deps.notes.enabled:
            opened.notes = ConversationNotes(session, self._deps.notes)
        return opened.notes

    def _learner(self, session: Session) -> "Learner | None":
        """What learns from a conversation; None where the settings name no model for it, or it has no notes."""
        opened, notes, context = self._of(session), self.notes(session), self._deps.loaded.config.context
        if opened.learner is None and notes and context.learner:
            from angelia.context.learning import INSTRUCTIONS
            from angelia.service.models.second_model import summariser
            from angelia.service.notes.learner import Learner, LearningSources

            catalog = self._deps.drivers.model_catalog
            ask = summariser(context.learner, catalog, context.summary_seconds, INSTRUCTIONS)
            sources = LearningSources(ask, lambda: self._may_spend(session), context.learn_after)
            opened.learner = Learner(session, notes, self._deps.notes, sources)
        return opened.learner

    async def _may_spend(self, session: Session) -> bool:
        """Whether the caps of the day leave room for more."""
        limits, spent = self._deps.loaded.config.limits, await self._deps.budgets.spent(session.owner)
        today = await self._deps.transcript.spent(OWNER, day_of(self._deps.clock()))
        within = not limits.day_cost or today.cost < limits.day_cost * 1e6
        return not spent and within and (not limits.day_tokens or today.tokens < limits.day_tokens)

    def prompt(self, session: Session) -> ConversationPrompt:
        """The system prompt of a conversation; what it says is there once the conversation has been employed."""
        opened = self._of(session)
        if opened.prompt is None:
            sources, tools = self._deps.prompts, self.toolbox(session).instructions
            skills, notes = self.skills(session), self.notes(session)

            def more_news() -> list[str]:
                return opened.presets.news() if opened.presets else []

            opened.prompt = ConversationPrompt(session, sources, tools, skills, notes, more_news)
        return opened.prompt

    def skills(self, session: Session) -> ConversationSkills:
        """The skills that a conversation's person has seen, and how many they have not."""
        opened = self._of(session)
        if opened.skills is None:
            opened.skills = ConversationSkills(
                session,
                lambda: self._folder_here(session),
                lambda: self.toolbox(session).servers,
                self._deps.skills,
            )
        return opened.skills

    def _folder_here(self, session: Session) -> Path | None:
        """The folder of this machine in which it works, or which it has a copy of; None if it works elsewhere."""
        at = kept(self._deps.loaded.config.sandbox, session.sandbox, session.preset)
        return Path(session.original_workspace) if on_this_machine(at) else None

    def sandbox_of(self, session: Session) -> Sandbox:
        """Where a conversation's commands run, if it has been employed.

        Raises:
            SandboxGone: it has not, or was left.
        """
        return self._place(session).sandbox

    async def judged(self, session: Session, effect: Effect) -> Verdict:
        """What the policy says to something that is not a call of the model's; the conversation has been employed.

        Raises:
            SandboxGone: as `sandbox_of`.
        """
        return await self._place(session).deps.judge([effect])

    async def run_own(self, session: Session, command: str) -> None:
        """Run a command that the person typed in a conversation, until it ends or this is cancelled. What it wrote is
        in the log, and the model reads of it with its next request; the conversation has been employed.

        Raises:
            BadInput: the rules refuse it; nothing was run.
            SandboxGone: as `sandbox_of`.
        """
        from angelia.service.conversation.own_call import own_call

        deps = replace(self._place(session).deps, registry=self.toolbox(session).registry)
        call = own_call(command, await self.sandbox_of(session).describe(), self._deps.loaded, self._deps.clock)
        await Broker(session.log, deps).run_own(call, command, session.record)

    def _place(self, session: Session) -> Workplace:
        opened = self._open.get(session.conversation)
        if opened and opened.workplace:
            return opened.workplace
        raise SandboxGone("The conversation's sandbox is not open.", then="The next message opens it.")

    # -- closed -------------------------------------------------------------------------------------------------

    async def leave(self, session: Session) -> None:
        """Stop driving a conversation and end what runs in its sandbox; an open turn stays open in the log."""
        opened = self._open.get(session.conversation)
        async with AsyncExitStack() as leaving:  # backwards; each is left, whatever fails before
            if opened:
                leaving.callback(self._forget, opened, session)
                leaving.push_async_callback(self._leave_place, opened)
                leaving.push_async_callback(self._leave_tools, opened)  # before the sandbox, in which they work
            leaving.push_async_callback(session.close)
            if opened and opened.workplace:
                opened.workplace.deps.background.leave()
                if opened.workplace.hooks:
                    leaving.push_async_callback(opened.workplace.hooks.turned)
            if opened and opened.children:
                leaving.push_async_callback(opened.children.close)

    def _forget(self, opened: _Open, session: Session) -> None:
        opened.prompt = opened.notes = None
        opened.worker = opened.presets = None
        opened.skills = opened.children = None
        if opened.session is session:  # it may have been opened again meanwhile
            self._open.pop(session.conversation, None)

    async def _leave_tools(self, opened: _Open) -> None:
        if opened.learner:
            await opened.learner.close()
            opened.learner = None
        box, opened.toolbox = opened.toolbox, None
        if box:
            await box.close()
        if opened.worker:
            await opened.worker.close()

    async def _leave_place(self, opened: _Open) -> None:
        place, opened.workplace = opened.workplace, None
        if place:
            await place.close()

    async def stop_turn(self, conversation: ConversationId) -> bool:
        """Tell the running turn of a conversation to stop, whichever process drives it; False when none runs.

        Raises:
            NotFound, CodecError: as `resume`.
        """
        session = await self.resume(conversation, door="terminal")
        stopped = await session.stop(OWNER)
        await self.leave(session)
        return stopped

    async def close(self) -> None:
        """Leave every conversation, whatever fails in one of them; open turns stay open in the log."""
        async with AsyncExitStack() as leaving:
            for session in reversed(list(self.sessions.values())):
                leaving.push_async_callback(self.leave, session)  # a child may be left by then, with its parent
