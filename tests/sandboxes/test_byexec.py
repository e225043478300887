"""A sandbox that can only run commands moves files as every other does."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from angelia.sandboxes.by_commands import answer
from angelia.sandboxes.port import AccessRefused, Command, Exit, FileChanged, OutOfSpace, Sandbox
from angelia.testing.sandboxes.acts import MB, arrives, names_in, pieces, place, refused, sha256
from angelia.testing.sandboxes.checks import SandboxCheck, Sizes, checks
from angelia.testing.sandboxes.files import FILE_CLAIMS

from .by_commands_sandbox import (
    SandboxForTextOnly,
    SandboxThatConfinesNothing,
    SandboxThatIsTrusted,
    SandboxThatMangles,
    SandboxThatOnlyStarts,
)
from .sizes import SIZES

pytestmark = pytest.mark.anyio

FILES = {claim.__name__.replace("_", " ") for claim in FILE_CLAIMS}
CHECKS = [check for check in checks(Sizes(real=20 * MB, races=SIZES.races)) if check.name in FILES]
"""More pieces than one; at their full size they are those of a container's workspace in memory, by the same scripts."""
SMALL = [
    check
    for check in checks(Sizes(sparse=3_000_000, real=300_000, files=100))
    if check.name in FILES and "swapped" not in check.name  # many reads, and nothing in them is about text
]


async def meets(check: SandboxCheck, kind: type[SandboxThatOnlyStarts], tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        sandbox = kind(tmp_path / "work space's", tmp_path / "own")
        try:
            yield sandbox
        finally:
            await sandbox.close()

    await check.run(make)


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_by_plain_bytes(check: SandboxCheck, tmp_path: Path) -> None:
    await meets(check, SandboxThatOnlyStarts, tmp_path)


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("check", SMALL, ids=lambda check: check.name)
async def test_by_text_alone(check: SandboxCheck, tmp_path: Path) -> None:
    await meets(check, SandboxForTextOnly, tmp_path)


async def test_a_full_disk_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    sandbox = SandboxThatOnlyStarts(tmp_path / "work", tmp_path / "own")
    (tmp_path / "bin").mkdir()
    sandbox.path = f"{tmp_path}/bin:/usr/bin:/bin"
    cat = tmp_path / "bin/cat"
    cat.write_text("#!/bin/sh\nexec /bin/cat >/dev/full\n")
    cat.chmod(0o755)
    await refused(place(sandbox, "file", b"x"), OutOfSpace)
    assert await names_in(sandbox, ".") == set()
    await sandbox.close()


async def test_bytes_that_are_changed_on_the_way_are_found_out(tmp_path: Path) -> None:
    sandbox = SandboxThatMangles(tmp_path / "work", tmp_path / "own")
    (tmp_path / "work/file").write_bytes(b"xyz")
    error = await refused(arrives(sandbox, "file"), FileChanged)
    assert sha256(b"xyz") in str(error)
    await refused(place(sandbox, "other", b"xyz"), FileChanged)
    assert await names_in(sandbox, ".") == {"file"}
    await sandbox.close()


async def test_a_put_of_many_pieces_is_renamed_once_and_whole(tmp_path: Path) -> None:
    sandbox = SandboxForTextOnly(tmp_path, tmp_path / "own")
    data = os.urandom(200_000)
    await sandbox.put("deep/er/file", pieces(data, 70_000), size=len(data), sha256=sha256(data), mode=0o640)
    assert (tmp_path / "deep/er/file").read_bytes() == data
    assert (tmp_path / "deep/er/file").stat().st_mode & 0o777 == 0o640
    assert await names_in(sandbox, "deep/er") == {"file"}
    await sandbox.close()


@pytest.mark.parametrize("how", ["r+b", "ab"])
async def test_what_is_written_to_while_a_trusted_stream_brings_it_is_told(how: str, tmp_path: Path) -> None:
    sandbox = SandboxThatIsTrusted(tmp_path / "work", tmp_path / "own")
    file = tmp_path / "work/file"
    file.write_bytes(bytes(8 * MB))
    os.utime(file, (1, 1))
    reading = sandbox.get("file", limit=8 * MB)
    await anext(reading)  # more than all that lies between is still to come
    with file.open(how) as handle:
        handle.write(b"x")
    with pytest.raises(FileChanged, match="was written to"):
        [chunk async for chunk in reading]
    assert len(await arrives(sandbox, "file")) == file.stat().st_size
    await sandbox.close()


@pytest.mark.parametrize("kind", [SandboxThatOnlyStarts, SandboxForTextOnly])
async def test_the_limit_is_for_opening_and_not_for_hashing_and_flushing_what_came(
    kind: type[SandboxThatOnlyStarts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_of = tmp_path / "bin"
    place_of.mkdir()
    os.mkfifo(tmp_path / "gate")
    (place_of / "sha256sum").write_text(f"#!/bin/sh\nread -r word <'{tmp_path}/gate'\nexec /usr/bin/sha256sum\n")
    (place_of / "sha256sum").chmod(0o755)
    sandbox = kind(tmp_path / "work", tmp_path / "own")
    sandbox.path = f"{place_of}:/usr/bin:/bin"
    over = asyncio.Event()

    @asynccontextmanager
    async def limit(seconds: float) -> AsyncIterator[None]:
        yield
        over.set()

    monkeypatch.setattr(answer, "asyncio", SimpleNamespace(timeout=limit))
    gate = os.open(tmp_path / "gate", os.O_RDWR)  # whoever hashes waits for a line of ours
    putting = asyncio.create_task(place(sandbox, "file", b"x"))
    async with asyncio.timeout(60):  # how it fails, where nothing is said before that
        await over.wait()
    assert not (tmp_path / "work/file").exists()
    os.write(gate, b"\n")
    await putting
    os.close(gate)
    assert (tmp_path / "work/file").read_bytes() == b"x"
    await sandbox.close()


class Speaks:
    """A command that says a line, and takes its time for the next."""

    id = "p1"
    last_errors = b""

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines

    async def output(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line
            await asyncio.sleep(0.2)  # no wait, but what is measured: longer than the limit

    async def wait(self) -> Exit:
        return Exit(0)

    async def kill(self) -> None:
        """It is over."""

    async def write(self, data: bytes) -> None:
        """It listens to nobody."""

    async def close_input(self) -> None:
        """It has none."""


async def test_what_has_begun_may_take_longer_than_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "SECONDS_TO_SPEAK", 0.05)
    said = await answer.answer(Speaks(b"begun\n", b"ok 5\n"), "file", ["/work"], plain=True)
    assert said.rest == "5"
    with pytest.raises(FileChanged, match=r"no sign for 0\.05 s"):
        await answer.answer(Speaks(b"o", b"k 5\n"), "file", ["/work"], plain=True)


async def test_a_room_that_cannot_confine_moves_files_too(tmp_path: Path) -> None:
    sandbox = SandboxThatConfinesNothing(tmp_path / "work", tmp_path / "own")
    await refused(sandbox.start(Command(shell="true")), AccessRefused)
    await place(sandbox, "deep/file", b"x")
    assert await arrives(sandbox, "deep/file") == b"x"
    assert await names_in(sandbox, ".") == {"deep"}
    await refused(arrives(sandbox, "/etc/passwd"), AccessRefused)
    await sandbox.close()


async def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    sandbox = SandboxThatOnlyStarts(tmp_path, tmp_path / "own")
    error = await refused(arrives(sandbox, "/etc/passwd"), AccessRefused)
    assert str(tmp_path) in str(error)
    await sandbox.close()
