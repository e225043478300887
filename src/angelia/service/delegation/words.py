"""What a child is told of its work, and what is told of how it goes."""

import shlex
from collections.abc import Sequence

from msgspec.structs import replace

from angelia.context.usage_meter import cost_words
from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.counts import counted
from angelia.service.delegation.changes import CopyChanges
from angelia.service.delegation.outcome import ChildOutcome, cost_of, file_line, steps_of, unpriced_in

_ABOUT = (
    "[You are {name}, a helper: another conversation gave you this task, and reads nothing of you but your last reply "
    "and the files that you send with send_file. Say there what you found or did, and what is left. {where} "
    "Nobody can be asked; where something is unclear, choose and say so.]"
)
_IN_ITS_FOLDER = "You work in its folder, where others may work too."
_IN_A_COPY = (
    "You work in a copy of its folder that is yours alone, without what .gitignore names. When you end, whatever you "
    "changed here goes back as a patch, committed or not, and the copy is removed."
)
_WORKER = (
    "[Another agent gave you this task, and reads nothing of you but your last message. Say there what you found or "
    "did, which files you changed, and what is left. {where} Nobody can be asked; where something is unclear, choose "
    "and say so.]"
)
_MOST_LINES = 100


def opening_words(child: e.Child) -> tuple[Text, ...]:
    """The task as the child reads it."""
    files = [Text("Files for this:\n" + "\n".join(child.files))] if child.files else []
    where = _IN_A_COPY if child.copy else _IN_ITS_FOLDER
    about = _WORKER if child.terms.worker else _ABOUT
    return (Text(about.format(name=child.terms.name, where=where)), Text(child.task), *files)


def changed_lines(changes: CopyChanges, lies_at: str) -> list[str]:
    """What a helper changed in its copy, for its parent; the patch `lies_at` a path of the workspace, if it does."""
    if changes.patch is None:
        return ["[it changed nothing in its copy]", *(f"[{note}]" for note in changes.notes)]
    count = len(changes.files)
    many = "1 path" if count == 1 else f"{count} paths"
    git = f"{'GIT_DIR=/dev/null ' if changes.inside else ''}git apply"
    at, conflicts = shlex.quote(lies_at), sum(one.conflicts for one in changes.files)
    take = f"; `{git} {at}` takes it over, after a look" if lies_at and not conflicts else ""
    lines = [f"[{many} changed in its copy: {file_line(changes.patch)}{take}]"]
    if conflicts:
        part = f" `{git} --reject {at}` takes over what fits, and leaves the rest in .rej files." if lies_at else ""
        lines.append(f"[{conflicts} of them changed in the folder too since then, so the patch conflicts there.{part}]")
    for one in changes.files[:_MOST_LINES]:
        what = f", {file_line(one.file)}" if one.file else ""
        also = "; CONFLICT: changed in the folder too" if one.conflicts else ""
        lines.append(f"[{one.how}: {one.path}{what}{also}]")
    if count > _MOST_LINES:
        lines.append(f"[and {count - _MOST_LINES} more, in the patch]")
    return [*lines, *(f"[{note}]" for note in changes.notes)]


def with_changes(outcome: ChildOutcome, changes: CopyChanges, lies_at: str) -> ChildOutcome:
    """What has come of one that worked in a copy; see `changed_lines`."""
    files = [one.file for one in changes.files if one.file]
    patch = [changes.patch] if changes.patch else []
    lines = Text("\n" + "\n".join(changed_lines(changes, lies_at)))
    return replace(outcome, parts=(*outcome.parts, lines, *patch, *files))


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
    words = [counted(steps, "model call"), cost_words(cost, unpriced_in(log)), *calls[-1:]]
    return " · ".join(words)
