"""What of a Git repository must not be written: the files that make Git run programs later, outside.

Git runs `.git/hooks/*` and obeys programs named in `.git/config` (githooks(5), git-config(1) `core.fsmonitor`,
`core.hooksPath`, `filter.*`). A confined command that could write them would act unconfined at the person's next
`git status`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from angelia.core.text import one_line
from angelia.path_queries import exists, is_file, is_link
from angelia.sandboxes.guard.autorun import AutorunFound, AutorunKind, judge, kind_of, looks_bare
from angelia.sandboxes.guard.fingerprint import LARGEST
from angelia.sandboxes.guard.reasons import BECAUSE
from angelia.sandboxes.local.confinement import Share
from angelia.sandboxes.port import AccessRefused

_GUARDED = frozenset({"hooks", "config", "config.worktree", "commondir"})
_DEEPEST = 2
_MOST = 8


def refuse_git_internals(names: Sequence[str], path: str, folder: Path | None = None) -> None:
    """Refuse to write there; `names` are the folders from the workspace to the file, links resolved.

    `folder` is where the file would lie: a folder that Git would take for a repository counts, whatever its name.

    Raises:
        AccessRefused: Git would run the file, or obey it as one of its own settings, or find a repository by it.
    """
    folded = [name.casefold() for name in names]
    within = folded[folded.index(".git") + 1 :] if ".git" in folded else None
    if within is not None and (not within or _decides(within)):
        raise _refusal(path)
    if folder is not None and _decides(folded[-2:]):
        above = folder.parent if folder.name.casefold() in ("hooks", "info") else folder
        for place in {folder, above}:
            with suppress(OSError):
                if looks_bare([entry.name for entry in place.iterdir()]):
                    raise _refusal(path)


def refuse_autorun(names: Sequence[str], path: str) -> None:
    """Refuse to write what programs outside run or obey as soon as the folder is entered or opened.

    Raises:
        AccessRefused: it is such a file.
    """
    if _kind(names) in (AutorunKind.SCRIPT, AutorunKind.HGRC, AutorunKind.HOME):
        raise AccessRefused(
            f"{path!r} is not written.",
            "Programs outside of the sandbox run it as soon as the folder is entered or opened.",
            "A person can make this change.",
        )


def content_counts(names: Sequence[str]) -> bool:
    """Whether what is written there is judged by `refuse_autorun_content`."""
    return _kind(names) in (AutorunKind.DOTENV, AutorunKind.SETTINGS)


def refuse_autorun_content(names: Sequence[str], path: str, stands: bytes, new: bytes) -> None:
    """Refuse what would make programs run others as soon as the folder is entered or opened, and does not stand there.

    Raises:
        AccessRefused: the content does.
    """
    kind = _kind(names)
    assert kind is not None
    file = "/".join(names)
    before, after = (
        judge(kind, AutorunFound(file, content=content, whole=len(content) <= LARGEST), "").risks
        for content in (stands, new)
    )
    if risks := sorted(after - before):
        raise AccessRefused(
            f"{path!r} is not written.",
            f"{BECAUSE[kind][0].upper()}{BECAUSE[kind][1:]}: `{one_line(risks[0], 120)}`.",
            "Write it without that; a person can add it.",
        )


def _kind(names: Sequence[str]) -> AutorunKind | None:
    return kind_of("".join(f"/{name}" for name in names[:-1]), names[-1]) if names else None


def _decides(within: Sequence[str]) -> bool:
    return not _GUARDED.isdisjoint(within) or list(within[-2:]) == ["info", "attributes"]


def _refusal(path: str) -> AccessRefused:
    return AccessRefused(
        f"{path!r} is not written.",
        "Git runs what stands in its hooks and settings, so a sandbox may only read them.",
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
        found += [folder for folder in inner if exists(folder / ".git")]
        level = inner
    return tuple(found[:_MOST])


def guarded(places: Iterable[Path]) -> Iterator[Share]:
    """Mounts that keep hooks and settings read-only, wherever one of `places` is a repository; outer ones first.

    `.git` is a mount of its own, because otherwise it could be renamed and another put in its place.
    """
    for git in (place / ".git" for place in places):
        if is_link(git) or not exists(git):
            continue
        hooks, config = git / "hooks", git / "config"
        if is_file(git) or is_link(hooks) or is_link(config):
            # a work tree's pointer to its real .git, or links, which no mount can hold in place
            yield Share(git)
            continue
        with suppress(OSError):  # what we may not create, the command may not either
            hooks.mkdir(exist_ok=True)
            config.touch(exist_ok=True)
        yield Share(git, writable=True)
        yield from (Share(path) for path in (hooks, config) if exists(path))


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
