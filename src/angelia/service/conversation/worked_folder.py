"""The folder in which a conversation works by now: the one in which it began, or the one to which that was moved."""

from collections.abc import Sequence

from angelia.core import entry as e


class WorkedFolder:
    """Reads it from the entries of one conversation as they grow; only what is new is looked at."""

    def __init__(self) -> None:
        self._folder = ""
        self._seen = 0
        self._own_from = 0

    def now(self, log: Sequence[e.Entry]) -> str:
        """An absolute path inside its sandbox. What a fork took over does not move it: it has a folder of its own."""
        for entry in log[self._seen :]:
            match entry.fact:
                case e.ConversationOpened(workspace=workspace, fork=fork):
                    self._folder, self._own_from = workspace, fork.upto if fork else 0
                case e.WorkspaceMoved(workspace=workspace) if entry.seq > self._own_from:
                    self._folder = workspace
                case _:
                    pass
        self._seen = len(log)
        return self._folder
