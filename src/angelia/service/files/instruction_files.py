"""Finds the file of instructions that a folder has, and reads it as a tool would have to: by the policy, links judged.

On this machine it is the nearest one between the workspace and the root of its repository, and nothing above that; a
sandbox elsewhere is asked for one in its workspace alone.
"""

import posixpath
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from angelia.context.prompt.facts import NoFolderFile, UnusableFile
from angelia.core.errors import AngeliaError
from angelia.policy.situation import Situation
from angelia.policy.verdict import Allow
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import (
    AccessRefused,
    FileKind,
    FileTooLarge,
    Judged,
    NoSuchFile,
    NotAFile,
    Sandbox,
    SandboxGone,
    Unreachable,
)
from angelia.service.places.presets import Chosen

NAMES = ("AGENTS.md", "CLAUDE.md")
"""What such files are called; the second is looked for where there is none of the first (https://agents.md)."""

MOST_READ = 1_000_000
"""Bytes of a file that is looked at; its hash is one of all its bytes."""


class InstructionSearch(Struct, frozen=True):
    """Where to look: in these `folders`, nearest first, through a sandbox whose workspace is `root`.

    `where` is empty for this machine, else the spec of the sandbox.
    """

    where: str
    root: str
    folders: tuple[str, ...]
    open_sandbox: Callable[[], Sandbox]
    own_home: Path


class FoundInstructions(Struct, frozen=True):
    """A file that is there, whole."""

    path: str
    data: bytes


async def instruction_search(
    at: Chosen, workspace: str, sandbox: Sandbox, home: Path, state: Path
) -> InstructionSearch:
    """Where a conversation's instructions lie that works in `workspace` of `sandbox`; `home` is Angelia's own.

    Raises:
        SandboxError: the workspace is gone, or the sandbox cannot be had.
    """
    if not on_this_machine(at):
        inside = posixpath.normpath((await sandbox.describe()).workspace)
        return InstructionSearch(at.spec, inside, (inside,), lambda: sandbox, home)
    return search_here(Path(workspace), home, state)


def search_here(workspace: Path, home: Path, state: Path) -> InstructionSearch:
    """Where the instructions of a folder of this machine lie; no folder is named that holds none."""
    workspace = workspace.resolve()
    root = repository_of(workspace, home)
    folders = [workspace, *workspace.parents]
    within = tuple(str(folder) for folder in folders if folder.is_relative_to(root) and _holds(folder, *NAMES))

    def reader() -> LocalSandbox:  # it only looks: nothing is run in it
        return LocalSandbox(root, home=home, state=state, confine="off")

    return InstructionSearch("", str(root), within, reader, home)


def repository_of(workspace: Path, home: Path) -> Path:
    """The root of the repository that a folder lies in, or the folder itself where there is none."""
    above = (Path("/"), home.resolve())
    for folder in (workspace, *workspace.parents):
        if folder in above:
            break
        if _holds(folder, ".git"):
            return folder
    return workspace


def on_this_machine(at: Chosen) -> bool:
    """Whether a conversation there works in a folder of this machine: with it, or with one that is bound in."""
    kind = at.spec.partition(":")[0]
    bound = kind == "docker" and getattr(at.settings.get(kind), "workspace", "") == "bind"
    return kind in ("local", "apptainer") or bound


async def find_instructions(search: InstructionSearch) -> FoundInstructions | UnusableFile | NoFolderFile:
    """The file that counts there.

    Raises:
        SandboxGone, Unreachable: the sandbox does not answer.
        NoSuchFile, AccessRefused: the workspace is gone, or cannot be one.
    """
    if not search.folders:
        return NoFolderFile()
    sandbox = search.open_sandbox()
    for path in _candidates(search.folders):
        try:
            there = await sandbox.stat(path)
            if there.kind is FileKind.FOLDER:
                continue
            return await _read(search, sandbox, path)
        except NoSuchFile:
            continue
        except (SandboxGone, Unreachable):
            raise
        except AngeliaError as error:
            return UnusableFile(path, _why(error, search.root))
    return NoFolderFile()


def _holds(folder: Path, *names: str) -> bool:
    """Whether something of one of these names stands in a folder, as far as we may look."""
    for name in names:
        with suppress(OSError):
            (folder / name).lstat()
            return True
    return False


def _candidates(folders: Iterable[str]) -> Iterable[str]:
    return [posixpath.join(folder, name) for name in NAMES for folder in folders]


async def _read(search: InstructionSearch, sandbox: Sandbox, path: str) -> FoundInstructions | UnusableFile:
    from angelia.policy.path_location import beneath  # most folders have no such file, and the rules need not be read
    from angelia.policy.paths import may_read
    from angelia.tools.files.paths import resolve

    led = await resolve(sandbox, path)
    if not beneath(led, search.root):
        return UnusableFile(path, f"it leads out of {search.root}, to {led}")
    situation = Situation(search.root, str(Path.home().resolve()), str(search.own_home.resolve()))
    verdict = may_read(path, led, situation)
    if not isinstance(verdict, Allow):
        return UnusableFile(path, verdict.reason.rstrip("."))
    try:
        data = b"".join([chunk async for chunk in sandbox.get(Judged(led), limit=MOST_READ)])
    except NoSuchFile:
        return UnusableFile(path, f"it leads to {led}, where nothing is")
    return FoundInstructions(path, data)


def _why(error: AngeliaError, root: str) -> str:
    match error:
        case FileTooLarge():
            return f"it is larger than {MOST_READ / 1e6:.0f} MB"
        case NotAFile():
            return "it is no ordinary file"
        case AccessRefused():
            return f"it may not be read, or leads out of {root}"
        case _:
            return error.what.rstrip(".")
