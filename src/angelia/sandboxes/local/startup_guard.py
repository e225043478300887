"""What of the workspace is only read, since it decides what runs outside of every sandbox.

That is the code from which Angelia runs, and start-up files of a home that really lie there (a folder of dotfiles that
is linked into the home): a command that could write `~/dotfiles/bashrc`, to which `~/.bashrc` is a link, would run
outside at the next shell.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from angelia.core.startup_files import STARTUP_FILES
from angelia.sandboxes.local.confinement import Share
from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.own_code import own_code
from angelia.sandboxes.port import AccessRefused


def startup_targets(home: Path, folder: Path) -> tuple[Path, ...]:
    """What the start-up files of `home` lead to beneath `folder`, links resolved, outermost first.

    Some 150 looks at names, most of which are nowhere; 0.2 ms.
    """
    found: set[Path] = set()
    for name in STARTUP_FILES:
        named = os.path.join(home, name)  # noqa: PTH118 - as text: there are so many
        if not os.path.lexists(named):
            continue
        try:
            real = Path(os.path.realpath(named, strict=True))
        except OSError:
            continue  # it leads nowhere
        if real != folder and real.is_relative_to(folder):
            found.add(real)
    return tuple(sorted(found, key=lambda path: (len(path.parts), path)))


def only_read(home: Path, folder: Path) -> tuple[Path, ...]:
    """All of it beneath `folder`, outermost first."""
    found = {*startup_targets(home, folder), *own_code(folder)} - {folder}
    return tuple(sorted(found, key=lambda path: (len(path.parts), path)))


def startup_guard(folder: Path, targets: Iterable[Path]) -> Iterator[Share]:
    """Mounts that keep them read-only, outer ones first.

    The folders on the way are mounts of their own, since what is a mount cannot be renamed and replaced.
    """
    steps: dict[Path, None] = {}
    ends = list(targets)
    for target in ends:
        steps |= dict.fromkeys(parent for parent in reversed(target.parents) if folder in parent.parents)
    yield from (Share(step, writable=True) for step in steps if not any(step.is_relative_to(end) for end in ends))
    yield from (Share(end) for end in ends)


def refuse_startup(place: Path, targets: Iterable[Path], path: str) -> None:
    """Refuse to write at `place`, where a path led.

    Raises:
        AccessRefused: a start-up file of the person's home is a link to it, or Angelia runs from it.
    """
    if any(place.is_relative_to(target) for target in targets):
        raise AccessRefused(
            f"{shown(path)} is not written.",
            "It decides what runs outside: a start-up file of the home is a link to it, or Angelia runs from it.",
            "A person can make this change outside the sandbox.",
        )
