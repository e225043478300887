"""The tool `todo`: the plan of a longer task, replaced as a whole."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.entry import Entry, ModelSaid, ToolFinished
from angelia.core.errors import UNREADABLE
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.port import ToolOutcome, Traits

NAME = "todo"


class TodoItem(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the plan."""

    text: str
    status: Literal["pending", "active", "done"] = "pending"


class TodoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole plan."""

    items: Annotated[tuple[TodoItem, ...], Meta(max_length=50)]


class Todo:
    """Takes note of the plan; the log holds it, so nothing else has to."""

    name = NAME
    description = (
        "Note your plan for a task of several steps, so that the user can follow. Give the whole list each time."
    )
    arguments: type[Struct] = TodoArguments
    traits = Traits(reads_only=True, housekeeping=True, replayable=True)

    async def effects(self, arguments: TodoArguments, context: object) -> Sequence[Effect]:
        """None."""
        return (NoEffect(),)

    async def run(self, arguments: TodoArguments, context: object) -> ToolOutcome:
        """Confirm it."""
        done = sum(item.status == "done" for item in arguments.items)
        return ToolOutcome((Text(f"Noted: {done} of {len(arguments.items)} done."),))


def todos(entries: Sequence[Entry]) -> tuple[TodoItem, ...]:
    """The plan as it stands: the items of the last `todo` call that was carried out; none where there was none."""
    done = {
        entry.fact.call
        for entry in entries
        if isinstance(entry.fact, ToolFinished) and entry.fact.status is CallStatus.OK
    }
    for entry in reversed(entries):
        if isinstance(entry.fact, ModelSaid):
            for part in reversed(entry.fact.parts):
                if isinstance(part, ToolCall) and part.name == NAME and part.id in done:
                    return todo_items(part)
    return ()


def todo_items(call: ToolCall) -> tuple[TodoItem, ...]:
    """The plan that a call notes; none where its arguments are none of ours."""
    try:
        return msgspec.json.decode(call.arguments, type=TodoArguments).items
    except UNREADABLE:
        return ()
