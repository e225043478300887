"""Does the trials of a batch side by side, each once: its log says how far it is, so whoever comes later goes on there.

A trial is a conversation under a key of its own (`trials.TaskTrial.key`), which the store takes once. What is known of
it stands in its log: asked, answered, checked. Nothing else is written down, so nothing can differ from it.

Money is allotted: of what is left of the batch's cap each trial that begins gets an equal share with those that could
begin beside it, as a cap of its turn. A turn that ends by that cap is gone on with while there is money.
"""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.ids import ConversationId, PlaceId, sortable_id
from angelia.core.principal import OWNER
from angelia.core.profile import Profile
from angelia.core.sentences import sentence
from angelia.policy.approvers import nobody
from angelia.sandboxes.registry import ELSEWHERE
from angelia.service.batches.check_process import CheckProcesses
from angelia.service.batches.checks import CheckedWork, checked, put_files, set_up
from angelia.service.batches.results import TrialResult, cost_of, is_away, is_final, last_ending, result_of
from angelia.service.batches.tasks import Task
from angelia.service.batches.trials import TaskTrial, trials_of
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.session import Session
from angelia.service.files.attachments import Attachments
from angelia.service.places.presets import Chosen
from angelia.service.settings.config import Caps
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore

logger = logging.getLogger("angelia.service")

GO_ON = "continue"
MAX_CRASHES = 10
"""A batch is stopped and begun again by design, and many of its tasks wait for their model at any moment: that our
process ended within a request speaks against the request later than in a conversation.
"""


class BatchDeps(Struct, frozen=True):
    """What a batch needs of a home. `limits` hold for every turn; `sandbox_of` says what a sandbox's name means."""

    conversations: Conversations
    transcript: Transcript
    blobs: BlobStore
    attachments: Attachments
    profile: Callable[[str], Profile]
    end_place: Callable[[PlaceId], Awaitable[None]]
    sandbox_of: Callable[[str], Chosen]
    limits: Caps


class BatchPlan(Struct, frozen=True):
    """What is to be done. `folder` takes the workspaces, `parallel` are done at once; `max_cost` is millionths of a US
    dollar for all of it, 0 for no cap.
    """

    id: str
    tasks: tuple[Task, ...]
    models: tuple[str, ...]
    folder: Path
    tries: int = 1
    parallel: int = 4
    sandbox: str = ""
    max_cost: int = 0

    def trials(self) -> Iterator[TaskTrial]:
        """All of them, in their order."""
        return trials_of(self.id, self.tasks, self.models, self.tries)


