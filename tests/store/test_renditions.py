"""Media as a model gets them: the same bytes every time, within the limits, and never nothing."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from angelia.context.media_forms import Pixels, scaled, worst_bytes
from angelia.context.request import OpenedBytes, Shown
from angelia.core.content import Form
from angelia.store.media.blobs import BlobStore
from angelia.store.media.measure import Intake
from angelia.store.media.pictures import check, redraw
from angelia.store.media.renditions import Renditions
from tests.examples import examples
from tests.store.drawn import as_picture, as_text, picture

pytestmark = pytest.mark.anyio


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    (tmp_path / "home").mkdir()
    return BlobStore(tmp_path / "home")


@pytest.fixture
def renditions(blobs: BlobStore, tmp_path: Path) -> Renditions:
    return Renditions(blobs, tmp_path / "renditions")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
async def test_a_picture_that_fits_goes_out_as_it_came(form: str, blobs: BlobStore, renditions: Renditions) -> None:
    data = picture((300, 200), form, mode="RGB")
    media = await Intake(blobs).to_media(data, "x")
    for edge in (0, 300, 5000):
        assert await renditions.open(Shown(media, Form.NATIVE, edge)) == (OpenedBytes(f"image/{form.lower()}", data),)


@pytest.mark.parametrize("form", ["BMP", "TIFF", "AVIF", "ICO", "JPEG2000"])
async def test_what_no_wire_takes_is_drawn_anew(form: str, blobs: BlobStore, renditions: Renditions) -> None:
    names = {"ICO": "x.ico", "BMP": "x.bmp"}
    media = await Intake(blobs).to_media(picture((120, 100), form), names.get(form, "x"))
    (opened,) = await renditions.open(Shown(media, Form.NATIVE))
    assert as_picture(opened).format in ("PNG", "JPEG")
    assert as_picture(opened).size == (media.width, media.height)


@given(
    st.integers(1, 400),
    st.integers(1, 400),
    st.integers(1, 450),
    st.sampled_from(["RGB", "RGBA", "L"]),
    st.sampled_from(["PNG", "TIFF", "WEBP"]),
    st.booleans(),
)
@settings(max_examples=examples(60))
def test_a_redrawn_picture_keeps_its_promises(w: int, h: int, edge: int, mode: str, form: str, noise: bool) -> None:
    data = picture((w, h), form, mode=mode, noise=noise)
    drawn = redraw(data, edge)
    size = scaled(check(data), edge)
    assert Image.open(io.BytesIO(drawn.data)).size == (size.width, size.height)
    assert len(drawn.data) <= worst_bytes(Pixels(size.width, size.height))
    assert drawn == redraw(data, edge)


async def test_a_rendition_is_the_same_after_a_restart_and_without_its_cache(blobs: BlobStore, tmp_path: Path) -> None:
    media = await Intake(blobs).to_media(picture((900, 600), noise=True), "n.png")
    shown = Shown(media, Form.NATIVE, 333)
    first = await Renditions(blobs, tmp_path / "a").open(shown)
    assert await Renditions(blobs, tmp_path / "a").open(shown) == first
    assert await Renditions(blobs, tmp_path / "b").open(shown) == first
    assert as_picture(first[0]).size == (333, 222)


async def test_what_was_made_once_is_read_again_and_a_torn_file_is_made_anew(blobs: BlobStore, tmp_path: Path) -> None:
    media = await Intake(blobs).to_media(picture((90, 60)), "n.png")
    shown = Shown(media, Form.NATIVE, 40)
    renditions = Renditions(blobs, tmp_path / "kept")
    first = await renditions.open(shown)
    (kept,) = (tmp_path / "kept").rglob("*.native.*")
    blobs.path(media.blob.sha256).unlink()
    assert await renditions.open(shown) == first, "the blob was opened again"
    await blobs.put(picture((90, 60)))
    kept.write_bytes(kept.read_bytes()[:100])
    assert await renditions.open(shown) == first


async def test_forgetting_a_blob_erases_what_was_made_of_it_alone(blobs: BlobStore, tmp_path: Path) -> None:
    renditions = Renditions(blobs, tmp_path / "kept")
    one = await Intake(blobs).to_media(picture((90, 60)), "1.png")
    other = await Intake(blobs).to_media(picture((60, 90)), "2.png")
    for media in (one, other):
        for edge in (30, 40):
            await renditions.open(Shown(media, Form.NATIVE, edge))
    await renditions.forget(one.blob.sha256)
    left = [path.name for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert len(left) == 2
    assert all(name.startswith(other.blob.sha256) for name in left)


async def test_a_rendition_that_cannot_be_kept_is_shown_all_the_same(blobs: BlobStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    media = await Intake(blobs).to_media(picture((90, 60)), "n.png")
    (opened,) = await Renditions(blobs, tmp_path / "file").open(Shown(media, Form.NATIVE, 30))
    assert as_picture(opened).size == (30, 20)


@pytest.mark.parametrize(("turn", "upright"), [(1, (80, 40)), (3, (80, 40)), (6, (40, 80)), (8, (40, 80))])
async def test_a_redrawn_photo_stands_upright(
    turn: int, upright: tuple[int, int], blobs: BlobStore, renditions: Renditions
) -> None:
    media = await Intake(blobs).to_media(picture((800, 400), "JPEG", exif=turn), "photo.jpg")
    (opened,) = await renditions.open(Shown(media, Form.NATIVE, 80))
    drawn = as_picture(opened)
    assert drawn.size == upright
    red_at = {1: (4, 20), 3: (76, 20), 6: (20, 4), 8: (20, 76)}[turn]
    red, green, _ = drawn.convert("RGB").getpixel(red_at)  # type: ignore[misc]  # a tuple, for this mode
    assert red > 200 > 60 > green


async def test_transparency_stays(blobs: BlobStore, renditions: Renditions) -> None:
    out = io.BytesIO()
    Image.new("RGBA", (200, 200), (255, 0, 0, 90)).save(out, "PNG")
    media = await Intake(blobs).to_media(out.getvalue(), "glass.png")
    (opened,) = await renditions.open(Shown(media, Form.NATIVE, 50))
    assert as_picture(opened).mode == "RGBA"
    assert as_picture(opened).getpixel((25, 25)) == (255, 0, 0, 90)


async def test_a_transparent_picture_too_rich_for_png_stays_transparent(
    blobs: BlobStore, renditions: Renditions
) -> None:
    media = await Intake(blobs).to_media(picture((600, 400), mode="RGBA", noise=True), "noise.png")
    (opened,) = await renditions.open(Shown(media, Form.NATIVE, 500))
    assert as_picture(opened).has_transparency_data
    assert isinstance(opened, OpenedBytes)
    assert len(opened.data) <= worst_bytes(Pixels(500, 333))


async def test_what_is_kept_is_for_its_owner_alone(blobs: BlobStore, tmp_path: Path) -> None:
    media = await Intake(blobs).to_media(picture((90, 60)), "n.png")
    await Renditions(blobs, tmp_path / "kept").open(Shown(media, Form.NATIVE, 30))
    (kept,) = (path for path in (tmp_path / "kept").rglob("*") if path.is_file())
    assert kept.stat().st_mode & 0o077 == 0


async def test_an_animation_goes_whole_or_says_that_it_is_its_first_picture(
    blobs: BlobStore, renditions: Renditions
) -> None:
    out = io.BytesIO()
    frames = [Image.new("RGB", (100, 50), color) for color in ("red", "green", "blue")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    media = await Intake(blobs).to_media(out.getvalue(), "dance.gif")
    assert await renditions.open(Shown(media, Form.NATIVE)) == (OpenedBytes("image/gif", out.getvalue()),)
    still, said = await renditions.open(Shown(media, Form.NATIVE, 50))
    assert as_picture(still).size == (50, 25)
    assert "the first of its 3 pictures is shown" in as_text(said)


@pytest.mark.parametrize("mode", ["1", "P", "LA", "CMYK", "I;16", "F"])
def test_odd_colours_are_drawn_in_plain_ones(mode: str) -> None:
    out = io.BytesIO()
    Image.new("L", (64, 32), 200).convert("I" if mode == "I;16" else mode).convert(mode).save(out, "TIFF")
    drawn = Image.open(io.BytesIO(redraw(out.getvalue(), 16).data))
    assert drawn.size == (16, 8)
    assert min(drawn.convert("L").tobytes()) > 150
