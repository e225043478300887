"""Reading, writing and editing files."""

import codecs
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from angelia.core.content import BlobRef, CallStatus, Media, MediaKind, Text
from angelia.core.entry import Diff, ToolFinished, UserSaid
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import CallId
from angelia.policy.verdict import NoEffect, ReadPath, WritePath
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import FileChanged, FileTooLarge, IsFolder, NoSuchFile, NotAFile
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.files.read import CHARACTERS, FOLDER_ENTRIES
from tests.examples import examples

pytestmark = pytest.mark.anyio
ERROR = CallStatus.ERROR
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)

ODD_NAMES = ["a b", "quote'\"", "new\nline", "--help", "-", "é🎉", "x" * 255, "\u202egpj.exe", "~", "Makefile", "blob"]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", "(the file is empty)"),
        (b"a\nb\n", "1\ta\n2\tb"),
        (b"a\r\nb", "1\ta\n2\tb"),
        (b"\n", "1\t"),
        (codecs.BOM_UTF8 + b"a", "1\ta"),
        ("ä\n".encode("utf-16"), "1\tä\n(not UTF-8: characters that could not be read stand as \ufffd)"),
        (b"caf\xe9\n", "1\tcaf\ufffd\n(not UTF-8: characters that could not be read stand as \ufffd)"),
    ],
)
async def test_text_is_shown_with_line_numbers(bench: ToolHarness, data: bytes, shown: str) -> None:
    (bench.root / "f").write_bytes(data)
    assert await bench.said("read", path="f") == shown


async def test_a_part_says_how_to_go_on(bench: ToolHarness) -> None:
    (bench.root / "f").write_text("".join(f"{n}\n" for n in range(1, 11)))
    assert await bench.said("read", path="f", offset=3, limit=2) == (
        "3\t3\n4\t4\n… (6 more lines of 10: go on with offset=5)"
    )
    assert "there is no line 11" in await bench.said("read", ERROR, path="f", offset=11)


async def test_long_lines_and_long_files_are_bounded(bench: ToolHarness) -> None:
    (bench.root / "f").write_text(("x" * 20_000 + "\n") * 1_000)
    text = await bench.said("read", path="f")
    assert len(text) <= CHARACTERS + 100
    assert "characters left out" in text
    assert "more lines of 1,000" in text


async def test_one_of_something_is_told_in_the_singular(bench: ToolHarness) -> None:
    (bench.root / "folder").mkdir()
    (bench.root / "folder/f").write_text("x")
    assert (await bench.said("read", path="folder")).endswith("folder/ (1 entry)\nf\t1 byte")
    assert (
        await bench.said("read", CallStatus.ERROR, path="folder/f", offset=2)
        == "The file has 1 line; there is no line 2."
    )
    assert "1 line, 1 byte" in await bench.said("write", path="folder/g", content="y")
    (bench.root / "f").write_text("1\n2\n")
    assert (await bench.said("read", path="f", limit=1)).endswith("(1 more line of 2: go on with offset=2)")


async def test_a_picture_becomes_a_medium(bench: ToolHarness) -> None:
    (bench.root / "p.png").write_bytes(PNG)
    outcome = await bench.run("read", path="p.png")
    media = outcome.parts[1]
    assert isinstance(media, Media)
    assert (media.media, media.name) == (MediaKind.IMAGE, "p.png")
    assert bench.blobs.kept[media.blob.sha256] == PNG


async def test_a_corrupt_picture_is_an_error_that_says_so(bench: ToolHarness) -> None:
    (bench.root / "p.png").write_bytes(PNG + b"corrupt")
    with pytest.raises(BadInput, match="cannot be opened"):
        await bench.run("read", path="p.png")


async def test_a_binary_file_is_described(bench: ToolHarness) -> None:
    (bench.root / "f").write_bytes(b"\x7fELF" + bytes(100))
    assert "binary file of 104 bytes (it begins 7f 45 4c 46" in await bench.said("read", path="f")


async def test_a_folder_is_listed_with_marks(bench: ToolHarness) -> None:
    (bench.root / "sub").mkdir()
    (bench.root / "f").write_bytes(b"abc")
    (bench.root / "l").symlink_to("f")
    assert await bench.said("read", path=".") == f"{bench.root}/ (3 entries)\nf\t3 bytes\nl@\nsub/"


async def test_a_large_folder_is_bounded(bench: ToolHarness) -> None:
    for number in range(FOLDER_ENTRIES + 5):
        (bench.root / f"{number:04}").touch()
    assert (await bench.said("read", path=".")).endswith("\n… (5 more entries)")


async def test_a_huge_file_is_refused_with_its_size_and_a_way_on(bench: ToolHarness) -> None:
    with (bench.root / "f").open("wb") as file:
        file.truncate(300_000_000)
    with pytest.raises(FileTooLarge, match=r"300000000 bytes long, and at most 32000000 .* `shell`"):
        await bench.run("read", path="f")


