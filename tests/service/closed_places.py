"""Whatever reads a folder that somebody works in, beside places that are closed, lead nowhere, or say nothing.

A process of its own, since it has to be nobody special: prints a line for each reader that raised.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from angelia.core.errors import AngeliaError
from angelia.faces.words.mentions import mentioned_files
from angelia.path_queries import is_folder, is_link
from angelia.sandboxes.guard.guard import Guard
from angelia.sandboxes.local.git_guard import guarded, repositories
from angelia.service.delegation.preset_files import find_preset_files
from angelia.service.files.instruction_files import search_here
from angelia.service.hooks.project_hooks import hook_folders, read_hooks
from angelia.service.notes.scopes import git_origin
from angelia.service.skills.where import any_folder, folders_for
from angelia.skills.find import find_skills
from angelia.skills.skill import read_skill

PLACES = (
    *(".agents", ".agents/skills", ".agents/skills/tea", ".agents/skills/tea/SKILL.md"),
    *(".angelia", ".angelia/hooks", ".angelia/hooks/hooks.toml", ".angelia/agents", ".angelia/agents/a.md"),
    *(".git", ".git/config", ".git/commondir", ".git/hooks", "AGENTS.md", ".envrc"),
)


def _closed_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0)


SHAPES: Mapping[str, Callable[[Path], None]] = {
    "a closed folder": _closed_folder,
    "a link into a closed one": lambda path: path.symlink_to("/proc/1/fd/3"),
    "a link to a name that is too long": lambda path: path.symlink_to("a" * 300),
    "a link out of all that is seen": lambda path: path.symlink_to("/proc/1/root"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a FIFO": os.mkfifo,
}


def readers(folder: Path, home: Path) -> Mapping[str, Callable[[], object]]:
    """Each by its name."""
    return {
        "skills": lambda: (any_folder(folder, home), find_skills(folders_for(folder, home), read_skill)),
        "hooks": lambda: [read_hooks(one) for one in hook_folders(folder, home)],
        "presets": lambda: find_preset_files(folder, home),
        "instructions": lambda: search_here(folder, home, home / "run"),
        "origin": lambda: git_origin(folder),
        "mounts": lambda: [*guarded([folder, *repositories(folder)])],
        "the guard": lambda: Guard(folder, home).see(),
        "a mention": lambda: [mentioned_files(f"@{place}", folder) for place in PLACES],
    }


def main(root: Path) -> None:
    """Lay each shape out at each place, and let everybody look."""
    home = root / "home"
    home.mkdir()
    os.environ["HOME"] = str(home)
    for number, (place, shape) in enumerate((place, shape) for place in PLACES for shape in SHAPES):
        folder = root / str(number)
        path = folder / place
        path.parent.mkdir(parents=True)
        if place.startswith(".git/"):
            (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
        SHAPES[shape](path)
        for name, look in readers(folder, home / ".angelia").items():
            sys.stderr.write(f"{place} {shape} {name}\n")
            try:
                look()
            except AngeliaError:  # which says what cannot be looked at
                continue
            except (OSError, ValueError, RuntimeError) as error:
                sys.stdout.write(f"{name}: {shape} at {place}: {error!r}\n")
        if is_folder(path) and not is_link(path):
            path.chmod(0o700)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
