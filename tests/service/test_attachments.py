"""What a person attaches arrives, or they are told why not, before anything is stored."""

from pathlib import Path

import pytest
from PIL import Image

from angelia.core.content import MediaKind
from angelia.core.errors import BadInput
from angelia.core.profile import Profile
from angelia.service.files.attachments import Attachments
from angelia.store.media.blobs import BlobStore
from tests.service.attached import BLIND, SEES, SMALL, medium, png, scan, written

pytestmark = pytest.mark.anyio


async def test_a_picture_arrives_byte_for_byte_with_its_place(
    attachments: Attachments, blobs: BlobStore, folder: Path
) -> None:
    path = written(folder / "a photo.png", png())
    for attached in (await attachments.image(path, SEES), await attachments.file(path, SEES)):
        assert attached.notes == ()
        assert await blobs.get(medium(attached).blob.sha256) == png()
        assert (medium(attached).media, medium(attached).width) == (MediaKind.IMAGE, 400)
        assert len(attached.parts) == 1
        assert medium(attached).origin == str(path)


@pytest.mark.parametrize(
    ("name", "data", "profile", "said"),
    [
        ("x.png", png(), SMALL, "goes to v:small scaled to 100×75."),
        ("x.png", png(), BLIND, "reaches the model by name only: v:blind takes no pictures. Choose a model that does"),
        ("x.pdf", scan(), SEES, "goes to v:sees as its text, and pages without text as pictures."),
        ("x.pdf", scan(), BLIND, "goes to v:blind as the text in it; its pictures do not."),
        (
            "x.zip",
            b"PK\3\4" + bytes(40),
            SEES,
            "models take pictures, PDFs, text and sound, but not this. It can still",
        ),
        ("x.mp3", b"ID3" + bytes(40), BLIND, "v:blind takes no sound. Choose a model that does, or configure a transc"),
        ("x.mp4", b"\0\0\0\x18ftypisom" + bytes(20), SEES, "no model here takes films. Give it single pictures"),
        ("x.unheard-of", bytes(range(256)), SEES, "(application/octet-stream), reaches the model by name only"),
        ("long.txt", b"word " * 5000, BLIND, "is shown in part: its beginning and its end, 10.0 kB in all."),
        (
            "cut.png",
            png()[:100],
            SEES,
            'The picture "cut.png" is damaged or incomplete: it does not decode. It reaches',
        ),
        (
            "cut.pdf",
            scan()[:60],
            SEES,
            'The PDF "cut.pdf" is damaged or incomplete: it does not open. It reaches the m',
        ),
        ("empty", b"", SEES, 'The file "empty" is empty (0 bytes); the model is told so.'),
    ],
)
async def test_what_changes_or_cannot_go_is_said(
    name: str, data: bytes, profile: Profile, said: str, attachments: Attachments, folder: Path
) -> None:
    attached = await attachments.file(written(folder / name, data), profile)
    (note,) = attached.notes
    assert said in note
    assert attached.parts, "the model is told as well"
    assert name in str(attached.parts)


@pytest.mark.parametrize(
    ("name", "data"), [("x.txt", b"words"), ("Makefile", b"all:\n"), ("x.json", b"{}"), ("né\ne.py", b"x = 1\n")]
)
async def test_a_text_file_goes_without_a_word(name: str, data: bytes, attachments: Attachments, folder: Path) -> None:
    attached = await attachments.file(written(folder / name, data), BLIND)
    assert attached.notes == ()
    assert medium(attached).blob.mime == "text/plain"


async def test_a_bitmap_is_announced_as_drawn_anew(attachments: Attachments, folder: Path) -> None:
    Image.new("RGB", (30, 30)).save(folder / "x.bmp")
    (note,) = (await attachments.image(folder / "x.bmp", SEES)).notes
    assert note.endswith("goes to the model as PNG or JPEG: none takes image/bmp.")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("cut.png", png()[:100], 'The picture "cut.png" is damaged or incomplete: it does not decode. Copy or export'),
        ("empty.png", b"", 'The picture "empty.png" is empty (0 bytes). Copy or export it once more.'),
        ("x.txt", b"words", '"x.txt" is not a picture that can be read: its content is text/plain. Save it as PNG or'),
        ("x.heic", b"\0\0\0\x18ftypheic" + bytes(20), '"x.heic" is not a picture that can be read: its content is im'),
    ],
)
async def test_what_was_called_a_picture_has_to_be_one(
    name: str, data: bytes, said: str, attachments: Attachments, folder: Path
) -> None:
    with pytest.raises(BadInput) as refused:
        await attachments.image(written(folder / name, data), SEES)
    assert str(refused.value).startswith(said)
