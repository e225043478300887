"""What a person sends lies where tools can work on it, whole, under its own name, and the model knows where."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import BlobRef, Media, MediaKind
from angelia.core.errors import AngeliaError
from angelia.core.text import file_name
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.service.files.inbox import Inboxes, clean_name
from angelia.store.media.blobs import BlobStore
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.promise.lives import Place
from tests.promise.story import unextended

pytestmark = pytest.mark.anyio


@pytest.fixture
def sandbox(tmp_path: Path) -> LocalSandbox:
    (tmp_path / "work").mkdir()
    return LocalSandbox(tmp_path / "work", home=tmp_path / "home", state=tmp_path / "state", confine="off")


async def sent(blobs: BlobStore, name: str, data: bytes = b"some bytes", origin: str = "") -> Media:
    return Media(await blobs.put(data), MediaKind.DOCUMENT, name, origin=origin)


async def put(sandbox: LocalSandbox, blobs: BlobStore, *media: Media, spec: str = "local") -> list[str]:
    """Where the files lie, put at the same time."""
    told: list[str] = []
    place = Inboxes(blobs).of(sandbox, spec, told.append)
    return list(await asyncio.gather(*map(place, media)))


async def test_it_arrives_byte_for_byte(sandbox: LocalSandbox, blobs: BlobStore, tmp_path: Path) -> None:
    data = bytes(range(256)) * 9000
    assert await put(sandbox, blobs, await sent(blobs, "all bytes.bin", data)) == ["inbox/all bytes.bin"]
    assert (tmp_path / "work/inbox/all bytes.bin").read_bytes() == data


async def test_what_lies_in_the_workspace_already_is_left_there(
    sandbox: LocalSandbox, blobs: BlobStore, tmp_path: Path
) -> None:
    mine = tmp_path / "work/data/a.csv"
    mine.parent.mkdir()
    mine.write_bytes(b"some bytes")
    given = await sent(blobs, "a.csv", origin=str(mine))
    for spec in ("local", "ssh:box"):
        assert await put(sandbox, blobs, given, spec=spec) == ["data/a.csv"]
    mine.write_bytes(b"other bytes")
    assert await put(sandbox, blobs, given) == ["data/a.csv"], "the person's own file, changed since"
    assert not (tmp_path / "work/inbox").exists()
    assert await put(sandbox, blobs, given, spec="ssh:box") == ["inbox/a.csv"], "another machine's file of that name"
    assert mine.read_bytes() == b"other bytes"


async def test_nothing_in_the_inbox_is_replaced_and_nothing_is_put_twice(
    sandbox: LocalSandbox, blobs: BlobStore, tmp_path: Path
) -> None:
    (tmp_path / "work/inbox").mkdir()
    (tmp_path / "work/inbox/a.txt").write_text("from before")
    media = [await sent(blobs, "a.txt", str(n % 5).encode()) for n in range(10)]
    paths = await put(sandbox, blobs, *media)
    assert sorted(set(paths)) == [f"inbox/a-{n}.txt" for n in range(2, 7)]
    assert paths[:5] == paths[5:]
    for path, medium in zip(paths, media, strict=True):
        assert (tmp_path / "work" / path).read_bytes() == await blobs.get(medium.blob.sha256)
    assert (tmp_path / "work/inbox/a.txt").read_text() == "from before"


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("/etc/passwd", "passwd"),
        ("..", "document-abababab.pdf"),
        ("", "document-abababab.pdf"),
        ("C:\\Users\\ann\\tax.pdf", "tax.pdf"),
        ("--help", "_--help"),
        ("two\nlines.txt", "two lines.txt"),
        ("é" * 300 + ".txt", "é" * 98 + ".txt"),
        (".env", ".env"),
    ],
)
def test_a_name_is_one_step_that_no_command_takes_for_an_option(name: str, clean: str) -> None:
    assert clean_name(Media(BlobRef("ab" * 32, 1, "application/pdf"), MediaKind.DOCUMENT, name)) == clean
    assert len(file_name(name).encode()) <= 255


async def test_a_link_in_place_of_the_inbox_leads_nowhere(
    sandbox: LocalSandbox, blobs: BlobStore, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "work/inbox").symlink_to(tmp_path / "outside")
    with pytest.raises(AngeliaError):
        await put(sandbox, blobs, await sent(blobs, "a.txt"))
    assert not list((tmp_path / "outside").iterdir())


SCRIPT = by_replies([call("shell", {"command": "cat inbox/*.txt >all; ls inbox >>all"}), say("Done.")])


def furnished(folder: Path, server: ModelServer) -> Place:
    place = Place(folder, server, sets=("sandbox.confine=off", "policy.mode=autonomous"))
    (folder / "note.txt").write_text("plums\n")
    (folder / "picture.png").write_bytes(one_colour("orange"))
    return place


def asking(place: Place) -> list[str]:
    return ["Look.", "--file", str(place.folder / "note.txt"), "--image", str(place.folder / "picture.png")]


async def test_the_model_is_told_where_before_it_answers_and_tools_work_on_it(tmp_path: Path) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path, server)
        ended = await place.ask(*asking(place))
        assert ended.stdout == "Done.\n", ended.stderr
        assert 'file "note.txt", 6 bytes, was put at inbox/note.txt' in ended.stderr
        first = server.requests[0].raw.decode()
        assert "lies at inbox/note.txt in the workspace" in first
        assert "lies at inbox/picture.png in the workspace" in first
        assert not unextended(server.requests)
    assert (place.workspace / "all").read_text() == "plums\nnote.txt\npicture.png\n"
    assert (place.workspace / "inbox/picture.png").read_bytes() == one_colour("orange")


@pytest.mark.parametrize("point", ["say.committed:1", "file.placed:1", "file.placed:2", "files.told:1"])
async def test_killed_between_message_and_put_it_is_put_at_the_next_start_once(tmp_path: Path, point: str) -> None:
    async with ModelServer(SCRIPT) as server:
        place = furnished(tmp_path, server)
        await place.ask(*asking(place), at=point)
        assert not server.requests
        ended = await place.ask("--continue")
        assert ended.stdout == "Done.\n", ended.stderr
        assert "lies at inbox/note.txt in the workspace" in server.requests[0].raw.decode()
    assert (place.workspace / "all").read_text() == "plums\nnote.txt\npicture.png\n"
    assert [type(fact) for fact in await place.facts()].count(e.FilesPlaced) == 1


async def test_what_cannot_be_put_is_told_to_both_and_the_answer_comes_all_the_same(tmp_path: Path) -> None:
    async with ModelServer(by_replies([say("I see it.")])) as server:
        place = furnished(tmp_path, server)
        (place.workspace / "inbox").write_text("a file stands here")
        ended = await place.ask(*asking(place))
        assert ended.stdout == "I see it.\n", ended.stderr
        assert 'The file "note.txt", 6 bytes, could not be put into the sandbox: ' in ended.stderr
        first = server.requests[0].raw.decode()
        assert "could not be put into the workspace, so no tool can open it there" in first
    assert (place.workspace / "inbox").read_text() == "a file stands here"
