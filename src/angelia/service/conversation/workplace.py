"""Where one conversation works: its sandbox, what its broker works with, and what tools are given there."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Media, ToolCall
from angelia.core.ids import CallId, Clock, ConversationId
from angelia.core.text import clean
from angelia.engine.background import Background
from angelia.engine.broker import BrokerDeps, Changed
from angelia.engine.calls import submitted_job
from angelia.engine.hooks import NoHooks
from angelia.engine.live import Resting, Working, WorkingShows
from angelia.path_queries import is_folder
from angelia.policy.approvers import ApproversOf
from angelia.policy.egress import judge_address, judge_url
from angelia.policy.situation import Mode
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.egress.addresses import Addresses
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.registry import fit_workspace, open_sandbox, works_here
from angelia.sandboxes.undo.call_journals import CallJournals
from angelia.sandboxes.undo.store import UndoStore
from angelia.service.conversation.conversation_judge import JudgedConversation, conversation_judge
from angelia.service.conversation.session import Session
from angelia.service.conversation.speakers import guests_in
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.conversation.undo_candidates import candidates
from angelia.service.files.inbox import Inboxes
from angelia.service.places.open_places import OpenPlaces
from angelia.service.places.presets import kept
from angelia.service.places.sandbox_locks import SandboxLock
from angelia.service.redaction import RedactingBlobs, Redaction
from angelia.service.settings.config import Loaded
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from angelia.store.tables.grants import Grants
from angelia.store.tables.trusted_files import TrustedFiles
from angelia.tools.port import ToolContext
from angelia.tools.registry import Registry
from angelia.tools.schedule.access import Scheduling
from angelia.tools.submitted_jobs import SubmittedJob
from angelia.tools.web.fetcher import Fetcher

if TYPE_CHECKING:
    from angelia.sandboxes.guard.guard import Guard
    from angelia.service.hooks.conversation_hooks import ConversationHooks


class Workplace(Struct, frozen=True):
    """A conversation's part in its place; `left` is what it does when it is done with it. `addresses` judges what its
    programs may connect to, `fetcher` fetches under the same rules. `hooks` are the person's programs, None for none.
    """

    sandbox: Sandbox
    deps: BrokerDeps
    addresses: Addresses
    fetcher: Fetcher
    hooks: "ConversationHooks | None"
    left: Callable[[], Awaitable[None]]

    async def close(self) -> None:
        """Leave the place; the toolsets were closed before, and what other conversations run there goes on."""
        await self.left()


class WorkplaceDeps(Struct, frozen=True):
    """What every workplace of a home is made with. `running` is where commands outside of a confinement are recorded;
    `mode` says how freely a conversation works.
    """

    loaded: Loaded
    running: Path
    clock: Clock
    redaction: Redaction
    blobs: BlobStore
    intake: Intake
    inboxes: Inboxes
    grants: Grants
    trusted: TrustedFiles
    undo: UndoStore
    open_places: OpenPlaces
    mode: Callable[[Session], Mode]
    schedules: Callable[[Session], Scheduling]


def workplace(made_with: WorkplaceDeps, session: Session, *, approvers: ApproversOf) -> Workplace:
    """Open the sandbox that a conversation began in, with the rules that hold there.

    Raises:
        ConfigError: its preset is gone.
        SandboxError: the workspace is gone, or cannot be one, or the sandbox cannot be had; no other is taken.
    """
    settings = made_with.loaded.config.sandbox
    # Conversations of before this was so, and folders that have become a home since, are refused here.
    fit_workspace(session.sandbox, Path(session.workspace), made_with.loaded.home)
    fetcher = _fetcher(made_with)
    at = kept(settings, session.sandbox, session.preset)
    inner = _enter(made_with, session, session.conversation, fetcher.addresses_behind)
    sandbox = session.around(inner)
    standing = JudgedConversation(
        session.root,
        session.owner,
        f"{at.preset}={at.spec}" if at.preset else at.spec,
        session.original_workspace,
        address=lambda: address_of(session),
        mode=lambda: made_with.mode(session),
        entries=lambda: session.log.entries,
        approvers=approvers,
        speakers=lambda: guests_in(session),
    )
    judge = conversation_judge(made_with.loaded, standing, sandbox, made_with.grants)
    in_call, changed = _journalled(made_with, session, sandbox, works_here(at.spec, at.settings))
    background = Background(session.log, made_with.redaction.text, session.life, changed)
    contexts = _contexts(made_with, session, in_call, background, fetcher)
    put = made_with.inboxes.of(inner, at.spec, lambda text: session.live.emit(Resting(made_with.clock(), text)))
    hooks = _hooks_of(made_with, session, works_here(at.spec, at.settings))
    redact = made_with.redaction.text
    deps = BrokerDeps(Registry(()), judge, contexts, redact, background, put, changed, hooks or NoHooks())

    async def left() -> None:
        await made_with.open_places.leave(session.place, session.conversation)

    return Workplace(sandbox, deps, fetcher.addresses_behind, fetcher, hooks, left)


@asynccontextmanager
async def visited(made_with: WorkplaceDeps, session: Session) -> AsyncIterator[Sandbox]:
    """The sandbox of a conversation for a while, whether or not the conversation works in it now.

    Raises:
        ConfigError, SandboxError: as `workplace`.
    """
    visitor = ConversationId(f"{session.conversation}.visitor")
    try:
        yield _enter(made_with, session, visitor, _fetcher(made_with).addresses_behind)
    finally:
        await made_with.open_places.leave(session.place, visitor)


def _fetcher(made_with: WorkplaceDeps) -> Fetcher:
    ranges = made_with.loaded.config.policy.allow_ranges
    return Fetcher(judge_url, lambda address: judge_address(address, ranges))


def _enter(made_with: WorkplaceDeps, session: Session, who: ConversationId, addresses: Addresses) -> Sandbox:
    settings, place = made_with.loaded.config.sandbox, session.place
    at = kept(settings, session.sandbox, session.preset)

    def opened(progress: Callable[[str], None]) -> Sandbox:
        context = SandboxContext(
            place,
            session.workspace,
            home=made_with.loaded.home,
            state=made_with.running,
            progress=progress,
            confine=settings.confine,
            addresses=addresses,
            undo=made_with.undo,
        )
        return open_sandbox(at.spec, context, at.settings)

    def resting(text: str) -> None:
        session.live.emit(Resting(made_with.clock(), text))

    lock = SandboxLock(place, at.spec, session.workspace, made_with.clock())
    return made_with.open_places.enter(lock, who, resting, opened)


def _hooks_of(made_with: WorkplaceDeps, session: Session, here: bool) -> "ConversationHooks | None":
    """The person's programs and those of the project, loaded where there may be any."""
    home, workspace = made_with.loaded.home, Path(session.original_workspace)
    found = (is_folder(above / ".angelia" / "hooks") for above in (workspace, *workspace.parents))
    project = here and (is_folder(home / "pinned-hooks") or any(found))
    if not (project or made_with.loaded.config.hooks):
        return None
    from angelia.service.hooks.conversation_hooks import ConversationHooks, HookSources
    from angelia.service.hooks.project_hooks import RunHook, hooks_in_force

    async def of_project() -> tuple[Mapping[str, RunHook], Sequence[str]]:
        return await hooks_in_force(made_with.trusted, home, workspace if project else None)

    sources = HookSources(made_with.loaded.config.hooks, made_with.redaction.text, of_project)
    return ConversationHooks(session, sources)


