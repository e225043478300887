"""`angelia cluster`: the machines that share a log, what each holds, and how one is taken out of the work."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import click

from angelia.core.errors import BadInput
from angelia.core.moment import when
from angelia.faces.cli.options import Whole, open_app, settings_options
from angelia.faces.words.output import echo
from angelia.faces.words.widths import table
from angelia.store.tables.machines import (
    NO_DRAIN,
    ClusterPart,
    ClusterState,
    DrivenConversation,
    Machine,
    Machines,
    door_of,
)

_LOOK_S = 0.3
_SENT_S = 20
"""How long, beside its turns, a machine may take to hand over what it is connected to."""
_LISTED = 20
"""Conversations that are listed one by one."""


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia cluster\n  angelia cluster drain two\n  angelia cluster undrain two"),
)
@settings_options
@click.pass_context
def cluster(ctx: click.Context, /, **given: Any) -> int | None:
    """List the machines that share the log, and which channels and conversations each holds, since when."""
    return asyncio.run(_list(given)) if ctx.invoked_subcommand is None else None


@cluster.command(epilog=("\b\nExamples:\n  angelia cluster drain two\n  angelia cluster drain two --seconds 600"))
@click.argument("name")
@click.option("--seconds", type=Whole(min=0), default=60, show_default=True, help="How long its turns may go on.")
@settings_options
def drain(name: str, seconds: int, **given: Any) -> int:
    """Take a machine out of work. Others get its channels and its clock at once; its turns end there or, after
    --seconds, go on elsewhere. Nobody in a chat is told anything. Returns when that is done.
    """
    return asyncio.run(_drain(name, seconds, given))


@cluster.command(epilog=("\b\nExample:\n  angelia cluster undrain two"))
@click.argument("name")
@settings_options
def undrain(name: str, **given: Any) -> int:
    """Let a machine work again. One that is started anew does so by itself."""
    return asyncio.run(_undrain(name, given))


async def _list(given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        machines = Machines(app.db)
        state, driven = await machines.state(), await machines.driven()
        shared = bool(app.loaded.config.store)
    finally:
        await app.close()
    for line in _lines(state, driven, shared=shared):
        echo(line)
    return 0


def _lines(state: ClusterState, driven: Sequence[DrivenConversation], *, shared: bool) -> list[str]:
    if state.machines:
        head = ("machine", "since", "drives", "load", "version", "")
        lines = table([head, *(_row(one, state, driven) for one in state.machines)])
        lines += ["", *table([("serves", "", ""), *(_part_row(part, state) for part in state.parts)])]
    else:
        alone = "The log lies in this home, which has one gateway: angelia gateway status"
        lines = ["No gateway takes part: angelia gateway" if shared else alone]
    if driven:
        rows = [(one.conversation, one.process, f"since {when(one.since)}") for one in driven[:_LISTED]]
        lines += ["", *table([("conversation", "driven by", ""), *rows])]
    if len(driven) > _LISTED:
        lines.append(f"and {len(driven) - _LISTED} more")
    return lines


def _row(one: Machine, state: ClusterState, driven: Sequence[DrivenConversation]) -> tuple[str, ...]:
    held = any(part.held and part.machine == one.name for part in state.parts)
    counted = len(_driven_by(one, driven))
    note = "" if one.drain == NO_DRAIN else "draining" if held or counted else "drained"
    return one.name, when(one.since), str(counted), f"{one.load / 1000:.2f}", one.version, note


def _part_row(part: ClusterPart, state: ClusterState) -> tuple[str, str, str]:
    if part.held:
        return _named(part), part.machine, f"since {when(part.since)}"
    able = [one.name for one in state.machines if part.name in one.wants and one.drain == NO_DRAIN]
    why = f"{' or '.join(able)} takes it within seconds" if able else "every machine that could is draining"
    return _named(part), "nobody", why


def _named(part: ClusterPart) -> str:
    return door_of(part.name) or part.name


def _driven_by(one: Machine, driven: Sequence[DrivenConversation]) -> list[DrivenConversation]:
    return [each for each in driven if each.process.endswith(f"({one.process})")]


async def _drain(name: str, seconds: int, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        machines = Machines(app.db)
        state = await machines.state()
        _machine(name, state)
        parts = [part for part in state.parts if part.held and part.machine == name]
        others = [one for one in state.machines if one.name != name and one.drain == NO_DRAIN]
        if left := [_named(part) for part in parts if not any(part.name in one.wants for one in others)]:
            raise BadInput(
                f"Nobody else could take {', '.join(left)} from {name}.",
                "No other machine that takes part is set up for it.",
                f"Start one, or end {name}: what comes in meanwhile waits at the networks.",
            )
        await machines.drain(name, seconds)
        return await _drained(machines, name, seconds)
    finally:
        await app.close()


async def _drained(machines: Machines, name: str, seconds: int) -> int:
    until = time.monotonic() + seconds + _SENT_S
    while time.monotonic() < until:
        state, driven = await machines.state(), await machines.driven()
        if not (there := [one for one in state.machines if one.name == name]):
            echo(f"{name} has ended.")
            return 0
        held = [part for part in state.parts if part.machine == name and part.held]
        if not held and not _driven_by(there[0], driven):
            echo(f"{name} is drained: it holds nothing and drives nothing. End it, or: angelia cluster undrain {name}")
            return 0
        await asyncio.sleep(_LOOK_S)
    echo(f"{name} still works after {seconds} s; it begins nothing new. How it stands: angelia cluster")
    return 1


async def _undrain(name: str, given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        machines = Machines(app.db)
        _machine(name, await machines.state())
        await machines.drain(name, NO_DRAIN)
    finally:
        await app.close()
    echo(f"{name} takes part again.")
    return 0


def _machine(name: str, state: ClusterState) -> Machine:
    for one in state.machines:
        if one.name == name:
            return one
    there = ", ".join(one.name for one in state.machines) or "none"
    raise BadInput(f"There is no machine {name!r}.", f"Those that take part: {there}.", "`angelia cluster` says more.")
