"""A folder's files in a Git repository of ours: kept as they stand, laid out elsewhere, and compared.

The repository lies in our home, apart from the folder, so nothing that stands in the folder is obeyed: its `.git` is
never opened as ours, no hook, filter or driver is configured, and what `.gitattributes` asks for is switched off.
`.gitignore` counts: what it names is in no snapshot.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import AngeliaError
from angelia.core.text import clean, one_line
from angelia.path_queries import exists, is_file
from angelia.sandboxes.shared.private_folders import make_private
from angelia.tied_program import TiedProgram

_SECONDS = 600.0
"""One Git program has; the largest folder that is taken needs some tens."""
_CHUNK = 1 << 20
_SETTINGS = (
    *("-c", "core.bare=false", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "core.quotePath=false", "-c", "gc.auto=0"),
    *("-c", "core.fileMode=true", "-c", "core.looseCompression=0", "-c", "core.preloadIndex=true"),
)
_AS_IT_IS = "* -text -filter -ident -working-tree-encoding\n"
"""Files are bytes; what stands in a repository's own `info/attributes` goes before what stands in the folder."""
_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "file",
}
_HISTORY = 50
"""Commits of the past that are laid out with the files."""


class GitFailed(AngeliaError):
    """A Git program could not do what was wanted; says what it said."""


class ListedFiles(Struct, frozen=True):
    """Paths of a folder, relative to it: `files`, their `size` in all (bytes), and the `inner` repositories, whose
    files are not listed.
    """

    files: tuple[bytes, ...]
    inner: tuple[str, ...]
    size: int


class ChangedPath(Struct, frozen=True):
    """A path that differs between two trees. `mode` and `blob` are Git's, of what stands there now, `was_mode` and
    `was_blob` of what stood there before; empty where nothing did. `raw` are the bytes of its name.
    """

    path: str
    mode: str
    blob: str
    raw: bytes
    was_mode: str
    was_blob: str


