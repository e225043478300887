"""A folder goes out of a sandbox and into one as it is, and whatever its names say, nothing lands beside it."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from angelia.core.errors import BadInput
from angelia.sandboxes.local.files import umask
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import FileKind, FileStat, SandboxGone
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.service.files import transfers
from angelia.service.files.folders import bring_folder, fetch_folder

from .conftest import Build
from .test_tree_removal import dig

pytestmark = pytest.mark.anyio

NAMES = ("plain", " a b ", "--help", "two\nlines", "deep/er/\N{FOX FACE}", "x" * 255, "caf\udce9", "empty")
HOSTILE = ("..", ".", "", "../beside", "../../beside", "a/b", "/etc/passwd", "nul\0")


def told(done: int, size: int) -> None:
    """Nobody listens."""


def furnish(folder: Path) -> None:
    """Files of odd names, an empty folder, and what has to be left out."""
    for at, name in enumerate(NAMES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(os.urandom(1000) if name != "empty" else b"")
        (folder / name).chmod(0o755 if at % 2 else 0o640)
        os.utime(folder / name, (at, at))
    (folder / "nothing in it").mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "out").symlink_to("/etc")
    os.mkfifo(folder / "pipe")


def content(folder: Path, without: int = 0) -> dict[str, object]:
    """All that may be copied of a folder, `without` some permission bits."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            known = path.stat()
            found[str(path.relative_to(folder))] = (path.read_bytes(), known.st_mode & 0o777 & ~without, known.st_mtime)
        elif path.is_dir() and not path.is_symlink():
            found[str(path.relative_to(folder))] = None
    return found


async def test_a_folder_arrives_as_it_is_in_both_directions_and_no_link_is_followed(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "PATIENCE", 0.0)  # as if each second were over
    moved: list[tuple[int, int]] = []
    sandbox = build(confine="off")
    furnish(tmp_path / "work/tree")
    out = await fetch_folder(sandbox, "tree", tmp_path / "out", lambda done, size: moved.append((done, size)))
    assert content(tmp_path / "out") == content(tmp_path / "work/tree")
    assert (out.files, out.size, moved[-1]) == (len(NAMES), 7000, (7000, 7000))
    assert sorted(line.partition(":")[0] for line in out.left) == ["link", "out", "pipe"]
    furnish(tmp_path / "mine")
    back = await bring_folder(sandbox, tmp_path / "mine", "in/tree", told)
    assert content(tmp_path / "work/in/tree") == content(tmp_path / "mine", without=umask()), (
        "a new file is as open as others here"
    )
    assert (back.files, len(back.left)) == (len(NAMES), 3)
    assert {path.name for path in tmp_path.iterdir()} == {"person", "own", "work", "out", "mine"}


EVIL = {
    ".envrc": "touch /marker",
    "deep/.vscode/tasks.json": "{}",
    "repo/.git/config": "[core]\n fsmonitor = touch /marker\n hooksPath = ../mine\n",
    "repo/.git/hooks/post-checkout": "touch /marker",
    "mine/.shadowenv.d/500_path.lisp": "(env/set 'PATH')",
}
HONEST = {
    "repo/.git/HEAD": "ref: refs/heads/main\n",
    "repo/.git/hooks/pre-commit.sample": "exit 0",
    "other/.git/config": '[core]\n bare = false\n[remote "origin"]\n url = https://example.org/x\n',
    ".vscode/settings.json": "{}",
    "Makefile": "all:\n",
}


async def test_nothing_comes_along_that_programs_outside_would_run(build: Build, tmp_path: Path) -> None:
    sandbox = build(confine="off")
    for name, text in {**EVIL, **HONEST}.items():
        file = tmp_path / "work/tree" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    (tmp_path / "work/tree/mine").chmod(0o555)
    out = await fetch_folder(sandbox, "tree", tmp_path / "out", told)
    assert {name for name, what in content(tmp_path / "out").items() if what} == HONEST.keys()
    assert out.files == len(HONEST)
    assert {line.partition(": ")[0] for line in out.left} == EVIL.keys()
    assert all("could run it by themselves" in line for line in out.left)
    await transfers.fetch(sandbox, "tree/.envrc", tmp_path / "wanted", told)
    assert (tmp_path / "wanted").read_text() == EVIL[".envrc"], "who names it gets it"


async def test_a_file_keeps_its_permission_bits_and_its_time_in_both_directions(build: Build, tmp_path: Path) -> None:
    sandbox = build(confine="off")
    (tmp_path / "work/deep").mkdir()
    (tmp_path / "work/deep/run").write_bytes(b"#!/bin/sh")
    (tmp_path / "work/deep/run").chmod(0o755)
    os.utime(tmp_path / "work/deep/run", (1, 1))
    (tmp_path / "work/link").symlink_to("deep/near")
    (tmp_path / "work/deep/near").symlink_to("run")
    for path in ("deep/run", "link"):
        await transfers.fetch(sandbox, path, tmp_path / "out", told)
        found = (tmp_path / "out").stat()
        assert (found.st_mode & 0o7777, found.st_mtime) == (0o755, 1), path
    await transfers.bring(sandbox, tmp_path / "out", "back", told)
    found = (tmp_path / "work/back").stat()
    assert (found.st_mode & 0o7777, found.st_mtime) == (0o755 & ~umask(), 1)


