"""What a message names by an @: files, offered while they are typed and attached when it is sent, and resources."""

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from angelia.core.errors import AngeliaError
from angelia.core.mentions import can_be_mentioned, mentioned_names
from angelia.path_queries import is_file
from angelia.sandboxes.port import Sandbox

if TYPE_CHECKING:
    from angelia.tools.mcp.served import ServedResource

_BEGUN = re.compile(r'(?<!\S)@(?:"([^"\n]*)|([^\s"]*))\Z')

_FRESH_SECONDS = 3.0
"""For how long a list of files counts as new."""

_MOST_LOOKED_AT = 5_000
"""Files of which size and age are looked up; beyond those, all stand in the order of their names."""


class MentionableFile(Struct, frozen=True):
    """A file of the workspace: its path in it, bytes (-1 if nobody knows) and when it was changed, Unix seconds."""

    path: str
    size: int = -1
    changed: float = 0.0


def begun_mention(text: str) -> str | None:
    """What of a path is typed behind an @ at the end of a text; None where there is no @.

    >>> begun_mention("look at @har"), begun_mention("ann@home"), begun_mention('@"my gar')
    ('har', None, 'my gar')
    """
    found = _BEGUN.search(text)
    return None if found is None else found[1] or found[2] or ""


def mention_of(path: str) -> str:
    """A path as it is named in a message.

    >>> mention_of("a.txt"), mention_of("my garden.md")
    ('@a.txt', '@"my garden.md"')
    """
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def mentioned_files(text: str, folder: Path) -> tuple[Path, ...]:
    """The files that a message names and that are there, each once; any other word behind an @ is a word."""
    files = (next(_existing(ways, folder), None) for ways in mentioned_names(text))
    return tuple(dict.fromkeys(file for file in files if file))


def _existing(ways: Iterable[str], folder: Path) -> Iterator[Path]:
    for one in ways:
        try:
            path = folder / Path(one).expanduser()
            if one and is_file(path):
                yield path
        except (OSError, ValueError, RuntimeError):  # a name that no file can have, or ~ of nobody
            continue


def ranked(begun: str, files: Iterable[MentionableFile]) -> list[MentionableFile]:
    """The files whose paths hold these letters in this order: best first, and of equal ones the newest.

    >>> [one.path for one in ranked("har", [MentionableFile("src/shared.py"), MentionableFile("harvest.csv")])]
    ['harvest.csv', 'src/shared.py']
    """
    letters = begun.lower()
    loosely = re.compile(".*?".join(map(re.escape, letters)))
    found = [(rank, one) for one in files if (rank := _rank(letters, loosely, one.path.lower())) is not None]
    return [one for _, one in sorted(found, key=lambda hit: (hit[0], -hit[1].changed, hit[1].path))]


def _rank(letters: str, loosely: re.Pattern[str], path: str) -> int | None:
    name = path.rpartition("/")[2]
    if name.startswith(letters) or path.startswith(letters):
        return 0
    if letters in name:
        return 1
    if letters in path:
        return 2
    return 3 if loosely.search(path) else None


class SandboxAlone(Struct, frozen=True):
    """A sandbox, looked at by a person and not by a call."""

    sandbox: Sandbox
    led: dict[str, str] = field(default_factory=dict)


class MentionableFiles:
    """The files that can be named in a conversation, asked for again once they are no longer new, and behind them what
    MCP servers list to be read.
    """

    def __init__(
        self,
        folder: Callable[[], Path],
        sandbox: Callable[[], AbstractAsyncContextManager[Sandbox]],
        resources: "Callable[[], Mapping[str, ServedResource]]" = dict,
    ) -> None:
        """`sandbox` is asked meanwhile; it raises SandboxGone as long as there is none."""
        self._folder, self._sandbox = folder, sandbox
        self._resources = resources
        self._known: tuple[float, Path, tuple[MentionableFile, ...]] = (0.0, Path(), ())

    async def offered(self) -> tuple[MentionableFile, ...]:
        """All of them but those whose names hold a quotation mark or a line's end; none while the sandbox cannot be
        asked.
        """
        until, of, known = self._known
        folder = self._folder()
        if folder != of or time.monotonic() >= until:
            known = await self._listed(folder)
            self._known = (time.monotonic() + _FRESH_SECONDS, folder, known)
        served = (MentionableFile(name, one.size or -1) for name, one in self._resources().items())
        return (*known, *(one for one in served if can_be_mentioned(mention_of(one.path))))

    async def _listed(self, folder: Path) -> tuple[MentionableFile, ...]:
        from angelia.tools.files.find import files_below

        try:
            async with self._sandbox() as sandbox:
                paths = await files_below(SandboxAlone(sandbox))
        except AngeliaError:  # nothing is offered; a path can still be typed
            return ()
        named = [path for path in paths if can_be_mentioned(mention_of(path))]
        return tuple(
            _looked_at(folder, path) if at < _MOST_LOOKED_AT else MentionableFile(path) for at, path in enumerate(named)
        )


def _looked_at(folder: Path, path: str) -> MentionableFile:
    try:
        found = (folder / path).stat()
    except OSError:
        return MentionableFile(path)
    return MentionableFile(path, found.st_size, found.st_mtime)


Offered = Callable[[], Awaitable[tuple[MentionableFile, ...]]]
"""Lists them."""
