"""`angelia skills`: which skills there are, what is in them, and which of them the model may use."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.core.errors import BadInput
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli import skill_review
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.cli.served_skills import served_named, served_there
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.path_queries import is_folder
from angelia.service.skills.conversation_skills import unseen_in_words
from angelia.service.skills.seen import JudgedSkill, SkillState
from angelia.service.skills.skill_acts import HEAD, skill_row
from angelia.skills.skill import read_skill

if TYPE_CHECKING:
    from angelia.service.app import App

_HERE = click.option(
    "-C", "--workspace", type=click.Path(path_type=Path), help="The folder of the project (default: the current one)."
)


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia skills\n  angelia skills review\n  angelia skills show pdf-forms"),
)
@click.pass_context
def skills(ctx: click.Context) -> int | None:
    """List skills (agentskills.io), see what is in them, and say which the model may use."""
    return None if ctx.invoked_subcommand else int(ctx.invoke(list_))


@skills.command("list", epilog=("\b\nExample:\n  angelia skills list"))
@_HERE
@settings_options
def list_(workspace: Path | None, **given: Any) -> int:
    """List this project's skills and yours, and what you said of each."""
    return _with_app(given, lambda app: _list(app, workspace))


async def _list(app: "App", workspace: Path | None) -> int:
    there = [*await app.skills.look(OWNER, _folder(workspace)), *await served_there(app)]
    here = {one.skill.path for one in there}
    answers = [one for one in await app.skills.answers(OWNER) if one.path not in here]
    gone = {one.path: one for one in answers if not is_folder(one.path)}
    if not there and not gone:
        echo(
            "There are no skills here. They lie in .agents/skills, .angelia/skills or .claude/skills, of a project or "
            "of your home, or a server serves them; `angelia new skill NAME` writes one.",
            err=True,
        )
        return 0
    rows = [skill_row(one) for one in there]
    rows += [(one.name, "gone", f"seen {when(one.at)}", one.path) for one in gone.values()]
    echo("\n".join(table([HEAD, *rows], screen().columns if sys.stdout.isatty() else 0)))
    if unseen := unseen_in_words(sum(one.unseen for one in there)):
        echo(f"\n{unseen}", err=True)
    return 0


@skills.command(epilog=("\b\nExample:\n  angelia skills show pdf-forms"))
@click.argument("name")
@_HERE
@settings_options
def show(name: str, workspace: Path | None, **given: Any) -> int:
    """Show all of a skill. Says what has changed since you saw it, too. NAME may be its folder."""
    return _with_app(given, lambda app: _show(app, name, workspace))


async def _show(app: "App", name: str, workspace: Path | None) -> int:
    there, one = await _named(app, name, workspace)
    await skill_review.show(app, one, there, all_of_it=True)
    await app.served.sweep()
    return 0


@skills.command(epilog=("\b\nExample:\n  angelia skills validate .agents/skills/pdf-forms"))
@click.argument("path", type=click.Path(path_type=Path))
def validate(path: Path) -> int:
    """Check a skill against the rules of the standard and ours. PATH is its folder; each fault is named by its line."""
    folder = path.parent if path.name.lower() == "skill.md" else path
    if not is_folder(folder):
        raise BadInput(f"There is no folder {folder}.", then="Name the folder that holds SKILL.md.")
    skill = read_skill(folder.absolute())
    for one in skill.findings:
        echo(one.in_words())
    if not skill.findings:
        count = len(skill.content.files)
        files = "one file" if count == 1 else f"{count} files"
        echo(f"{skill.called} keeps the rules ({files}, version {skill.digest[:12]}).")
    return 0 if skill.usable else 1


@skills.command(epilog=("\b\nExample:\n  angelia skills review"))
@_HERE
@settings_options
def review(workspace: Path | None, **given: Any) -> int:
    """Show each new, changed or proposed skill and ask about it. One key each: y lets the model use it as it is now."""
    return _with_app(given, lambda app: skill_review.review(app, _folder(workspace)))


@skills.command(epilog=("\b\nExample:\n  angelia skills pin pdf-forms"))
@click.argument("name")
@_HERE
@settings_options
def pin(name: str, workspace: Path | None, **given: Any) -> int:
    """Show a skill, and let the model use it as it is now. NAME may be its folder."""
    return _with_app(given, lambda app: _pin(app, name, workspace))


async def _pin(app: "App", name: str, workspace: Path | None) -> int:
    there, one = await _named(app, name, workspace)
    if one.state is SkillState.PINNED:
        echo(f"{one.skill.name} is pinned already, as it stands now (version {one.skill.digest[:12]}).", err=True)
        return 0
    await skill_review.show(app, one, there, all_of_it=True)
    await app.skills.pin(OWNER, one.skill)
    echo(
        f"{one.skill.name} is pinned (version {one.skill.digest[:12]}). Once changed it is not used until you say so.",
        err=True,
    )
    await app.served.sweep()
    return 0


@skills.command(epilog=("\b\nExample:\n  angelia skills unpin pdf-forms"))
@click.argument("name")
@_HERE
@settings_options
def unpin(name: str, workspace: Path | None, **given: Any) -> int:
    """Take back what you said of a skill: it counts as new again. Its files stay. NAME may be its folder."""
    return _with_app(given, lambda app: _unpin(app, name, workspace))


async def _unpin(app: "App", name: str, workspace: Path | None) -> int:
    known = await app.skills.answers(OWNER)
    path = str(Path(name).expanduser().absolute())
    found = [one for one in known if one.path in (path, name)] or [one for one in known if one.name == name]
    if len(found) > 1:
        here = {one.skill.path for one in await app.skills.look(OWNER, _folder(workspace))}
        found = [one for one in found if one.path in here] or found
    if len(found) != 1:
        many = (
            f"You said something of {len(found)} skills {name!r}" if found else f"You said nothing of a skill {name!r}"
        )
        raise BadInput(f"{many}.", then="`angelia skills list` shows them; name one by its folder.")
    await app.skills.unpin(OWNER, found[0].path)
    await app.served.sweep()
    echo(f"{found[0].name} is not used until you say so again; it stays at {found[0].path}.", err=True)
    return 0


async def _named(app: "App", name: str, workspace: Path | None) -> tuple[list[JudgedSkill], JudgedSkill]:
    """All that there are, and the one of this name."""
    there = [*await app.skills.look(OWNER, _folder(workspace)), *await served_there(app)]
    if ":" in name:
        return there, await served_named(app, name)
    return there, await app.skills.named(OWNER, _folder(workspace), name)


def _folder(workspace: Path | None) -> Path:
    folder = workspace or Path.cwd()
    if not is_folder(folder):
        raise BadInput(f"There is no folder {folder}.")
    return folder


def _with_app(given: dict[str, Any], act: Callable[["App"], Awaitable[int]]) -> int:
    async def run() -> int:
        app = await open_app(given)
        try:
            return await act(app)
        finally:
            await app.close()

    return asyncio.run(run())
