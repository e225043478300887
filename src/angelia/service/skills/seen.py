"""Which of the skills that lie there a person has seen, as they are now."""

import asyncio
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.days import DAY_MS
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import Clock
from angelia.core.principal import Principal
from angelia.service.skills.where import folders_for
from angelia.skills.find import FoundSkill, find_skills
from angelia.skills.folder import SkillContent, fingerprint
from angelia.skills.places import SkillOwner
from angelia.skills.skill import Skill, read_skill
from angelia.store.tables.seen_skills import SeenFile, SeenSkills, SkillAnswer

UNUSED_MS = 60 * DAY_MS
"""Without use for so long, a skill is no longer named in the prompt; it stays where it is, and stays pinned."""


class SkillState(StrEnum):
    """How a skill stands to what its person saw."""

    PINNED = "pinned"
    NEW = "new"
    CHANGED = "changed"
    DECLINED = "declined"
    UNUSABLE = "unusable"


class JudgedSkill(Struct, frozen=True):
    """A skill, what its person said of it the last time, and what follows from it.

    `unused`: pinned, and not used for `UNUSED_MS`. `behind` is the folder of another pinned skill of the same name that
    counts in its place, empty for none.
    """

    skill: Skill
    of: SkillOwner
    state: SkillState
    answer: SkillAnswer | None = None
    unused: bool = False
    behind: str = ""

    @property
    def unseen(self) -> bool:
        """Whether the person is to be asked about it."""
        return self.state in (SkillState.NEW, SkillState.CHANGED)


class Skills:
    """The skills of one home. What was read is kept for as long as nothing was written to its folder."""

    def __init__(self, seen: SeenSkills, own_home: Path, clock: Clock) -> None:
        """`own_home` is Angelia's own."""
        self._seen = seen
        self._own_home = own_home
        self._clock = clock
        self._read: dict[Path, tuple[tuple[object, ...], Skill]] = {}

    async def look(self, owner: Principal, workspace: Path | None) -> list[JudgedSkill]:
        """The skills that there are for somebody who works in a folder of this machine, or in none of it."""
        found = await asyncio.to_thread(find_skills, folders_for(workspace, self._own_home), self._reading)
        return _in_order(await self.judge(owner, found))

    async def judge(self, owner: Principal, found: Iterable[FoundSkill]) -> list[JudgedSkill]:
        """How this person stands to skills, each for itself."""
        answers = {one.path: one for one in await self._seen.list(owner)}
        return [self._judged(one, answers.get(one.skill.path)) for one in found]

    async def named(self, owner: Principal, workspace: Path | None, name: str) -> JudgedSkill:
        """The one of this name or folder.

        Raises:
            NotFound: there is none.
            BadInput: there are several.
        """
        there = await self.look(owner, workspace)
        path = str(Path(name).expanduser().absolute())
        found = [one for one in there if path == one.skill.path] or [one for one in there if one.skill.called == name]
        if not found:
            raise NotFound(
                f"There is no skill {name!r} here.", then="`angelia skills list` shows those that there are."
            )
        if len(found) > 1:
            raise BadInput(
                f"There are {len(found)} skills {name!r}.", then=f"Name one by its folder: {found[0].skill.path}"
            )
        return found[0]

    async def pin(self, owner: Principal, skill: Skill) -> None:
        """A yes to a skill as it was read, and was shown; what stands there by now may be another again.

        Raises:
            BadInput: something refuses it.
        """
        if not skill.usable:
            first = next(one for one in skill.findings if one.refuses)
            raise BadInput(f"The skill {skill.called} is not pinned: {first.in_words()}.")
        now = self._clock()
        answer = SkillAnswer(owner, skill.path, skill.name, skill.digest, pinned=True, at=now, used=now)
        await self._seen.put(answer, seen_files(skill.content))

    async def decline(self, owner: Principal, skill: Skill) -> None:
        """A no to a skill as it was shown: it is not asked about again until it changes."""
        answer = SkillAnswer(owner, skill.path, skill.called, skill.digest, pinned=False, at=self._clock())
        await self._seen.put(answer, ())

    async def unpin(self, owner: Principal, path: str) -> bool:
        """Take a yes, or a no, back: it is new again. False if nothing was said of it."""
        return await self._seen.forget(owner, path)

    async def answers(self, owner: Principal) -> list[SkillAnswer]:
        """What was said of skills, also of those that are gone."""
        return await self._seen.list(owner)

    async def files_seen(self, judged: JudgedSkill) -> tuple[SeenFile, ...]:
        """The files that the person saw the last time they said yes."""
        return await self._seen.files(judged.answer.digest) if judged.answer and judged.answer.pinned else ()

    async def used(self, judged: JudgedSkill) -> None:
        """It was used now; noted once a day."""
        now = self._clock()
        if judged.answer and now - judged.answer.used > DAY_MS:
            await self._seen.put(replace(judged.answer, used=now), seen_files(judged.skill.content))

    def _reading(self, folder: Path) -> Skill:
        now = fingerprint(folder)
        known = self._read.get(folder)
        if known and known[0] == now:
            return known[1]
        skill = read_skill(folder)
        self._read[folder] = now, skill
        return skill

    def _judged(self, found: FoundSkill, answer: SkillAnswer | None) -> JudgedSkill:
        skill = found.skill
        same = answer is not None and answer.digest == skill.digest
        if not skill.usable:
            state = SkillState.UNUSABLE
        elif answer is None or (not answer.pinned and not same):
            state = SkillState.NEW
        elif not same:
            state = SkillState.CHANGED
        else:
            state = SkillState.PINNED if answer.pinned else SkillState.DECLINED
        unused = state is SkillState.PINNED and answer is not None and self._clock() - answer.used > UNUSED_MS
        return JudgedSkill(skill, found.of, state, answer, unused)


def seen_files(content: SkillContent) -> tuple[SeenFile, ...]:
    """Files as they are remembered with a yes."""
    return tuple(
        SeenFile(one.path, one.executable, len(one.data), sha256(one.data).hexdigest(), one.text)
        for one in content.files
    )


def _in_order(judged: list[JudgedSkill]) -> list[JudgedSkill]:
    """Of several pinned skills of one name the first counts: the project's before the person's."""
    first: dict[str, str] = {}
    found = []
    for one in judged:
        behind = first.setdefault(one.skill.name, one.skill.path) if one.state is SkillState.PINNED else ""
        found.append(replace(one, behind=behind if behind != one.skill.path else ""))
    return found