@pytest.mark.parametrize(
    ("path", "error"), [("gone", NoSuchFile), ("gone/deeper", NoSuchFile), ("pipe", NotAFile), ("", BadInput)]
)
async def test_what_cannot_be_read_says_why(bench: ToolHarness, path: str, error: type[Exception]) -> None:
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(error):
        await bench.run("read", path=path)


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_odd_names_are_ordinary_names(bench: ToolHarness, name: str) -> None:
    await bench.run("write", path=name, content="one\n")
    assert await bench.said("read", path=name) == "1\tone"
    await bench.run("edit", path=name, old="one", new="two")
    assert (bench.root / name).read_text() == "two\n"


async def test_a_blob_of_this_conversation_can_be_read_and_no_other(bench: ToolHarness) -> None:
    ref = await bench.blobs.put(b"attached\n")
    with pytest.raises(NotFound, match="unknown in this conversation"):
        await bench.run("read", path=f"blob:{ref.sha256[:8]}")
    bench.log(UserSaid((Media(ref, MediaKind.DOCUMENT, "a.txt"),)))
    assert await bench.said("read", path=f"blob:{ref.sha256[:8]}") == "1\tattached"
    assert await bench.effects("read", path=f"blob:{ref.sha256[:8]}") == (NoEffect(),)
    other = await bench.blobs.put(b"another conversation's")
    with pytest.raises(NotFound, match="unknown in this conversation"):
        await bench.run("read", path=f"blob:{other.sha256}")


async def test_a_result_that_the_view_shortened_can_be_read_whole(bench: ToolHarness) -> None:
    bench.log(ToolFinished(CallId("c3_0"), CallStatus.OK, (Text("one\ntwo"),)))
    assert await bench.said("read", path="call:c3_0") == "1\tone\n2\ttwo"
    assert await bench.effects("read", path="call:c3_0") == (NoEffect(),)
    with pytest.raises(NotFound, match="No call 'c4_0' has ended"):
        await bench.run("read", path="call:c4_0")


@pytest.mark.parametrize("name", ["blob:", "blob:ab", "blob:xyzxyzxyz", "blob:../../etc"])
async def test_a_blob_needs_eight_digits(bench: ToolHarness, name: str) -> None:
    with pytest.raises(NotFound, match="8 or more hex digits"):
        await bench.run("read", path=name)


async def test_two_blobs_with_one_beginning_are_ambiguous(bench: ToolHarness) -> None:
    refs = [BlobRef("ab12cd34" + digit * 56, 1, "text/plain") for digit in "01"]
    bench.log(UserSaid(tuple(Media(ref, MediaKind.DOCUMENT) for ref in refs)))
    with pytest.raises(NotFound, match="ambiguous"):
        await bench.run("read", path="blob:ab12cd34")


async def test_effects_name_the_path_and_where_it_leads(bench: ToolHarness) -> None:
    (bench.root / "l").symlink_to("f")
    assert await bench.effects("read", path="l") == (ReadPath("l", f"{bench.root}/f"),)
    assert await bench.effects("write", path="l", content="") == (WritePath("l", f"{bench.root}/f"),)
    assert await bench.effects("edit", path="l", old="a", new="b") == (WritePath("l", f"{bench.root}/f"),)


async def test_a_new_file_is_written_with_its_folders(bench: ToolHarness) -> None:
    outcome = await bench.run("write", path="a/b/c.txt", content="one\ntwo")
    assert text_of(outcome) == "Created a/b/c.txt: 2 lines, 7 bytes."
    assert outcome.diffs == (Diff("a/b/c.txt", "", "one\ntwo"),)
    assert (bench.root / "a/b/c.txt").read_text() == "one\ntwo"


