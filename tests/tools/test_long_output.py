"""A long output is kept whole on disk, in little memory; what is not kept is said, and its numbers are the output's."""

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.core.content import BlobRef
from angelia.core.errors import StoreFull
from angelia.service.redaction import RedactingBlobs, Redaction
from angelia.store.media.blobs import BlobStore
from angelia.testing.tools.harness import MemoryBlobs, ToolHarness, text_of
from angelia.tools.files.stored_text import line_page
from angelia.tools.shell.output import plain
from angelia.tools.shell.spool import IN_MEMORY, KeptOutput, Spool

pytestmark = pytest.mark.anyio


async def kept(
    output: bytes, spool: Spool, memory: MemoryBlobs | None = None, step: int = 7_777
) -> tuple[KeptOutput, str]:
    """What is kept of an output that came in pieces, and its stored text."""
    memory = memory or MemoryBlobs()
    for start in range(0, len(output), step):
        spool.feed(output[start : start + step])
    result = await spool.keep(memory)
    spool.close()
    return result, (await memory.get(result.full.sha256)).decode() if result.full else result.ends.shown()


@pytest.mark.parametrize("lines", [10, 1_000, 100_000])
async def test_all_of_an_output_is_kept_and_its_lines_are_counted(lines: int) -> None:
    output = b"".join(b"\x1b[32mline %d\x1b[0m\r\n" % number for number in range(lines))
    result, text = await kept(output, Spool(TemporaryFile))
    assert text == plain(output.decode())
    assert result.ends.lines == lines
    assert result.lost == ""
    if lines > 1_000:
        assert f"of {lines + 1} lines" in result.ends.shown("blob:ab")
        assert "read blob:ab shows the whole" in result.ends.shown("blob:ab")


async def test_a_line_without_end_and_characters_cut_between_blocks_are_kept() -> None:
    output = ("ä€🦊" * 200_000).encode()
    _, text = await kept(output, Spool(TemporaryFile), step=100_001)
    assert text == output.decode()


async def test_of_an_output_beyond_the_limit_both_ends_are_kept_and_the_rest_is_said() -> None:
    output = b"".join(b"line %d\n" % number for number in range(1_000_000))
    result, text = await kept(output, Spool(TemporaryFile, most=1_000_000))
    head, gap, tail = (
        text.partition("\n… (")[0],
        text.partition("\n… (")[2].partition(")")[0],
        text.rpartition(" …\n")[2],
    )
    assert output.startswith(head.encode())
    assert output.endswith(tail.encode())
    assert len(head) == 1_000_000
    assert IN_MEMORY <= len(tail) <= 2 * IN_MEMORY
    dropped = len(output) - len(head) - len(tail)
    assert f"{dropped:,} of {len(output):,} bytes of output were dropped" in result.lost
    assert result.lost.startswith(gap.partition(":")[0])


class FullDisk:
    """A file on a disk that takes two megabytes."""

    def __init__(self) -> None:
        self.file = TemporaryFile()  # noqa: SIM115 - as long as the test
        self.left = 2_000_000

    def write(self, data: bytes) -> int:
        self.left -= len(data)
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


async def test_a_full_disk_ends_the_keeping_and_not_the_command() -> None:
    disk = cast("BinaryIO", FullDisk())
    output = b"0123456789abcde\n" * 400_000
    result, text = await kept(output, Spool(lambda: disk))
    assert "the disk took no more: No space left on device" in result.lost
    assert text.endswith("0123456789abcde\n")


async def test_a_command_of_megabytes_is_read_whole_and_the_person_hears_of_what_was_dropped(
    bench: ToolHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = await bench.run("shell", command="seq 1 1000000")
    told = text_of(outcome)
    assert "of 1000001 lines" in told
    assert outcome.full is not None
    assert outcome.notices == ()
    assert (await bench.blobs.get(outcome.full.sha256)).decode() == "".join(f"{n}\n" for n in range(1, 1_000_001))
    monkeypatch.setattr(Spool.__init__, "__defaults__", (1_000_000,))
    outcome = await bench.run("shell", command="seq 1 1000000")
    assert "bytes of output were dropped" in text_of(outcome)
    assert "shows what was kept" in text_of(outcome)
    assert "shows the whole" not in text_of(outcome)
    [notice] = outcome.notices
    assert "bytes of output were dropped" in notice


class NoPlace(MemoryBlobs):
    """A store on a full disk."""

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        raise StoreFull("The disk is full.")


async def test_where_nothing_can_be_stored_both_ends_and_the_reason_are_told() -> None:
    result, text = await kept(b"line\n" * 100_000, Spool(TemporaryFile), NoPlace())
    assert result.full is None
    assert "The disk is full." in result.lost
    assert text.startswith("line\n")


async def test_a_secret_is_taken_out_of_a_long_output_wherever_it_was_cut(tmp_path: Path) -> None:
    secret = "sk-secret-0123456789"
    output = f"the key is {secret}\n".encode() * 60_000
    store = BlobStore(tmp_path)
    spool = Spool(store.scratch)
    spool.feed(output)
    result = await spool.keep(RedactingBlobs(store, Redaction(lambda: frozenset({secret}))))
    spool.close()
    assert result.full is not None
    stored = await store.get(result.full.sha256)
    assert stored.count(b"[secret: ") == 60_000
    assert secret.encode() not in stored


@given(st.text(alphabet="ab\n", max_size=300), st.integers(1, 40), st.integers(1, 40), st.integers(1, 50))
def test_a_page_of_a_stored_text_is_the_same_wherever_it_is_cut(text: str, first: int, most: int, step: int) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(text), step):
            yield text[start : start + step].encode()

    page = asyncio.run(line_page(chunks(), first=first, most=most, characters=10_000, line_characters=1_000))
    lines = text.removesuffix("\n").split("\n") if text else []
    assert page.total == len(lines)
    assert list(page.shown) == [f"{n}\t{line}" for n, line in enumerate(lines, 1)][first - 1 : first - 1 + most]