class Snapshots:
    """The repository in `folder`, which is made by the first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def listed(self, workspace: Path, base: str = "") -> ListedFiles:
        """What a snapshot of a folder would hold; with a `base` also what that tree holds and is ignored by now.

        Raises:
            GitFailed: it cannot be read.
        """
        await self._begin()
        index = self._index(base)
        await self._git(*(("read-tree", base) if base else ("read-tree", "--empty")), index=index)
        ignored = workspace / ".git" / "info" / "exclude"
        more = ("-c", f"core.excludesFile={ignored}") if not base and is_file(ignored) else ()
        wanted = ("ls-files", "-z", "--others", "--exclude-standard", *(("--cached",) if base else ()))
        said = await self._git(*more, *wanted, workspace=workspace, index=index)
        paths = sorted(set(said.split(b"\0")) - {b""})
        files = tuple(path for path in paths if not path.endswith(b"/"))
        inner = tuple(clean(os.fsdecode(path[:-1])) for path in paths if path.endswith(b"/"))
        return ListedFiles(files, inner, await asyncio.to_thread(_size, workspace, files))

    async def taken(self, workspace: Path, listed: ListedFiles, base: str = "") -> str:
        """Keep these files as they stand now; the tree's name. What has gone since they were listed is not in it.

        Raises:
            GitFailed: one of them cannot be read, or the home is full.
        """
        index = self._index(base)
        told = b"\0".join(listed.files)
        await self._git(
            "update-index", "-z", "--add", "--remove", "--stdin", workspace=workspace, index=index, told=told
        )
        return (await self._git("write-tree", index=index)).decode().strip()

    async def lay_out(self, workspace: Path) -> None:
        """Write what was kept last, without a base, into a folder that is empty.

        Raises:
            GitFailed: it cannot be written.
        """
        await self._git("checkout-index", "--all", f"--prefix={workspace}/", workspace=workspace, index=self._index(""))

    async def changed(self, base: str, now: str) -> list[ChangedPath]:
        """What differs between two trees, by path."""
        said = await self._git("diff", "--raw", "-z", "--no-renames", "--no-abbrev", base, now)
        words = said.split(b"\0")
        return [_changed(head.decode(), path) for head, path in zip(words[::2], words[1::2], strict=False) if head]

    def patch(self, base: str, now: str) -> AsyncIterator[bytes]:
        """What `git apply` makes the one tree into the other with, files without text included.

        Raises:
            GitFailed: it could not be made.
        """
        plain = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color")
        return self._stream("diff", "--binary", "--full-index", *plain, base, now)

    def content(self, blob: str) -> AsyncIterator[bytes]:
        """The bytes that a tree has under this name.

        Raises:
            GitFailed: there are none.
        """
        return self._stream("cat-file", "blob", blob)

    async def lay_out_history(self, source: Path, workspace: Path) -> None:
        """Give a folder that was laid out a repository of its own, with the last commits of `source`; none of its
        settings, hooks and remotes.

        Raises:
            GitFailed: Git takes it for none of its own, or it has no commit.
        """
        at = self.folder / "history"
        depth = ("--depth", str(_HISTORY), "--no-tags", "--single-branch")
        await _run(
            ("clone", "--quiet", "--template=", "--no-checkout", *depth, source.as_uri(), str(at)), at.parent, {}
        )
        await asyncio.to_thread((at / ".git").rename, workspace / ".git")
        own = {"GIT_DIR": str(workspace / ".git"), "GIT_WORK_TREE": str(workspace)}
        await _run(("remote", "remove", "origin"), workspace, own)
        await _run(("reset", "--quiet"), workspace, own)

    # -- programs -----------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        for left in self.folder.glob("index*.lock"):  # by one that was killed: there is one at a time, and ends with us
            left.unlink()
        if not exists(self.folder / "HEAD"):
            make_private(self.folder, exist_ok=True)
            plain = ("--quiet", "--bare", "--template=", "--object-format=sha1")
            await _run(("init", *plain, str(self.folder)), self.folder, {})
            (self.folder / "info").mkdir(exist_ok=True)
            (self.folder / "info" / "attributes").write_text(_AS_IT_IS)

    def _index(self, base: str) -> Path:
        return self.folder / ("index-now" if base else "index")

    async def _git(
        self, *words: str, workspace: Path | None = None, index: Path | None = None, told: bytes = b""
    ) -> bytes:
        at = workspace or self.folder
        return await _run(words, at, self._named(at, index), told)

    def _named(self, workspace: Path, index: Path | None) -> dict[str, str]:
        named = {"GIT_DIR": str(self.folder), "GIT_WORK_TREE": str(workspace)}
        return named | ({"GIT_INDEX_FILE": str(index)} if index else {})

    async def _stream(self, *words: str) -> AsyncIterator[bytes]:
        program = await _started(words, self.folder, self._named(self.folder, None))
        process = program.process
        assert process.stdout
        assert process.stderr
        saying = asyncio.create_task(process.stderr.read(_CHUNK))
        try:
            async with asyncio.timeout(_SECONDS):
                while piece := await process.stdout.read(_CHUNK):
                    yield piece
                if await process.wait():
                    raise _failure(words, await saying)
        finally:
            await cancel_and_wait(saying)
            await program.end()


async def _run(words: Sequence[str], folder: Path, named: Mapping[str, str], told: bytes = b"") -> bytes:
    program = await _started(words, folder, named)
    try:
        async with asyncio.timeout(_SECONDS):
            said, errors = await program.process.communicate(told)
    except TimeoutError:
        raise GitFailed(f"git {words[0]} was not done after {_SECONDS:.0f} seconds.") from None
    finally:
        await program.end()
    if program.process.returncode:
        raise _failure(words, errors)
    return said


async def _started(words: Sequence[str], folder: Path, named: Mapping[str, str]) -> TiedProgram:
    env = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **named}
    try:
        return await TiedProgram.begin(("git", *_SETTINGS, *words), folder, env)
    except OSError as error:
        raise GitFailed(f"Git could not be started: {error.strerror}.", then="Install git.") from error


def _failure(words: Sequence[str], errors: bytes) -> GitFailed:
    verb = next(word for word in words if not word.startswith("-") and "=" not in word)
    return GitFailed(
        f"git {verb} failed: {one_line(clean(errors.decode('utf-8', 'replace')), 300) or 'it said nothing'}"
    )


def _size(workspace: Path, files: Sequence[bytes]) -> int:
    size, top = 0, os.fsencode(workspace)
    for path in files:
        with suppress(OSError):
            size += os.lstat(os.path.join(top, path)).st_size  # noqa: PTH118 - names of any bytes
    return size


def _changed(head: str, path: bytes) -> ChangedPath:
    """A row of `diff --raw`: `:100644 100644 <blob> <blob> M`."""
    was_mode, mode, was_blob, blob, status = head.lstrip(":").split(" ")
    before, there = status != "A", status != "D"
    return ChangedPath(
        clean(os.fsdecode(path)),
        mode if there else "",
        blob if there else "",
        path,
        was_mode if before else "",
        was_blob if before else "",
    )
