"""What a scripted model does, request by request."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from angelia.testing.model.steps import Step

R = TypeVar("R")


class ScriptOver(AssertionError):
    """A request came that the script does not foresee."""


class ModelScript(Generic[R]):
    """Steps to take in order, each fixed or chosen by a function of the request; or one such function for all."""

    def __init__(self, steps: Callable[[R], Step] | Sequence[Step | Callable[[R], Step]]) -> None:
        self._steps = steps
        self._taken = 0

    @property
    def left(self) -> int:
        """How many steps have not been taken yet; 0 for a function, which never ends."""
        return 0 if callable(self._steps) else len(self._steps) - self._taken

    def step(self, request: R) -> Step:
        """What to do with this request.

        Raises:
            ScriptOver: every step has been taken.
        """
        if callable(self._steps):
            return self._steps(request)
        if not self.left:
            raise ScriptOver(f"The script has {self._taken} steps, and one more request came.")
        step = self._steps[self._taken]
        self._taken += 1
        return step(request) if callable(step) else step
