"""`angelia trust`: whose instructions the model may follow, by folder and version."""

import asyncio
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.context.prompt.facts import NoFolderFile, TrustedFile, UntrustedFile, UnusableFile
from angelia.core.errors import BadInput, NotFound
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli.options import open_app, settings_options
from angelia.faces.cli.trust_hooks import answer_hooks, hooks_here, hooks_now
from angelia.faces.cli.trust_presets import answer_helper, helper_now, helpers_here
from angelia.faces.words.folder_file import beginning, remarks
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.path_queries import exists, is_folder, is_link
from angelia.service.conversation.prompt import folder_file
from angelia.service.delegation.preset_files import is_preset_file
from angelia.service.files.instruction_files import NAMES, repository_of
from angelia.service.hooks.project_hooks import is_hook_folder
from angelia.store.tables.trusted_files import FileAnswer
from angelia.tools.shell.output import plain

if TYPE_CHECKING:
    from angelia.service.app import App


@click.command(epilog=("\b\nExamples:\n  angelia trust\n  angelia trust ~/garden\n  angelia trust --forget ~/garden"))
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listing", is_flag=True, help="List what you said of such files, and how they are now.")
@click.option("--forget", is_flag=True, help="Forget what you said of it: it counts as data, and you are asked again.")
@click.option(
    "--refuse",
    is_flag=True,
    help="Say no to a helper's file, or to hooks: not used, and not mentioned until it changes.",
)
@settings_options
def trust(path: Path | None, listing: bool, forget: bool, refuse: bool, **given: Any) -> int:
    """Let the model follow the AGENTS.md (or CLAUDE.md) of a folder, as it stands now. Read it first.

    PATH is the folder in which you work, or the file (default: the current folder). Name files of helpers
    (.angelia/agents/*.md, .claude/agents/*.md) and hooks (.angelia/hooks) one by one.
    """
    if listing and (forget or path or refuse):
        raise BadInput("--list takes nothing else.", then="Example: angelia trust --list")
    return asyncio.run(_list(given) if listing else _trust(path or Path.cwd(), given, forget=forget, refuse=refuse))


async def _trust(path: Path, given: dict[str, Any], *, forget: bool, refuse: bool) -> int:
    app = await open_app(given)
    try:
        if forget:
            return await _forget(app, path)
        if is_hook_folder(path.resolve()):
            return await answer_hooks(app, path, trusted=not refuse)
        if is_preset_file(path):
            return await answer_helper(app, path, trusted=not refuse)
        if refuse:
            raise BadInput("--refuse is for helpers and hooks.", then="What is not trusted is not followed.")
        return await _give(app, path)
    finally:
        await app.close()


async def _give(app: "App", path: Path) -> int:
    others = [*await helpers_here(app, path), *await hooks_here(app, path)] if is_folder(path) else []
    for line in others:
        echo(line, err=True)
    try:
        file = await _file_of(app, path)
    except NotFound:
        if others:
            return 0
        raise
    if isinstance(file, TrustedFile):
        echo(f"{file.path} is trusted already, as it stands now (version {file.version[:12]}).", err=True)
        return 0
    for line in [*remarks(file), *beginning(file.text)]:
        echo(plain(line))
    await app.trusted_files.put(FileAnswer(OWNER, "", file.path, file.version, trusted=True, at=app.clock()))
    echo(
        f"\n{file.path} is trusted as it stands now (version {file.version[:12]}): the model follows it. "
        "When it changes it is data again, until you say so.",
        err=True,
    )
    return 0


async def _file_of(app: "App", path: Path) -> TrustedFile | UntrustedFile:
    """The file that a conversation in that folder would follow.

    Raises:
        NotFound: there is none.
        BadInput: it is another one than was named, or it cannot be used.
        SandboxError: the folder cannot be worked in.
    """
    if not (exists(path) or is_link(path)):
        raise BadInput(f"There is no file or folder {path}.")
    folder = path if is_folder(path) else path.parent
    match await folder_file(folder, app.loaded.home, app.running, app.trusted_files, OWNER):
        case NoFolderFile():
            root, here = repository_of(folder.resolve(), app.loaded.home), folder.resolve()
            above = f", nor above it up to {root}" if root != here else ""
            raise NotFound(f"There is no {' and no '.join(NAMES)} in {here}{above}.")
        case UnusableFile(path=found, why=why):
            raise BadInput(f"{found} is not used: {why}.")
        case file if folder == path or Path(file.path) == folder.resolve() / path.name:
            return file
        case file:
            raise BadInput(
                f"{path} is not what counts in {folder.resolve()}: {file.path} is.",
                then=f"angelia trust {shlex.quote(str(file.path))}",
            )


async def _forget(app: "App", path: Path) -> int:
    """By the file's path or its folder's; it need not be there any more."""
    named = path.parent.resolve() / path.name
    wanted = {str(path), str(named), *(str(path.resolve() / name) for name in NAMES)}
    found = [one for one in await app.trusted_files.list(OWNER) if one.path in wanted]
    if not found:
        raise NotFound(
            f"Nothing is known of instructions at {path.resolve()}.", then="`angelia trust --list` shows what is."
        )
    for one in found:
        await app.trusted_files.forget(one.owner, one.where, one.path)
        echo(f"What you said of {one.path} is forgotten: it is data, and asked about again.", err=True)
    return 0


async def _list(given: dict[str, Any]) -> int:
    app = await open_app(given)
    try:
        rows = [await _row(app, one) for one in await app.trusted_files.list(OWNER)]
    finally:
        await app.close()
    if not rows:
        echo("No folder's instructions were asked about yet.", err=True)
        return 0
    echo("\n".join(table([("FILE", "VERSION", "SINCE", "NOW"), *rows], screen().columns * sys.stdout.isatty())))
    return 0


async def _row(app: "App", one: "FileAnswer") -> tuple[str, ...]:
    return (f"{one.where} {one.path}".strip(), one.version[:12], when(one.at), await _now(app, one))


async def _now(app: "App", one: "FileAnswer") -> str:
    """How a file of this machine stands to what was trusted."""
    if not one.trusted:
        return "you said no"
    if one.where:
        return "elsewhere"
    path = Path(one.path)
    if is_preset_file(path):
        return await asyncio.to_thread(helper_now, path, one.version)
    if is_hook_folder(path):
        return await asyncio.to_thread(hooks_now, path, one.version)
    if not is_folder(path.parent):
        return "gone"
    match await folder_file(path.parent, app.loaded.home, app.running, app.trusted_files, OWNER):
        case TrustedFile(path=one.path):
            return "as trusted"
        case UntrustedFile(path=one.path):
            return "changed"
        case UnusableFile(path=one.path):
            return "cannot be used"
        case _:
            return "gone"
