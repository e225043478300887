"""Files of the local sandbox, beyond what the conformance kit asks of every sandbox."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import AccessRefused, FileChanged, NoSuchFile, NotAFile
from angelia.testing.sandboxes.acts import arrives, place, refused

from .conftest import Build

pytestmark = pytest.mark.anyio


async def test_a_second_name_of_a_hidden_file_is_refused(build: Build, person: Path, tmp_path: Path) -> None:
    (person / ".netrc").write_text("canary")
    sandbox = build()
    os.link(person / ".netrc", tmp_path / "work/innocent")
    assert "is hidden" in str(await refused(arrives(sandbox, "innocent"), AccessRefused))


async def test_angelias_own_home_is_refused_inside_a_workspace_too(build: Build, own: Path, tmp_path: Path) -> None:
    sandbox = build(tmp_path)
    await refused(arrives(sandbox, "own/keys"), AccessRefused)
    await refused(place(sandbox, "own/run/x", b"x"), AccessRefused)
    assert await arrives(sandbox, "person/diary") == b"canary-diary"


async def test_a_whole_machine_and_our_own_home_are_no_workspaces(build: Build, own: Path, tmp_path: Path) -> None:
    for folder in (Path("/"), own):
        with pytest.raises(AccessRefused):
            LocalSandbox(folder, home=own, state=own / "run")
    with pytest.raises(NoSuchFile):
        LocalSandbox(tmp_path / "nowhere", home=own, state=own / "run")


async def test_a_file_that_shrinks_or_changes_while_it_is_read_is_not_passed_off_as_whole(
    build: Build, tmp_path: Path
) -> None:
    sandbox = build()
    file = tmp_path / "work/file"

    def rewrite() -> None:
        file.write_bytes(b"y" * 3_000_000)
        os.utime(file, (1, 1))

    def cut() -> None:
        os.truncate(file, 5)

    def rewrite_longer() -> None:
        with file.open("r+b") as handle:
            handle.write(b"y")
            handle.seek(0, os.SEEK_END)
            handle.write(b"more")

    for change in (cut, rewrite, rewrite_longer):
        file.write_bytes(b"x" * 3_000_000)
        reading = sandbox.get("file", limit=3_000_000)
        assert len(await anext(reading)) == 1 << 20
        change()
        with pytest.raises(FileChanged):
            [chunk async for chunk in reading]


_at_open: dict[str, Callable[[], object]] = {}
"""What to do, once, in the instant before a file of that name is opened."""


def _watch_opens(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and (act := _at_open.pop(str(arguments[0]), None)):
        act()


sys.addaudithook(_watch_opens)


@pytest.mark.parametrize("swapped_in", ["fifo", "link", "folder-link"])
async def test_what_is_swapped_in_between_check_and_read_is_refused(
    swapped_in: str, build: Build, tmp_path: Path
) -> None:
    sandbox = build()
    (tmp_path / "work/folder").mkdir()
    file = tmp_path / "work/folder/passwd"
    file.write_text("inside")

    def swap() -> None:
        file.unlink()
        match swapped_in:
            case "fifo":
                os.mkfifo(file)
            case "link":
                file.symlink_to("/etc/passwd")
            case _:
                file.parent.rmdir()
                file.parent.symlink_to("/etc")

    at = "folder" if swapped_in == "folder-link" else "passwd"
    _at_open[at] = swap
    await refused(arrives(sandbox, "folder/passwd"), NotAFile, AccessRefused, NoSuchFile)
    assert at not in _at_open  # so it was swapped


async def test_what_is_appended_while_a_file_is_read_is_left_for_the_next_time(build: Build, tmp_path: Path) -> None:
    sandbox = build()
    file = tmp_path / "work/log"
    file.write_bytes(b"x" * 2_000_000)
    reading = sandbox.get("log", limit=2_000_000)
    first = await anext(reading)
    with file.open("ab") as log:
        log.write(b"more")
    assert len(first) + sum([len(chunk) async for chunk in reading]) == 2_000_000


async def test_the_real_tmp_is_outside_when_nothing_is_confined(build: Build) -> None:
    assert "outside the sandbox" in str(await refused(arrives(build(confine="off"), "/tmp/x"), AccessRefused))
