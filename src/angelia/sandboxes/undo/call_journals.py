"""What the calls of a conversation have changed in its workspace, until somebody asks."""

from collections.abc import Callable, Sequence

from angelia.sandboxes.port import Command
from angelia.sandboxes.undo.step import StepJournal

Begin = Callable[[str], StepJournal]
"""Begins the journal of a call."""
Candidates = Callable[[Command, str], Sequence[str]]
"""The paths of a workspace that a command is taken to change, as far as its words tell."""


class CallJournals:
    """What the calls of one conversation have changed, until somebody asks."""

    def __init__(self, conversation: str, begin: Begin, candidates: Candidates) -> None:
        self.conversation = conversation
        self.begin, self.candidates = begin, candidates
        self._changed: dict[str, set[str]] = {}

    def told(self, call: str, paths: tuple[str, ...]) -> None:
        """These paths were changed by a call."""
        if paths:
            self._changed.setdefault(call, set()).update(paths)

    def changed(self, call: str) -> Sequence[str]:
        """What a call has changed since this was asked last, sorted."""
        return sorted(self._changed.pop(call, ()))