async def test_an_empty_file_can_be_written_read_and_filled(bench: ToolHarness) -> None:
    assert await bench.said("write", path="f", content="") == "Created f: 0 lines, 0 bytes."
    assert (bench.root / "f").read_bytes() == b""
    await bench.run("write", path="f", content="x\n")
    assert (bench.root / "f").read_bytes() == b"x\n"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("write", {"content": "new"}), ("edit", {"old": "old", "new": "new"})],
)
class TestNothingUnseenIsOverwritten:
    """A file is changed only as it was read."""

    async def test_a_file_that_was_never_read(self, bench: ToolHarness, tool: str, arguments: dict[str, str]) -> None:
        (bench.root / "f").write_text("old")
        with pytest.raises(BadInput, match="has not been read yet"):
            await bench.run(tool, path="f", **arguments)
        assert (bench.root / "f").read_text() == "old"

    async def test_a_file_that_changed_since(self, bench: ToolHarness, tool: str, arguments: dict[str, str]) -> None:
        (bench.root / "f").write_text("old")
        await bench.run("read", path="f")
        (bench.root / "f").write_text("old!")
        with pytest.raises(BadInput, match="not what was read"):
            await bench.run(tool, path="f", **arguments)
        assert (bench.root / "f").read_text() == "old!"

    async def test_reading_by_another_name_counts(
        self, bench: ToolHarness, tool: str, arguments: dict[str, str]
    ) -> None:
        (bench.root / "f").write_text("old")
        (bench.root / "l").symlink_to("f")
        await bench.run("read", path="l")
        await bench.run(tool, path=f"{bench.root}/f", **arguments)
        assert (bench.root / "l").is_symlink()
        assert (bench.root / "f").read_text() == "new"

    async def test_what_we_wrote_ourselves_is_seen(
        self, bench: ToolHarness, tool: str, arguments: dict[str, str]
    ) -> None:
        await bench.run("write", path="f", content="old")
        await bench.run(tool, path="f", **arguments)
        assert (bench.root / "f").read_text() == "new"

    async def test_mode_and_byte_order_mark_stay(
        self, bench: ToolHarness, tool: str, arguments: dict[str, str]
    ) -> None:
        (bench.root / "f").write_bytes(codecs.BOM_UTF8 + b"old")
        (bench.root / "f").chmod(0o750)
        await bench.run("read", path="f")
        outcome = await bench.run(tool, path="f", **arguments)
        assert (bench.root / "f").read_bytes() == codecs.BOM_UTF8 + b"new"
        assert (bench.root / "f").stat().st_mode & 0o777 == 0o750
        assert outcome.diffs == (Diff("f", "old", "new"),)
        assert text_of(outcome).endswith("@@ -1 +1 @@\n-old\n+new")

    async def test_a_folder_is_no_file(self, bench: ToolHarness, tool: str, arguments: dict[str, str]) -> None:
        (bench.root / "d").mkdir()
        with pytest.raises(IsFolder):
            await bench.run(tool, path="d", **arguments)


async def test_windows_line_endings_stay(bench: ToolHarness) -> None:
    (bench.root / "f").write_bytes(b"a\r\nb\r\n")
    await bench.run("read", path="f")
    await bench.run("edit", path="f", old="a\nb", new="a\nx\nb")
    assert (bench.root / "f").read_bytes() == b"a\r\nx\r\nb\r\n"
    await bench.run("write", path="f", content="1\n2\n")
    assert (bench.root / "f").read_bytes() == b"1\r\n2\r\n"


async def test_an_edit_says_what_it_overlooked(bench: ToolHarness) -> None:
    await bench.run("write", path="f", content="  a  \n")
    text = await bench.said("edit", path="f", old="a\n", new="b\n")
    assert text.startswith("Edited f (the text differed in indentation).")


async def test_an_unclear_edit_changes_nothing(bench: ToolHarness) -> None:
    await bench.run("write", path="f", content="a\na\n")
    assert "f was not changed: the text stands there 2 times" in await bench.said(
        "edit", ERROR, path="f", old="a", new="b"
    )
    assert (bench.root / "f").read_text() == "a\na\n"
    assert (await bench.said("edit", path="f", old="a", new="b", replace_all=True)).startswith("Edited f at 2 places.")


async def test_a_file_that_is_not_utf8_is_not_edited(bench: ToolHarness) -> None:
    (bench.root / "f").write_bytes(b"caf\xe9\n")
    await bench.run("read", path="f")
    with pytest.raises(BadInput, match="not UTF-8"):
        await bench.run("edit", path="f", old="caf", new="x")


async def test_editing_what_is_not_there_points_to_write(bench: ToolHarness) -> None:
    with pytest.raises(NoSuchFile, match="Use `write`"):
        await bench.run("edit", path="f", old="a", new="b")


async def test_a_large_change_is_shown_short(bench: ToolHarness) -> None:
    await bench.run("write", path="f", content="a\n" * 500)
    text = await bench.said("write", path="f", content="b\n" * 500)
    assert text.count("\n") < 70
    assert "more lines of diff" in text


class Forgetful(LocalSandbox):
    """A sandbox whose disk loses what is written."""

    async def put(self, path: str, content: AsyncIterator[bytes], **promised: object) -> None:
        Path(path).write_bytes(b"")


async def test_a_write_that_did_not_arrive_is_no_success(bench: ToolHarness, tmp_path: Path) -> None:
    bench.sandbox = Forgetful(bench.root, home=tmp_path / "home", state=tmp_path / "state", confine="off")
    with pytest.raises(FileChanged, match="written with 3 bytes, and reading it back gave 0"):
        await bench.run("write", path="f", content="abc")


TEXTS = st.text(alphabet=st.sampled_from('ab \t\r\né“"'), max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(TEXTS, TEXTS, TEXTS)
async def test_an_edit_of_a_file_is_all_or_nothing(bench: ToolHarness, before: str, old: str, after: str) -> None:
    (path := bench.root / "f").write_bytes((before + old + after).encode())
    await bench.run("read", path="f")
    outcome = await bench.run("edit", path="f", old=old, new="N")
    data = path.read_bytes().decode()
    if outcome.status is ERROR:
        assert data == before + old + after
    else:
        plain = data.replace("\r\n", "\n")
        assert plain == (before + old + after).replace("\r\n", "\n").replace(old.replace("\r\n", "\n"), "N", 1)