class BatchRunner:
    """One run of a batch; `tell` hears of each result as it comes, and
    whether an earlier run had brought it. `left` says what has none, and why.
    """

    def __init__(self, deps: BatchDeps, plan: BatchPlan, tell: Callable[[TrialResult, bool], None]) -> None:
        self._deps = deps
        self._plan = plan
        self._tell = tell
        self._allotted: dict[str, int] = {}
        self._paid = 0
        self._processes = CheckProcesses()
        self.results: list[TrialResult] = []
        self.found = 0
        """Results that earlier runs had brought."""
        self.running: dict[str, Session] = {}
        self.left: dict[str, str] = {}
        self.halted = ""
        """Why nothing more is begun; empty while it goes on."""
        self.away: dict[str, str] = {}
        """Models that cannot be had, and why."""

    @property
    def cost(self) -> int:
        """What all of it has cost so far, millionths of a US dollar."""
        return self._paid + sum(cost_of(session.log.entries) for session in self.running.values())

    async def run(self) -> None:
        """Do what is not done. Cancelled, it leaves turns open in their logs, to be gone on with.

        Raises:
            StoreError: the home cannot be read or written.
        """
        self._demand_own_sandboxes()
        trials = self._plan.trials()
        workers = [asyncio.create_task(self._work(trials)) for _ in range(self._plan.parallel)]
        try:
            await asyncio.gather(*workers)
        finally:
            await cancel_and_wait(*workers)
            await self._processes.close()

    def _demand_own_sandboxes(self) -> None:
        for name, workspace in {(task.sandbox or self._plan.sandbox, task.workspace) for task in self._plan.tasks}:
            chosen = self._deps.sandbox_of(name)
            spec, kind = chosen.spec, chosen.spec.partition(":")[0]
            if workspace == "image" and getattr(chosen.settings.get(kind), "workspace", "") != "image":
                raise BadInput(
                    f"A task is a container as a whole ({spec}): it is done in its image, as its user, who is mostly "
                    "root there; containers are made with less here.",
                    then="Say yes to that with --set sandbox.docker.workspace=image; and to the network, for tests "
                    "that fetch what they need, with --set sandbox.docker.network=bridge.",
                )
            if kind == "ssh":
                raise BadInput(
                    f"Tasks would meet in {spec}: it is one folder for all of them; nothing was asked.",
                    then="Use local, docker:IMAGE, apptainer:IMAGE or modal:IMAGE.",
                )

    async def _work(self, trials: Iterator[TaskTrial]) -> None:
        for trial in trials:
            if self.halted or trial.model in self.away:
                self.left[trial.key] = self.halted or self.away[trial.model]
                continue
            try:
                await self._once(trial)
            except AngeliaError as error:
                logger.warning("the trial %s could not be done: %s", trial.key, error)
                self.left[trial.key] = str(error)
            except Exception as error:
                code = sortable_id()[-8:]
                logger.exception("the trial %s faulted, code %s", trial.key, code, exc_info=error)
                self.left[trial.key] = f"A fault of ours, code {code}; its trace is in the log of the home."

    async def _once(self, trial: TaskTrial) -> None:
        """One trial, from where its log is to its result."""
        known = await self._deps.transcript.of_key(OWNER, e.BATCH, trial.key)
        if known:
            result = result_of(trial, known, await self._deps.transcript.entries(known))
            if result:
                self.found += 1
                await self._take(result, found=True)
                return
        session = await self._opened(trial, known)
        result = await self._done(trial, session)
        if result:
            await self._take(result, found=False)
        else:
            self._paid += cost_of(session.log.entries)

    async def _take(self, result: TrialResult, *, found: bool) -> None:
        """Count a result, and end what its sandbox left."""
        await self._deps.end_place(PlaceId(result.conversation))
        self._paid += result.cost
        self.results.append(result)
        self._tell(result, found)

    async def _done(self, trial: TaskTrial, session: Session) -> TrialResult | None:
        self.running[trial.key] = session
        try:
            await self._prepare(trial, session)
            while not is_final(last_ending(session.log.entries), trial.task):
                if not await self._turn(trial, session):
                    return None
            await self._check(trial, session)
            return result_of(trial, session.conversation, session.log.entries)
        finally:
            self._allotted.pop(trial.key, None)
            await self._deps.conversations.leave(session)
            del self.running[trial.key]

    async def _opened(self, trial: TaskTrial, known: ConversationId | None) -> Session:
        """Its conversation, with the task said in it; new if there is none."""
        conversations = self._deps.conversations
        if known:
            return await conversations.resume(known, door=e.BATCH)
        parts = await self._parts(trial)
        name = trial.task.sandbox or self._plan.sandbox
        folder = self._plan.folder / "work" / trial.folder
        if self._deps.sandbox_of(name).spec.partition(":")[0] not in ELSEWHERE:
            await asyncio.to_thread(_make_anew, folder)
        session = conversations.begin(door=e.BATCH, workspace=folder, sandbox=name)
        crash_point("batch.before_said")
        await session.say(parts, address=e.Address(e.BATCH, self._plan.id), key=trial.key)
        crash_point("batch.said")
        return session

    async def _parts(self, trial: TaskTrial) -> list[Content]:
        task, profile = trial.task, self._deps.profile(trial.model)
        parts: list[Content] = [Text(task.prompt)]
        take = self._deps.attachments
        for names, attached in ((task.pictures, take.image), (task.attachments, take.file)):
            for name in names:
                parts += (await attached(task.path(name), profile)).parts
        return parts

    async def _prepare(self, trial: TaskTrial, session: Session) -> None:
        """Open its sandbox, and put its files there unless the model was asked already."""
        place = self._deps.conversations.open_workplace(session, approvers=nobody)
        if not any(isinstance(entry.fact, e.ModelAsked) for entry in session.log.entries):
            await put_files(place.sandbox, trial.task, trial.task.files, trial.task.texts)
            crash_point("batch.files_put")
            await set_up(place.sandbox, trial.task)

    async def _turn(self, trial: TaskTrial, session: Session) -> bool:
        """Drive it to an ending; whether it is worth another look."""
        limits = self._limits(trial, session)
        if limits is None:
            self.left[trial.key] = self.halted
            return False
        await self._deps.conversations.employ(session, trial.model, approvers=nobody, limits=limits)
        if not session.turn.opened and not session.turn.unread:
            key = f"{trial.key}:{len(session.log.entries)}"
            await session.say([Text(GO_ON)], address=e.Address(e.BATCH, self._plan.id), key=key)
        await session.settled()
        match last_ending(session.log.entries):
            case end.BudgetSpent(what=what) as spent if what.endswith("today"):
                self.halted = sentence(spent)
            case ending if ending and is_away(ending):
                self.away[trial.model] = sentence(ending)
            case _:
                return True
        self.left[trial.key] = self.halted or self.away[trial.model]
        return False

    def _limits(self, trial: TaskTrial, session: Session) -> Caps | None:
        """The caps of its next turn; None once the batch's money is spent."""
        task, limits = trial.task, self._deps.limits
        own = replace(
            limits,
            max_steps=task.max_steps or limits.max_steps,
            max_cost=task.max_cost,
            max_seconds=task.max_seconds or limits.max_seconds,
            max_crashes=limits.max_crashes and max(limits.max_crashes, MAX_CRASHES),
        )
        if not self._plan.max_cost:
            return own
        self._allotted.pop(trial.key, None)
        held = {key: cost_of(one.log.entries) for key, one in self.running.items()}
        free = self._plan.max_cost - self._paid - sum(self._allotted.values())
        free -= sum(cost for key, cost in held.items() if key not in self._allotted)
        if free <= 0:
            self.halted = (
                f"${self.cost / 1e6:.4f} were spent, and the cap of the batch is ${self._plan.max_cost / 1e6:g}. "
                "What was done is kept; start it again with a higher --max-cost to go on."
            )
            return None
        share = -(-free // max(self._plan.parallel - len(self._allotted), 1))
        self._allotted[trial.key] = held[trial.key] + share
        return replace(own, max_cost=min(filter(None, (task.max_cost, share / 1e6))))

    async def _check(self, trial: TaskTrial, session: Session) -> None:
        """Look at its work, once, and settle what it sent: it went nowhere but to the check."""
        settled = [e.DeliverySettled(queued.id, e.DeliveryStatus.SENT) for queued in _unsettled(session.log.entries)]
        facts: list[e.AnyFact] = []
        if trial.task.check and not any(isinstance(entry.fact, e.Checked) for entry in session.log.entries):
            sandbox = self._deps.conversations.sandbox_of(session)
            work = CheckedWork(trial, sandbox, tuple(session.log.entries), self._deps.blobs)
            crash_point("batch.before_check")
            facts = [await checked(work, self._processes)]
            crash_point("batch.checked")
        if facts or settled:
            await session.record(*facts, *settled)
        crash_point("batch.result")


def _unsettled(entries: list[e.Entry]) -> list[e.DeliveryQueued]:
    settled = {entry.fact.id for entry in entries if isinstance(entry.fact, e.DeliverySettled)}
    queued = [entry.fact for entry in entries if isinstance(entry.fact, e.DeliveryQueued)]
    return [fact for fact in queued if fact.address.door == e.BATCH and fact.id not in settled]


def _make_anew(folder: Path) -> None:
    """An empty folder: what a run left there that died before it asked anything goes.

    Raises:
        BadInput: it cannot be made.
    """
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    except OSError as error:
        raise BadInput(f"{folder} cannot be made: {error.strerror or error}.") from error
