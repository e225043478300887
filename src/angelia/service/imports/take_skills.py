"""Takes over skills: their folders are copied, and no model sees one before a person has."""

import asyncio
from pathlib import Path

from angelia.core.crash import crash_point
from angelia.core.errors import BadInput, fault_words
from angelia.service.imports.account import FileVerdict
from angelia.service.imports.old_home import OldHome, UnreadableFile
from angelia.service.imports.port import OldAgent
from angelia.service.imports.taking import ImportTarget
from angelia.service.skills.where import folders_for
from angelia.service.skills.write_skill import write_skill
from angelia.skills.find import MOST_SKILLS
from angelia.skills.skill import Skill, read_skill


class SkillTaker:
    """Those of one old home; each is looked at once, however many files it has."""

    def __init__(self, agent: OldAgent, home: OldHome, target: ImportTarget) -> None:
        self._agent, self._home = agent, home
        self._target = target
        self._seen: dict[str, tuple[FileVerdict, str]] = {}
        self._own = {one.path.resolve() for one in folders_for(None, target.home)}
        self.taken = 0

    async def take(self, folder: str) -> tuple[FileVerdict, str]:
        """What became of the skill in this folder of the old home."""
        if folder not in self._seen:
            self._seen[folder] = await asyncio.to_thread(self._take, folder)
            crash_point("import.skill")
        return self._seen[folder]

    def _take(self, folder: str) -> tuple[FileVerdict, str]:
        path = self._home.path / folder
        if path.parent.resolve() in self._own:
            return FileVerdict.LEFT, "skills are looked for there already: angelia skills review"
        try:
            shipped = self._agent.shipped(self._home, path)
        except UnreadableFile:
            shipped = False
        if shipped:
            return FileVerdict.LEFT, f"a skill that {self._agent.title} brings, as it came"
        skill = read_skill(path)
        if not skill.usable:
            refusing = next(one for one in skill.findings if one.refuses)
            return FileVerdict.LEFT, f"a skill that breaks the rules of the standard: {refusing.in_words()}"
        to = self._target.home / "skills" / path.name
        if to.exists():
            same = read_skill(to).digest == skill.digest
            what = f"the skill {path.name}"
            return (
                (FileVerdict.TAKEN, f"{what}, here already")
                if same
                else (
                    FileVerdict.LEFT,
                    f"{what}: another one of this name is here already",
                )
            )
        if self.taken >= MOST_SKILLS:
            return FileVerdict.LEFT, f"{MOST_SKILLS} skills are as many as are looked at"
        if not self._target.dry:
            try:
                _write(to, skill)
            except (OSError, BadInput) as error:
                return FileVerdict.LEFT, f"the skill {path.name} could not be written: {fault_words(error)}"
        self.taken += 1
        return FileVerdict.TAKEN, f"the skill {path.name}, which you have not seen"


def _write(to: Path, skill: Skill) -> None:
    to.parent.mkdir(mode=0o700, exist_ok=True)
    write_skill(to, skill)
