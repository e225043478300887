"""What a child is told of its work, and what is told of how it goes."""

from collections.abc import Sequence

from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.service.delegation.outcome import cost_of, steps_of

_ABOUT = (
    "[You are {name}, a helper: another conversation gave you this task, and reads nothing of you but your last reply "
    "and the files that you send with send_file. Say there what you found or did, and what is left. You work in its "
    "folder, where others may work too. Nobody can be asked; where something is unclear, choose and say so.]"
)


def opening_words(child: e.Child) -> tuple[Text, ...]:
    """The task as the child reads it."""
    files = [Text("Files for this:\n" + "\n".join(child.files))] if child.files else []
    return (Text(_ABOUT.format(name=child.terms.name)), Text(child.task), *files)


def progress_line(log: Sequence[e.Entry]) -> str:
    """How far one is: model calls, money, and the last thing that it called.

    >>> progress_line([])
    'no model call yet'
    """
    calls = [
        part.name
        for entry in log
        if isinstance(entry.fact, e.ModelSaid)
        for part in entry.fact.parts
        if isinstance(part, ToolCall)
    ]
    steps, cost = steps_of(log), cost_of(log)
    if not steps:
        return "no model call yet"
    words = ["1 model call" if steps == 1 else f"{steps} model calls", f"${cost / 1e6:.4f}", *calls[-1:]]
    return " · ".join(words)
