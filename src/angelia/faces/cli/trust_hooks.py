"""`angelia trust` for the hooks of a project: every file is shown, and a copy of just these is what is run."""

import asyncio
import shlex
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.core.visible import visible
from angelia.faces.words.output import echo
from angelia.path_queries import is_folder
from angelia.service.hooks.project_hooks import ProjectHooks, hook_folders, pin, project_of, read_hooks
from angelia.store.tables.trusted_files import FileAnswer
from angelia.tools.shell.output import plain

if TYPE_CHECKING:
    from angelia.service.app import App


async def answer_hooks(app: "App", folder: Path, *, trusted: bool) -> int:
    """Have the hooks of a project run as they stand now, or not.

    Raises:
        BadInput: they cannot be used.
    """
    found = await asyncio.to_thread(read_hooks, folder.resolve())
    if trusted and found.fault:
        raise BadInput(f"The hooks in {found.path} are not used: {found.fault}.")
    if trusted:
        _show(found)
        await asyncio.to_thread(pin, found, app.loaded.home)
    await app.trusted_files.put(FileAnswer(OWNER, "", found.path, found.digest, trusted=trusted, at=app.clock()))
    said = (
        f"Trusted as it stands now (version {found.digest[:12]}): {_names(found)}. That is run from a copy, in "
        f"conversations in {project_of(folder.resolve())} that are opened from now on, on this machine and outside of "
        "every sandbox. What a hook runs beyond these files was not looked at."
        if trusted
        else f"The hooks in {found.path} are not run, and not spoken of until they change."
    )
    echo(f"\n{said}", err=True)
    return 0


async def hooks_here(app: "App", folder: Path) -> list[str]:
    """A line for each folder of hooks that holds in a folder, or would."""
    found = [await asyncio.to_thread(read_hooks, one) for one in hook_folders(folder, app.loaded.home)]
    return [await _line(app, one) for one in found]


def hooks_now(folder: Path, version: str) -> str:
    """How such a folder stands to the version that was trusted."""
    if not is_folder(folder):
        return "gone; run as trusted"
    return "as trusted" if read_hooks(folder).digest == version else "changed; run as trusted"


async def _line(app: "App", found: ProjectHooks) -> str:
    known = await app.trusted_files.answer(OWNER, "", found.path)
    how = f"angelia trust {shlex.quote(found.path)}"
    if known and known.trusted and known.version == found.digest:
        return plain(f"{found.path} is run as it stands: {_names(found)}.")
    if known and known.trusted:
        return plain(f"{found.path} has changed since you trusted it; its hooks are run as they were: {how}")
    return plain(f"{found.path} holds hooks that you have not trusted as they stand: {how}")


def _names(found: ProjectHooks) -> str:
    return ", ".join(map(visible, found.hooks))


def _show(found: ProjectHooks) -> None:
    for one in found.files:
        size, mode = len(one.data), ", executable" if one.executable else ""
        echo(plain(f"── {one.path} ({size:,} bytes{mode})"))
        text = one.text
        echo(plain(visible(text)) if text is not None else f"no text; sha256 {sha256(one.data).hexdigest()}")
