"""Which skills a person has seen and said yes to, each with the very files that they saw."""

import msgspec
from msgspec import Struct

from angelia.core.crash import crash_point
from angelia.core.principal import Principal
from angelia.store.tables.key_value import KeyValue

_ANSWER, _FILES = "seen-skill:", "seen-skill-files:"


class SkillAnswer(Struct, frozen=True):
    """What `owner` said of the skill in the folder `path`, or of the one that a server serves under this name and URI,
    whose files had this digest: whether it is `pinned`.

    `at` and `used`, when it was used last, are Unix milliseconds.
    """

    owner: Principal
    path: str
    name: str
    digest: str
    pinned: bool
    at: int
    used: int = 0


class SeenFile(Struct, frozen=True):
    """A file as it was seen: `sha256` in hex, `text` its words, None for what has none."""

    path: str
    executable: bool
    size: int
    sha256: str
    text: str | None


class SeenSkills:
    """The last answer for each skill; other files of it are another question."""

    def __init__(self, values: KeyValue) -> None:
        self._values = values

    async def list(self, owner: Principal) -> list[SkillAnswer]:
        """What this person said of each skill, a no as well, in order of the paths."""
        return [one for _, one in await self._values.all_as(SkillAnswer, f"{_ANSWER}{owner}\n")]

    async def files(self, digest: str) -> tuple[SeenFile, ...]:
        """The files that have this digest together; none where nobody said yes to them."""
        return await self._values.get_as(tuple[SeenFile, ...], f"{_FILES}{digest}") or ()

    async def put(self, answer: SkillAnswer, files: tuple[SeenFile, ...]) -> None:
        """Remember an answer in place of an earlier one; the files first, so that no yes is without what it is for."""
        if files:
            await self._values.put(f"{_FILES}{answer.digest}", msgspec.json.encode(files).decode())
            crash_point("skill.files_kept")
        await self._values.put(_key(answer.owner, answer.path), msgspec.json.encode(answer).decode())
        await self._sweep()

    async def forget(self, owner: Principal, path: str) -> bool:
        """Forget what was said of a skill, so that it is new again; False if nothing was."""
        key = _key(owner, path)
        known = await self._values.get(key)
        await self._values.forget(key)
        await self._sweep()
        return bool(known)

    async def _sweep(self) -> None:
        """Let go of files that no answer is about."""
        answers = await self._values.all_as(SkillAnswer, _ANSWER)
        kept = {f"{_FILES}{one.digest}" for _, one in answers if one.pinned}
        for key, _ in await self._values.all(_FILES):
            if key not in kept:
                await self._values.forget(key)


def _key(owner: Principal, path: str) -> str:
    return f"{_ANSWER}{owner}\n{path}"
