"""Finds the entry of a conversation after which a check says something else, by halves.

For each look the files are laid out as they were at that entry, in a folder and a sandbox of their own, and the check
sees the log up to there. It is a batch's check (`service/batches/checks.py`).
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.ids import PlaceId
from angelia.policy.approvers import nobody
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.service.batches.check_process import CheckProcesses
from angelia.service.batches.checks import CheckedWork, checked
from angelia.service.batches.results import VERDICTS
from angelia.service.batches.tasks import Task
from angelia.service.batches.trials import TaskTrial
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.store.media.blobs import BlobStore

_TURNING = (e.Opening, e.ModelSaid, e.ToolFinished, e.TurnClosed, e.FilesTakenBack)
"""After these the files or the words may be others; nothing is looked at in between."""


class CheckedAt(Struct, frozen=True):
    """What the check said at an entry."""

    seq: int
    came: e.Checked

    @property
    def passed(self) -> bool:
        """Whether it said yes."""
        return self.came.score >= 1


class Bisected(Struct, frozen=True):
    """What was found: the check said the same up to `before`, and something else from `after` on."""

    before: CheckedAt
    after: CheckedAt


class BisectDeps(Struct, frozen=True):
    """What a bisection needs of a home. `lay_out` puts the files where they were at an entry, and says where."""

    conversations: Conversations
    blobs: BlobStore
    lay_out: Callable[[int], Awaitable[str]]
    end_place: Callable[[PlaceId], Awaitable[None]]


async def bisect(
    deps: BisectDeps, entries: Sequence[e.Entry], task: Task, tell: Callable[[CheckedAt], None]
) -> Bisected:
    """The entry after which the check of `task` turns; `tell` hears of each look.

    Raises:
        BadInput: it says the same at the beginning and at the end, or comes to no verdict somewhere.
        SandboxError: the files cannot be worked with.
    """
    points = [1, *(entry.seq for entry in entries if isinstance(entry.fact, _TURNING))]
    processes = CheckProcesses()

    async def look(place: int) -> CheckedAt:
        found = await _looked(deps, entries[: points[place]], task, processes)
        tell(found)
        return found

    try:
        low, high = 0, len(points) - 1
        before, after = await look(low), await look(high)
        if before.passed == after.passed:
            raise BadInput(
                f"The check says {'yes' if after.passed else 'no'} at entry {before.seq} and at entry {after.seq}: "
                "there is nothing to find between them.",
                then=f"It said: {after.came.why or 'no reason'}",
            )
        while high - low > 1:
            middle = (low + high) // 2
            found = await look(middle)
            if found.passed == before.passed:
                low, before = middle, found
            else:
                high, after = middle, found
        return Bisected(before, after)
    finally:
        await processes.close()


async def _looked(deps: BisectDeps, entries: Sequence[e.Entry], task: Task, processes: CheckProcesses) -> CheckedAt:
    first, upto = entries[0].fact, entries[-1].seq
    assert isinstance(first, e.ConversationOpened)
    folder = await deps.lay_out(upto)
    opened = e.ConversationOpened(TERMINAL.door, folder, first.sandbox, first.owner, first.preset, notes=False)
    session = deps.conversations.begin_as(opened, door=TERMINAL.door)
    try:
        sandbox = deps.conversations.open_workplace(session, approvers=nobody).sandbox
        work = CheckedWork(TaskTrial(task, "", 1, ""), sandbox, tuple(entries), deps.blobs)
        came = await checked(work, processes)
    finally:
        await deps.conversations.leave(session)
        await deps.end_place(PlaceId(session.conversation))
        remove_tree(Path(folder))
    if came.outcome not in VERDICTS:
        raise BadInput(f"The check came to no verdict at entry {upto}: {came.outcome}. {came.why}")
    return CheckedAt(upto, came)
