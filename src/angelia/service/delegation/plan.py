"""What a conversation may delegate: which children would be opened, and what is put aside for each; pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.service.delegation.settings import ChildPreset, DelegationSettings
from angelia.service.delegation.workers import worker_of, works_elsewhere
from angelia.tools.delegation.access import DelegatedTask


class Means(Struct, frozen=True):
    """What there is to delegate with.

    `opened` are the helpers that the running turn has opened. `money` is what may still be spent or put aside,
    millionths of a US dollar, None without a cap. `model` is the conversation's own, `models` are those that may be
    named, `tools` those that a child may have. `no_copy` is why the folder cannot be copied, empty if it can.
    """

    settings: DelegationSettings
    presets: Mapping[str, ChildPreset]
    opened: int
    money: int | None
    model: str
    models: tuple[str, ...]
    tools: tuple[str, ...]
    no_copy: str = ""


class Planned(Struct, frozen=True):
    """A task with all that was left open decided; `max_cost` is what is put aside, millionths of a US dollar.

    `worker` is the helper whose other agent does it; then there are no model and no tools of ours.
    """

    task: str
    files: tuple[str, ...]
    model: str
    tools: tuple[str, ...]
    max_cost: int
    max_steps: int
    copy: bool = False
    worker: str = ""


def plan(tasks: Sequence[DelegatedTask], means: Means) -> tuple[Planned, ...]:
    """Decide what was left open.

    Raises:
        BadInput: there are too many, there is too little money, or something is named that there is not.
        ConfigError: the settings of another agent are wrong.
    """
    most = means.settings.most
    if means.opened + len(tasks) > most:
        raise BadInput(
            f"A turn opens at most {counted(most, 'helper')} (delegation.most); opened by this one: {means.opened}.",
            "Nothing was opened.",
            "Do the rest yourself, or with those that run.",
        )
    if not tasks or any(not task.task.strip() or min(task.max_cost, task.max_steps) < 0 for task in tasks):
        raise BadInput(
            "There is nothing to do in it, or a cap is below 0.", then="Say in each `task` what is to be done."
        )
    if means.no_copy and any(task.workspace == "copy" for task in tasks):
        raise BadInput(means.no_copy, "Nothing was opened.", 'Delegate with workspace "same".')
    presets = [_preset(task.helper, means) for task in tasks]
    wishes = [round((task.max_cost or preset.max_cost) * 1e6) for task, preset in zip(tasks, presets, strict=True)]
    costs = put_aside(wishes, round(means.settings.max_cost * 1e6), means.money)
    return tuple(
        Planned(
            task=f"{preset.instructions}\n\n{task.task}" if preset.instructions else task.task,
            files=task.files,
            model="" if works_elsewhere(preset) else _model(task.model or preset.model, means),
            tools=() if works_elsewhere(preset) else _tools(task.tools or preset.tools, means),
            max_cost=cost,
            max_steps=task.max_steps or preset.max_steps or means.settings.max_steps,
            copy=task.workspace == "copy",
            worker=_worker(task, preset),
        )
        for task, preset, cost in zip(tasks, presets, costs, strict=True)
    )


def put_aside(wishes: Sequence[int], usual: int, left: int | None) -> list[int]:
    """What each child may cost, millionths of a US dollar; 0 is no cap. `wishes` of 0 leave it to us.

    Together they get less than is left, so that whoever delegates can go on: whom nobody wished anything for gets the
    usual, and at most an equal share of half of what the others leave.

    >>> put_aside([0, 0], 1_000_000, 2_000_000)
    [500000, 500000]
    >>> put_aside([300_000, 0], 1_000_000, None)
    [300000, 1000000]

    Raises:
        BadInput: more is wished for than is left, or nothing is.
    """
    if left is None:
        return [wish or usual for wish in wishes]
    free = left - sum(wishes)
    open_wishes = sum(not wish for wish in wishes)
    share = free // 2 // open_wishes if open_wishes else free
    if share <= 0:
        raise BadInput(
            f"${sum(wishes) / 1e6:.4f} are wished for, and ${left / 1e6:.4f} are left below the cap on money.",
            "Nothing was opened.",
            "Ask for less (max_cost), or do it yourself.",
        )
    return [wish or min(usual or share, share) for wish in wishes]


def _preset(name: str, means: Means) -> ChildPreset:
    if not name:
        return ChildPreset()
    if name not in means.presets:
        there = ", ".join(means.presets) or "none"
        raise BadInput(f"No helper {name!r} is set up.", f"There are: {there}.", "Leave `helper` out for a plain one.")
    return means.presets[name]


def _worker(task: DelegatedTask, preset: ChildPreset) -> str:
    if not works_elsewhere(preset):
        return ""
    if task.model or task.tools:
        raise BadInput(f"{task.helper} is another agent, with its own model and tools.", then="Leave these two out.")
    worker_of(task.helper, preset)
    return task.helper


def _model(name: str, means: Means) -> str:
    if not name:
        return means.model
    if name not in means.models:
        raise BadInput(f"Helpers do not use {name}.", f"There are: {', '.join(means.models)}.", "Leave `model` out.")
    return name


def _tools(names: Sequence[str], means: Means) -> tuple[str, ...]:
    if absent := [name for name in names if name not in means.tools]:
        raise BadInput(f"A helper has no tool {absent[0]!r}.", f"There are: {', '.join(means.tools)}.")
    return tuple(names)
