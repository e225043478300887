"""A conversation that is opened again in a folder: in the one in which it works, or in the one to which that was moved.

That a folder was moved is concluded from two things: the one in which the conversation works is gone, and its person
opens it in another. As long as the old one is there, it may be a copy, and nobody knows which one is meant.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.path_queries import exists
from angelia.sandboxes.registry import ELSEWHERE, fit_workspace

if TYPE_CHECKING:
    from angelia.service.conversation.session import Session


def moves(session: "Session", folder: Path) -> bool:
    """Whether a conversation that is opened in `folder`, links resolved, goes on there from now on, since its own is
    gone. One on another machine works in no folder of this one, wherever it is opened from.

    Raises:
        BadInput: it works in another folder, which is still there, or for another conversation.
    """
    if session.sandbox.partition(":")[0] in ELSEWHERE or Path(session.workspace) == folder:
        return False
    if session.terms or exists(session.workspace):
        raise BadInput(
            f"This conversation works in {session.workspace}, not in {folder}.",
            then="Open that folder, or begin a new conversation here.",
        )
    return True


async def reopened_in(session: "Session", folder: Path, own_home: Path) -> str:
    """Let a conversation that nobody employs yet go on in the folder in which its owner opens it; says what that
    changed, a sentence, empty where it works there in any case.

    Raises:
        BadInput: as `moves`.
        AccessRefused: no conversation works in `folder`.
    """
    if not moves(session, folder):
        return ""
    before, now = session.workspace, fit_workspace(session.sandbox, folder, own_home)
    await session.record(e.WorkspaceMoved(now, OWNER))
    return f"{before} is gone, so this conversation goes on in {now}. What was allowed there is asked again here."
