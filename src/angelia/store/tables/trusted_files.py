"""Which files of instructions a person trusts, each in one version."""

import msgspec
from msgspec import Struct

from angelia.core.principal import Principal
from angelia.store.tables.key_value import KeyValue

_PREFIX = "trusted-file:"


class FileAnswer(Struct, frozen=True):
    """What `owner` said of the file at `path`, in the version with this SHA-256: whether it is `trusted`.

    `where` is empty for this machine, else the spec of the sandbox in which the path is. `at` is Unix milliseconds.
    """

    owner: Principal
    where: str
    path: str
    version: str
    trusted: bool
    at: int


class TrustedFiles:
    """The last answer for each file; another version of it is another question."""

    def __init__(self, values: KeyValue) -> None:
        self._values = values

    async def answer(self, owner: Principal, where: str, path: str) -> FileAnswer | None:
        """What this person said of the file the last time, of whichever version."""
        return await self._values.get_as(FileAnswer, _key(owner, where, path))

    async def put(self, answer: FileAnswer) -> None:
        """Remember an answer, in place of an earlier one about the same file."""
        key = _key(answer.owner, answer.where, answer.path)
        await self._values.put(key, msgspec.json.encode(answer).decode())

    async def forget(self, owner: Principal, where: str, path: str) -> bool:
        """Forget what was said of a file, so that it is asked about again; False if nothing was."""
        known = await self.answer(owner, where, path)
        await self._values.forget(_key(owner, where, path))
        return known is not None

    async def list(self, owner: Principal) -> list[FileAnswer]:
        """What this person said of each file, a no as well, in order of the paths."""
        return [one for _, one in await self._values.all_as(FileAnswer, f"{_PREFIX}{owner}\n")]


def _key(owner: Principal, where: str, path: str) -> str:
    return f"{_PREFIX}{owner}\n{where}\n{path}"
