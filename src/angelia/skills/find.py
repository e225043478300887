"""Finds the skills in the folders where they may lie."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.path_queries import is_file, real_path
from angelia.skills.finding import SkillFinding
from angelia.skills.folder import NAMES
from angelia.skills.places import SkillFolder, SkillOwner
from angelia.skills.skill import Skill

MOST_SKILLS = 200
"""That are looked at in one of these folders."""


class FoundSkill(Struct, frozen=True):
    """A skill, and whose it is."""

    skill: Skill
    of: SkillOwner


def find_skills(folders: Sequence[SkillFolder], read: Callable[[Path], Skill]) -> list[FoundSkill]:
    """The skills in these folders, each once, in their order and in order of their names; `read` reads one."""
    found: dict[str, FoundSkill] = {}
    for folder in folders:
        for path in _skills_in(folder.path):
            real = real_path(path)
            if real in found:
                continue
            skill = read(path)
            if folder.within and not Path(real).is_relative_to(real_path(folder.within)):
                out = SkillFinding("", 0, f"it is a link that leads out of {folder.within}")
                skill = replace(skill, findings=(*skill.findings, out))
            found[real] = FoundSkill(skill, folder.of)
    return [*found.values()]


def _skills_in(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:  # most of them are not there
        return
    shown = 0
    for name in names:
        if any(is_file(folder / name / file) for file in NAMES) and shown < MOST_SKILLS:
            shown += 1
            yield folder / name
