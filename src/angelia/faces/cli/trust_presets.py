"""`angelia trust` for files that describe helpers: shown whole, trusted as they stand."""

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.faces.words.output import echo
from angelia.path_queries import is_file
from angelia.service.delegation.preset_files import PresetFile, find_preset_files, read_preset_file
from angelia.service.delegation.presets import counts
from angelia.store.tables.trusted_files import FileAnswer
from angelia.tools.shell.output import plain

if TYPE_CHECKING:
    from angelia.service.app import App


async def answer_helper(app: "App", path: Path, *, trusted: bool) -> int:
    """Trust the file of a helper as it stands now, or refuse it.

    Raises:
        BadInput: it is not there, lies in our own home, or cannot be used.
    """
    at = path.parent.resolve() / path.name
    file = await asyncio.to_thread(read_preset_file, at)
    if at.parent == (app.loaded.home / "agents").resolve():
        raise BadInput(f"{at} lies in Angelia's own home: it is yours, and counts as it stands.")
    if file.preset is None:
        raise BadInput(f"{at} is not used: {'; '.join(file.remarks)}.")
    for line in [*_remarks(file), *file.text.strip("\n").splitlines()]:
        echo(plain(line))
    await app.trusted_files.put(FileAnswer(OWNER, "", str(at), file.version, trusted=trusted, at=app.clock()))
    said = (
        f"The helper {file.name} is trusted as {at} stands now (version {file.version[:12]}): work can be given to it. "
        "When the file changes it is not used, until you say so."
        if trusted
        else f"{at} is not used, and not spoken of until it changes."
    )
    echo(f"\n{said}", err=True)
    return 0


async def helpers_here(app: "App", folder: Path) -> list[str]:
    """A line for each file of a helper that counts in a folder, or would."""
    found = await asyncio.to_thread(find_preset_files, folder, app.loaded.home)
    return [await _line(app, one) for one in found]


def helper_now(path: Path, version: str) -> str:
    """How such a file stands to the version that was trusted."""
    if not is_file(path):
        return "gone"
    file = read_preset_file(path)
    if file.preset is None:
        return "cannot be used"
    return "as trusted" if file.version == version else "changed"


async def _line(app: "App", file: PresetFile) -> str:
    if file.preset is None:
        return plain(f"{file.path} is not used: {'; '.join(file.remarks)}.")
    if await counts(file, app.trusted_files, OWNER):
        return plain(f"{file.path}: the helper {file.name} can be given work.")
    return plain(f"{file.path} describes a helper that you have not trusted as it stands: angelia trust {_named(file)}")


def _named(file: PresetFile) -> str:
    return shlex.quote(file.path)


def _remarks(file: PresetFile) -> list[str]:
    hidden = f"{counted(file.hidden, 'character')} of it cannot be seen; written out here, such as <U+200B>"
    found = [*file.remarks, *([hidden] if file.hidden else [])]
    return [*(f"Note: {one}." for one in found), *([""] if found else [])]
