"""Hooks of a project (`.angelia/hooks/`): seen by a person, pinned by the digest of every file there, run from a copy.

The copy lies in our home, so that what is run is what was seen: nobody who changes the folder, the model least of all,
changes or removes a guard by that. What changed is told, and waits for the person.
"""

import asyncio
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.crash import crash_point
from angelia.core.ids import sortable_id
from angelia.core.principal import OWNER
from angelia.core.text import one_line
from angelia.core.visible import visible
from angelia.path_queries import is_folder
from angelia.sandboxes.shared.private_folders import make_private
from angelia.service.files.instruction_files import repository_of
from angelia.service.settings.config import HookSettings
from angelia.skills.folder import SkillContent, SkillFile, read_files
from angelia.store.tables.trusted_files import TrustedFiles

FOLDER, LIST, PINNED = Path(".angelia/hooks"), "hooks.toml", "pinned-hooks"
_MOST_HOOKS = 50


class ProjectHooks(Struct, frozen=True):
    """What stands in such a folder: its `files`, their `digest`, and the `hooks` by name. `fault` is why none of them
    can be used, empty for nothing.
    """

    path: str
    digest: str
    files: tuple[SkillFile, ...]
    hooks: Mapping[str, HookSettings]
    fault: str = ""


class RunHook(Struct, frozen=True):
    """A hook, and the folder in which its program is run: None for the one that its settings name."""

    settings: HookSettings
    folder: Path | None = None


def hook_folders(workspace: Path, own_home: Path) -> list[Path]:
    """Those of whoever works in a folder of this machine, nearest first, up to the root of its repository."""
    here = workspace.resolve()
    root = repository_of(here, own_home)
    above = [one for one in (here, *here.parents) if one.is_relative_to(root)]
    return [base / FOLDER for base in above if is_folder(base / FOLDER)]


def is_hook_folder(path: Path) -> bool:
    """Whether a path is one where such hooks lie."""
    return path.parts[-2:] == FOLDER.parts


def project_of(folder: Path) -> Path:
    """The folder in which such hooks hold, and in all below it."""
    return folder.parent.parent


def pinned_folder(own_home: Path, digest: str) -> Path:
    """Where the copy of this version lies."""
    return own_home / PINNED / digest


def read_hooks(folder: Path) -> ProjectHooks:
    """What stands there now, whatever is wrong with it."""
    files, findings = read_files(folder)
    digest = SkillContent(files).digest
    faults = [one.in_words() for one in findings if one.refuses]
    listed = next((one for one in files if one.path == LIST), None)
    if faults or listed is None:
        return ProjectHooks(str(folder), digest, files, {}, faults[0] if faults else f"there is no file {LIST}")
    try:
        hooks = msgspec.convert(tomllib.loads(listed.data.decode()), dict[str, HookSettings])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        return ProjectHooks(str(folder), digest, files, {}, f"{LIST}: {one_line(visible(str(error)), 200)}")
    fault = "" if 0 < len(hooks) <= _MOST_HOOKS else f"{LIST} has {len(hooks)} hooks, of 1 to {_MOST_HOOKS}"
    if any(hook.cwd for hook in hooks.values()):
        fault = f"{LIST} names a cwd, and hooks of a project begin beside their own files"
    return ProjectHooks(str(folder), digest, files, {} if fault else hooks, fault)


def pin(found: ProjectHooks, own_home: Path) -> None:
    """Lay a copy out, whole or not at all; nothing happens where it is already."""
    at = pinned_folder(own_home, found.digest)
    if is_folder(at):
        return
    make_private(at.parent, exist_ok=True)
    unfinished = at.parent / f"{sortable_id()}.part"
    make_private(unfinished)
    for one in found.files:
        path = unfinished / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.data)
        path.chmod(0o500 if one.executable else 0o400)
    crash_point("hook.pinned")
    unfinished.rename(at)


def pinned_hooks(own_home: Path, path: str, digest: str) -> dict[str, RunHook]:
    """The hooks that were seen at a path in this version. Where the copy is not as it was, every call is refused: a
    guard that cannot be run does.
    """
    at, project = pinned_folder(own_home, digest), project_of(Path(path))
    found = read_hooks(at)
    if found.digest != digest or found.fault:
        why = f"the hooks of {path} that you trusted are not whole any more: angelia trust {shlex.quote(path)}"
        refusing = HookSettings("before-call", f"echo {shlex.quote(why)} >&2; exit 2")
        return {f"hooks@{project}": RunHook(refusing)}
    return {f"{name}@{project}": RunHook(hook, at) for name, hook in found.hooks.items()}


async def hooks_in_force(
    trusted: TrustedFiles, own_home: Path, workspace: Path | None
) -> tuple[dict[str, RunHook], list[str]]:
    """The hooks that hold for whoever works in a folder of this machine (None: elsewhere), and what is to be told."""
    if workspace is None:
        return {}, []
    here = workspace.resolve()
    said = [one for one in await trusted.list(OWNER) if not one.where and is_hook_folder(Path(one.path))]
    about = [one for one in said if here.is_relative_to(project_of(Path(one.path)))]
    refused = {(one.path, one.version) for one in about if not one.trusted}
    pinned = {one.path: one.version for one in about if one.trusted}

    def looked() -> tuple[dict[str, RunHook], list[ProjectHooks]]:
        hooks: dict[str, RunHook] = {}
        for path, digest in pinned.items():
            hooks |= pinned_hooks(own_home, path, digest)
        return hooks, [read_hooks(folder) for folder in hook_folders(workspace, own_home)]

    hooks, found = await asyncio.to_thread(looked)
    return hooks, news_of([one for one in found if (one.path, one.digest) not in refused], pinned)


def news_of(found: Sequence[ProjectHooks], pinned: Mapping[str, str]) -> list[str]:
    """What a person is to know of the hooks of their project; `pinned` has the digest of what they saw, by path."""
    news = []
    for one in found:
        seen = pinned.get(one.path)
        how = f"angelia trust {shlex.quote(one.path)}"
        if seen is None:
            news.append(f"{one.path} holds hooks that the person has not seen; they are not run. {how}")
        elif seen != one.digest:
            news.append(f"The hooks in {one.path} have changed; those that the person has seen are run on. {how}")
    for path in pinned:
        if not is_folder(path):
            then = f"angelia trust --forget {shlex.quote(path)}"
            news.append(f"The hooks of {path} are gone from there; those that the person has seen are run on. {then}")
    return [visible(one) for one in news]