class HostileRoom(LocalSandbox):
    """A sandbox that lists what cannot be a name, as a machine might that is not what it seems."""

    async def list(self, path: str) -> AsyncIterator[FileStat]:
        async for entry in super().list(path):
            yield entry
        for name in HOSTILE:
            for kind in (FileKind.FILE, FileKind.FOLDER):
                yield FileStat(f"{path}/{name}", kind, 5, 0o644, 0.0)
        yield FileStat("somewhere else", FileKind.FILE, 5, 0o644, 0.0)

    async def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        yield b"taken"


async def test_a_name_that_is_none_is_left_out_and_nothing_is_written_beside_the_target(
    own: Path, tmp_path: Path
) -> None:
    (tmp_path / "work/tree").mkdir(parents=True)
    (tmp_path / "work/tree/file").write_bytes(b"taken")
    sandbox = HostileRoom(tmp_path / "work", home=own, state=own / "run", confine="off")
    (tmp_path / "a/b").mkdir(parents=True)
    carried = await fetch_folder(sandbox, "tree", tmp_path / "a/b/c", told)
    left = {path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*")}
    assert left == {Path("b"), Path("b/c"), Path("b/c/file"), Path("b/c/somewhere else")}
    assert len(carried.left) == 2 * len(HOSTILE)
    await sandbox.close()


class SandboxThatDies(LocalSandbox):
    """It is gone at the second file, in both directions."""

    moved = 0

    async def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        self._one_more()
        yield b"taken"

    async def put(self, path: str, content: AsyncIterator[bytes], **promised: Any) -> None:
        self._one_more()
        await super().put(path, content, **promised)

    def _one_more(self) -> None:
        self.moved += 1
        if self.moved == 2:
            raise SandboxGone("The container is not there any more.")


async def test_a_copy_that_breaks_off_leaves_nothing_here_and_says_what_is_there(own: Path, tmp_path: Path) -> None:
    for name in ("work/tree", "mine"):
        (tmp_path / name).mkdir(parents=True)
        for file in ("a", "b", "c"):
            (tmp_path / name / file).write_bytes(b"taken")
    before = sorted(tmp_path.iterdir())
    first, second = (SandboxThatDies(tmp_path / "work", home=own, state=own / "run", confine="off") for _ in range(2))
    with pytest.raises(SandboxGone):
        await fetch_folder(first, "tree", tmp_path / "out", told)
    with pytest.raises(SandboxGone, match="1 of 3 files are there"):
        await bring_folder(second, tmp_path / "mine", "in", told)
    await first.close()
    await second.close()
    assert sorted(tmp_path.iterdir()) == before


async def test_a_folder_that_is_there_is_not_replaced(build: Build, tmp_path: Path) -> None:
    (tmp_path / "work/tree").mkdir(parents=True)
    (tmp_path / "there").symlink_to("nowhere")
    with pytest.raises(BadInput, match="is there already"):
        await fetch_folder(build(confine="off"), "tree", tmp_path / "there", told)
    assert (tmp_path / "there").is_symlink()


async def test_a_folder_of_any_depth_is_copied_to_a_limit_and_the_rest_is_told(build: Build, tmp_path: Path) -> None:
    sandbox = build(confine="off")
    dig(tmp_path / "work/tree", 1_100)
    (tmp_path / "work/tree/near").write_text("here")
    out = await fetch_folder(sandbox, "tree", tmp_path / "out", told)
    back = await bring_folder(sandbox, tmp_path / "work/tree", "in", told)
    for carried, there in ((out, tmp_path / "out"), (back, tmp_path / "work/in")):
        assert (there / "near").read_text() == "here"
        assert (there / "d/" / ("d/" * 98) / "f").is_file()
        assert not (there / "d/" / ("d/" * 99) / "f").exists()
        assert len(carried.left) == 2, "the folder in which all else is, and the file beside it"
        assert all(line.endswith(": more than 100 folders deep") for line in carried.left)
    remove_tree(tmp_path / "work/tree")


class LongNames(LocalSandbox):
    """A sandbox whose file system takes longer names than ours."""

    async def list(self, path: str) -> AsyncIterator[FileStat]:
        """Names that cannot be had here."""
        yield FileStat(f"{path}/{'x' * 256}", FileKind.FILE, 4, 0o644, 1.0)
        yield FileStat(f"{path}/\ud83d", FileKind.FILE, 4, 0o644, 1.0)
        async for entry in super().list(path):
            yield entry


async def test_a_name_that_cannot_be_had_here_is_left_out_and_told(build: Build, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (tmp_path / "work/tree").mkdir(parents=True)
    own.mkdir(exist_ok=True)
    sandbox = LongNames(tmp_path / "work", home=own, state=own / "run", confine="off")
    (tmp_path / "work/tree/near").write_text("here")
    out = await fetch_folder(sandbox, "tree", tmp_path / "out", told)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["near"]
    assert [line.rpartition(": ")[2] for line in out.left] == [
        "its name has more than 255 bytes",
        "no name that a file can have",
    ]
