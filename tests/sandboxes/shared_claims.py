"""One sandbox for many claims: to make a container takes longer than most of them do, and is what few are about.

While soaking each claim has one of its own.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.testing.sandboxes.acts import SandboxCheck, shell
from angelia.testing.sandboxes.commands import a_status_is_told, closing_ends_what_runs_and_may_be_repeated
from angelia.testing.sandboxes.input import closing_ends_who_waits_for_input
from tests.examples import TIMES

_OF_THEIR_OWN = (a_status_is_told, closing_ends_what_runs_and_may_be_repeated, closing_ends_who_waits_for_input)
"""The first command makes the container; and one that was closed is closed."""


def shares(check: SandboxCheck) -> bool:
    """Whether it may be put to a sandbox in which others were."""
    return not TIMES and check.claim not in _OF_THEIR_OWN


@asynccontextmanager
async def emptied(sandbox: Sandbox, workspace: Path | None) -> AsyncIterator[Sandbox]:
    """The same sandbox, with nothing in its workspace, which lies in it alone if it is None."""
    if workspace is None:
        await shell(sandbox, "find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +")
    else:
        for left in workspace.iterdir():
            if left.is_dir() and not left.is_symlink():
                remove_tree(left)
            else:
                left.unlink()
    yield sandbox
