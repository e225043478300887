"""`angelia skills review`: what is new, changed or proposed, shown one after the other, with one key for each."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.counts import counted
from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli.served_skills import read_from_servers, served_there
from angelia.faces.words.output import draw, echo, one_key
from angelia.faces.words.paint import screen
from angelia.faces.words.skills import whole
from angelia.service.skills.seen import JudgedSkill, SkillState
from angelia.skills.places import SkillOwner
from angelia.skills.remarks import remarks_on

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.skills.proposals import WaitingProposal

Act = Callable[[], Awaitable[str]]
"""What an answer does; returns what it came to, in words."""


async def review(app: "App", folder: Path) -> int:
    """Everything that waits for the person who works in a folder."""
    there = [*await app.skills.look(OWNER, folder), *await served_there(app)]
    unseen = [one for one in there if one.unseen and one.of is not SkillOwner.SERVER]
    unseen += await read_from_servers(app, [one for one in there if one.unseen and one.of is SkillOwner.SERVER])
    waiting = await app.proposals.look(OWNER)
    count = len(unseen) + len(waiting)
    if not count:
        echo("Every skill here is as you have seen it.", err=True)
        return 0
    found = [*(_of_folder(app, one, there) for one in unseen), *(_of_proposal(app, one, there) for one in waiting)]
    for number, asked in enumerate(found, 1):
        echo(f"── {number} of {count} " + "─" * 40)
        if not await _answered(*asked):
            break
    await app.served.sweep()
    if not sys.stdin.isatty():
        echo("\nNobody is here to say yes: angelia skills pin NAME does, after a look.", err=True)
    return 0


async def show(app: "App", one: JudgedSkill, there: Sequence[JudgedSkill], *, all_of_it: bool) -> None:
    """A skill with what to know of it; a changed one as it differs from what was seen."""
    remarks = remarks_on(one.skill, [other.skill for other in there])
    before = await app.skills.files_seen(one) if one.state is SkillState.CHANGED else ()
    paint = screen()
    for line in whole(one, remarks, before, all_of_it=all_of_it):
        draw(paint.line(line))


Shown = Callable[[bool], Awaitable[None]]


def _of_folder(app: "App", one: JudgedSkill, there: Sequence[JudgedSkill]) -> tuple[Shown, Act, Act]:
    async def shown(all_of_it: bool) -> None:
        await show(app, one, there, all_of_it=all_of_it)

    async def taken() -> str:
        await app.skills.pin(OWNER, one.skill)
        return f"{one.skill.name} is pinned (version {one.skill.digest[:12]})."

    async def declined() -> str:
        await app.skills.decline(OWNER, one.skill)
        return f"{one.skill.called} is not used, and not asked about until it changes."

    return shown, taken, declined


def _of_proposal(app: "App", one: "WaitingProposal", there: Sequence[JudgedSkill]) -> tuple[Shown, Act, Act]:
    at = one.proposed

    async def shown(all_of_it: bool) -> None:
        echo(
            f"Proposed by the model on {when(at.at)}, after a turn of {counted(one.calls, 'call')} "
            f"in {short(at.conversation)}: “{one.words}”. `angelia show {short(at.conversation)}` shows it."
        )
        if one.outside:
            echo("Words from elsewhere (files, pages, output) were in view when it was written: look for them in it.")
        await show(app, JudgedSkill(one.skill, SkillOwner.PERSON, SkillState.NEW), there, all_of_it=all_of_it)

    async def taken() -> str:
        folder = await app.proposals.keep(OWNER, one)
        return f"{one.skill.name} is written to {folder}, and pinned (version {one.skill.digest[:12]})."

    async def declined() -> str:
        await app.proposals.drop(OWNER, one)
        return f"{one.skill.called} is not kept; the conversation still holds what was proposed."

    return shown, taken, declined


async def _answered(shown: Shown, taken: Act, declined: Act) -> bool:
    """Show one, and take a key for it; False if the person wants to leave."""
    await shown(False)
    while sys.stdin.isatty():
        match one_key("Use it as it is?  y yes · n no · v all of it · l later · q leave", "ynvlq"):
            case "y":
                echo(await taken(), err=True)
                return True
            case "n":
                echo(await declined(), err=True)
                return True
            case "v":
                await shown(True)
            case "l":
                return True
            case _:
                return False
    return True
