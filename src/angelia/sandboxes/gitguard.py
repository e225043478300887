"""What of a Git repository must not be written: the files that make Git run programs later, outside.

Git runs `.git/hooks/*` and obeys programs named in `.git/config` (githooks(5), git-config(1) `core.fsmonitor`,
`core.hooksPath`, `filter.*`). A confined command that could write them would act unconfined at the person's next
`git status`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from angelia.sandboxes.confine import Share
from angelia.sandboxes.port import AccessRefused

_GUARDED = frozenset({"hooks", "config", "config.worktree", "commondir"})
_DEEPEST = 2
_MOST = 8


def refuse_git_internals(names: Sequence[str], path: str) -> None:
    """Refuse to write there; `names` are the folders from the workspace to the file, links resolved.

    Raises:
        AccessRefused: the file lies in `.git/hooks`, or is one of Git's own settings.
    """
    folded = [name.casefold() for name in names]
    for outer, inner in pairwise(folded):
        if outer == ".git" and inner in _GUARDED:
            raise AccessRefused(
                f"{path!r} is not written.",
                "Git runs what stands in .git/hooks and .git/config, so a sandbox may only read them.",
                "A person can make this change outside the sandbox.",
            )


def repositories(workspace: Path) -> tuple[Path, ...]:
    """Repositories below the workspace, at most two levels down and at most eight: each costs three mounts.

    A look at no more than 300 folders; the workspace itself is not among them.
    """
    found: list[Path] = []
    level, looks = [workspace], 300
    for _ in range(_DEEPEST):
        inner = [path for folder in level[:looks] for path in _subfolders(folder)]
        looks -= len(level)
        found += [folder for folder in inner if (folder / ".git").exists()]
        level = inner
    return tuple(found[:_MOST])


def guarded(places: Iterable[Path]) -> Iterator[Share]:
    """Mounts that keep hooks and settings read-only, wherever one of `places` is a repository; outer ones first.

    `.git` is a mount of its own, because otherwise it could be renamed and another put in its place.
    """
    for git in (place / ".git" for place in places):
        if git.is_symlink() or not git.exists():
            continue
        hooks, config = git / "hooks", git / "config"
        if git.is_file() or hooks.is_symlink() or config.is_symlink():
            # a work tree's pointer to its real .git, or links, which no mount can hold in place
            yield Share(git)
            continue
        with suppress(OSError):  # what we may not create, the command may not either
            hooks.mkdir(exist_ok=True)
            config.touch(exist_ok=True)
        yield Share(git, writable=True)
        yield from (Share(path) for path in (hooks, config) if path.exists())


def git_guard(places: Iterable[Path]) -> Iterator[str]:
    """`guarded` as options of bubblewrap."""
    for share in guarded(places):
        yield from ("--bind" if share.writable else "--ro-bind", str(share.path), str(share.path))


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if not entry.name.startswith(".")
                and entry.name != "node_modules"
                and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []  # not readable for us, nor for the command