InCall = Callable[[CallId], Sandbox]
"""The sandbox as one call uses it."""

MOST_NAMED = 50
"""Paths that a fact of changes names."""


def _journalled(made_with: WorkplaceDeps, session: Session, sandbox: Sandbox, here: bool) -> tuple[InCall, Changed]:
    """What calls change is kept before, as far as that can be where the workspace is; and what is told of it."""
    if not made_with.undo.settings.enabled:
        return (lambda _: sandbox), (lambda _: ())
    mirror = made_with.undo.mirror_folder(session.root)
    workspace, home = (Path(session.workspace) if here else mirror).resolve(), Path.home()
    journals = CallJournals(
        session.conversation,
        lambda call: made_with.undo.begin(session.conversation, workspace, call),
        lambda command, folder: candidates(command, Path(folder), home, here=here),
    )

    def changed(call: CallId) -> Sequence[e.FilesChanged]:
        paths = [clean(path) for path in journals.changed(call)]
        return [e.FilesChanged(call, tuple(paths[:MOST_NAMED]), len(paths))] if paths else []

    @cache
    def guard() -> "Guard":
        from angelia.sandboxes.guard.guard import guard_of

        return guard_of(workspace, made_with.loaded.home)

    def here_in(call: CallId) -> Sandbox:
        from angelia.sandboxes.undo.call_sandbox import CallSandbox  # the first call, and not every conversation

        return CallSandbox(sandbox, workspace, call, journals, guard())

    def mirrored(call: CallId) -> Sandbox:
        from angelia.sandboxes.undo.mirror import Mirror
        from angelia.sandboxes.undo.mirrored_call import MirroredCall

        return MirroredCall(sandbox, call, journals, lambda folder: Mirror(mirror, sandbox, folder))

    return here_in if here else mirrored, changed


def _contexts(
    made_with: WorkplaceDeps,
    session: Session,
    in_call: InCall,
    background: Background,
    fetcher: Fetcher,
) -> Callable[[ToolCall, str], ToolContext]:
    most_sent = made_with.loaded.config.files.max_sent_bytes
    blobs = RedactingBlobs(made_with.blobs, made_with.redaction)

    async def to_media(data: bytes, name: str) -> Media:
        return await made_with.intake.to_media(data, name)

    def context(call: ToolCall, answer: str) -> ToolContext:
        address = address_of(session)

        def progress(shown: str | Media) -> None:
            event = (
                WorkingShows(call.id, shown)
                if isinstance(shown, Media)
                else Working(call.id, made_with.redaction.text(shown))
            )
            session.live.emit(event)

        async def submit(job: SubmittedJob) -> None:
            await session.log.append(e.JobSubmitted(call.id, job.to, job.job))

        async def take(content: AsyncIterator[bytes], name: str, size: int) -> Media:
            from angelia.service.files.transfers import in_words, watched

            told = watched(content, size, in_words(name, lambda text: progress(f"{text}\n")))
            return await made_with.intake.stream_to_media(told, name, limit=most_sent)

        return ToolContext(
            call=call.id,
            sandbox=in_call(call.id),
            blobs=blobs,
            entries=session.log.entries,
            address=address,
            progress=progress,
            fetch=fetcher.fetch,
            to_media=to_media,
            take=take,
            most_sent=most_sent,
            later=lambda work, outcome: background.ended_in_the_end(call.id, work, outcome, address),
            schedules=made_with.schedules(session),
            submit=submit,
            answer=answer,
            submitted=submitted_job(session.log.entries, call.id),
        )

    return context


def address_of(session: Session) -> e.Address:
    """Where the open turn's answer goes: to whoever opened it."""
    return session.turn.opener.address if session.turn.opener else TERMINAL
