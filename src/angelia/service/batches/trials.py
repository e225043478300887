"""What is to be done of a batch, and under which key: each task with each model, as often as is wanted."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from angelia.service.batches.tasks import Task


class TaskTrial(Struct, frozen=True):
    """One try at one task by one model; `number` counts from 1. `key` names it in the store, once for ever."""

    task: Task
    model: str
    number: int
    key: str

    @property
    def folder(self) -> str:
        """Where it works beneath the batch's own folder, if that is a folder of this machine."""
        return f"{self.task.id}/{re.sub(r'[^A-Za-z0-9._-]+', '-', self.model)}-{self.number}"


def trials_of(batch: str, tasks: Sequence[Task], models: Sequence[str], tries: int) -> Iterator[TaskTrial]:
    """All of them: every task once with every model, then the second tries. A task that names its model has that one.

    >>> [trial.key for trial in trials_of("b", [Task(id="t", prompt="?")], ["a:m", "a:n"], 1)]
    ['b:t:1:a:m', 'b:t:1:a:n']
    """
    for number in range(1, tries + 1):
        for task in tasks:
            for model in (task.model,) if task.model else models:
                yield TaskTrial(task, model, number, f"{batch}:{task.id}:{number}:{model}")
