"""Text and PDFs as a model gets them: read out, framed, and never silently cut."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from angelia.context.request import OpenedBytes, OpenedText, Shown
from angelia.core.content import Form, Media, MediaKind
from angelia.core.errors import BadInput
from angelia.installation import installing
from angelia.store.media import processes
from angelia.store.media.blobs import BlobStore
from angelia.store.media.documents import Missing, PageText, count_pages, join_missing, keep_ends, read_pages
from angelia.store.media.measure import Intake
from angelia.store.media.plaintext import read_text
from angelia.store.media.renditions import Renditions
from tests.store.drawn import as_picture, as_text, pdf, picture

pytestmark = pytest.mark.anyio


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    (tmp_path / "home").mkdir()
    return BlobStore(tmp_path / "home")


@pytest.fixture
def renditions(blobs: BlobStore, tmp_path: Path) -> Renditions:
    return Renditions(blobs, tmp_path / "renditions")


async def test_text_is_framed_by_name_size_and_end(blobs: BlobStore, renditions: Renditions) -> None:
    media = await Intake(blobs).to_media("Grüße\r\nan alle".encode(), 'a "b".txt')
    (opened,) = await renditions.open(Shown(media, Form.TEXT))
    assert as_text(opened) == "[file \"a 'b'.txt\", 16 bytes]\nGrüße\nan alle\n[end of file]"


async def test_an_empty_file_says_so(blobs: BlobStore, renditions: Renditions) -> None:
    media = await Intake(blobs).to_media(b"", "nothing.txt")
    assert await renditions.open(Shown(media, Form.TEXT)) == (OpenedText('[file "nothing.txt", 0 bytes: it is empty]'),)


WORDS = "Ünïcödé, 漢字 und 🎻: a line\n" * 3


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (WORDS.encode(), WORDS),
        (WORDS.encode("utf-8-sig"), WORDS),
        (WORDS.encode("utf-16"), WORDS),
        (b"\xfe\xff" + WORDS.encode("utf-16-be"), WORDS),
        (WORDS.encode("utf-32"), WORDS),
        ("café à la crème\n".encode("latin-1"), "café à la crème\n"),
        ("“quoted” – in Windows\n".encode("cp1252"), "“quoted” – in Windows\n"),
        ("mostly UTF-8: äöü".encode() + b"\xff", "mostly UTF-8: äöü\ufffd"),
        (b"nul\x00 here", "nul\ufffd here"),
        (b"\xff\xfe" + b"\x00\xd8a\x00", "\ufffda"),
    ],
)
def test_text_of_any_encoding_is_read(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    assert read_text(tmp_path / "x", 10_000).replace("\ufffd\ufffd", "\ufffd") == text


@given(st.text(min_size=30, max_size=300), st.sampled_from(["utf-8", "utf-16"]), st.integers(64, 600))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_long_text_loses_its_middle_only_and_says_how_much(
    tmp_path: Path, text: str, encoding: str, most: int
) -> None:
    data = text.encode(encoding, "replace")
    (tmp_path / "x").write_bytes(data)
    read = read_text(tmp_path / "x", most)
    assert all(not 0xD800 <= ord(c) <= 0xDFFF and c != "\0" for c in read)
    if len(data) > most:
        assert "left out here" in read
        head, _, tail = read.partition("\n… (")
        whole = read_text(tmp_path / "x", len(data))
        assert whole.startswith(head[:-1])
        assert whole.endswith(tail.partition(") …\n")[2][1:])
    else:
        assert read == read_text(tmp_path / "x", len(data))


async def test_a_pdf_goes_as_it_is_where_it_may(blobs: BlobStore, renditions: Renditions) -> None:
    data = pdf("one", "two")
    media = await Intake(blobs).to_media(data, "x.pdf")
    assert media.pages == 2
    assert await renditions.open(Shown(media, Form.NATIVE)) == (OpenedBytes("application/pdf", data),)


async def test_a_pdf_is_read_out_page_by_page(blobs: BlobStore, renditions: Renditions) -> None:
    media = await Intake(blobs).to_media(pdf("The cat sat on the mat", "", "short"), "x.pdf")
    (opened,) = await renditions.open(Shown(media, Form.TEXT))
    assert as_text(opened) == (
        f'[file "x.pdf", 3 pages, {media.blob.size / 1e3:.1f} kB]\n'
        "[page 1]\nThe cat sat on the mat\n[page 2: no text]\n[page 3]\nshort\n[end of file]"
    )


async def test_pages_without_text_go_as_pictures_in_their_place(blobs: BlobStore, renditions: Renditions) -> None:
    media = await Intake(blobs).to_media(pdf("The cat sat on the mat", "", "A dog barks at the moon"), "x.pdf")
    before, page, after = await renditions.open(Shown(media, Form.TEXT_OR_PAGES, 400))
    assert as_text(before).endswith("[page 1]\nThe cat sat on the mat\n[page 2, as a picture]")
    assert as_picture(page).size == (300, 400)
    assert as_picture(page).convert("RGB").getpixel((50, 350)) == (255, 0, 0)
    assert as_text(after) == "[page 3]\nA dog barks at the moon\n[end of file]"


async def test_a_scanned_pdf_shows_its_first_pages_and_names_the_rest(blobs: BlobStore, tmp_path: Path) -> None:
    out = io.BytesIO()
    scans = [Image.new("RGB", (200, 300), color) for color in ("red", "green", "blue", "white", "black")]
    scans[0].save(out, "PDF", save_all=True, append_images=scans[1:])
    media = await Intake(blobs).to_media(out.getvalue(), "scan.pdf")
    renditions = Renditions(blobs, tmp_path / "r", most_pages=2)
    opened = await renditions.open(Shown(media, Form.TEXT_OR_PAGES, 300))
    assert [type(one) for one in opened] == [OpenedText, OpenedBytes, OpenedText, OpenedBytes, OpenedText]
    assert "[pages 3 to 5 left out: at most 2 pages are shown as pictures]" in as_text(opened[-1])
    assert await Renditions(blobs, tmp_path / "r", most_pages=2).open(Shown(media, Form.TEXT_OR_PAGES, 300)) == opened


def test_a_long_pdf_loses_pages_of_its_middle_and_names_them() -> None:
    pages = read_pages(
        pdf(*(f"this is what page {n} says" for n in range(10))), long_edge=0, most_text=120, most_pictures=0
    )
    assert [page.number for page in pages if isinstance(page, PageText)] == [1, 2, 3, 9, 10]
    assert Missing(4, 8, "at most 120 characters are shown") in pages


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 400))
def test_the_ends_that_are_kept_fit(lengths: list[int], most: int) -> None:
    kept = keep_ends(lengths, most)
    assert 0 in kept
    assert sum(lengths[i] for i in kept) <= max(most, lengths[0])


def test_neighbouring_gaps_are_told_as_one() -> None:
    gaps = (Missing(1, 1, "a"), Missing(2, 2, "a"), Missing(3, 3, "b"), PageText(4, "x"), Missing(5, 5, "b"))
    assert join_missing(gaps) == (Missing(1, 2, "a"), *gaps[2:])


async def test_a_pdf_without_the_part_that_reads_it_says_what_to_install(
    blobs: BlobStore, renditions: Renditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = await Intake(blobs).to_media(pdf("words that nobody reads"), "x.pdf")

    monkeypatch.setattr(processes, "can_read", lambda: False)
    (opened,) = await renditions.open(Shown(media, Form.TEXT))
    assert installing("documents") in as_text(opened)
    monkeypatch.undo()
    (opened,) = await renditions.open(Shown(media, Form.TEXT))
    assert "words that nobody reads" in as_text(opened), "a failure was kept"


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (lambda media: Shown(media, Form.NATIVE, 10), "does not decode"),
        (lambda media: Shown(media, Form.TEXT), "there is no text in it"),
    ],
)
async def test_what_cannot_be_opened_is_a_line_that_says_so(
    shown: Callable[[Media], Shown], said: str, blobs: BlobStore, renditions: Renditions
) -> None:
    blob = await blobs.put(picture((90, 60))[:150], mime="image/png")
    (opened,) = await renditions.open(shown(Media(blob, MediaKind.IMAGE, name="cut.png", width=90, height=60)))
    assert said in as_text(opened)
    assert as_text(opened).startswith('[picture "cut.png"')


@pytest.mark.parametrize("form", Form)
async def test_bytes_that_are_gone_or_damaged_are_a_line_that_says_so(
    form: Form, blobs: BlobStore, renditions: Renditions
) -> None:
    for data, name in ((picture((90, 60)), "x.png"), (b"words", "x.txt"), (pdf("x"), "x.pdf"), (b"\0\1", "x.bin")):
        media = await Intake(blobs).to_media(data, name)
        path = blobs.path(media.blob.sha256)
        path.unlink()  # what is stored may not be written
        path.write_bytes(b"other" + data)
        damaged = await renditions.open(Shown(media, form, 10))
        assert damaged
        path.unlink()
        (opened,) = await renditions.open(Shown(media, form, 20))
        assert f'"{name}"' in as_text(opened)


def test_pdfs_that_cannot_be_opened_say_why() -> None:
    with pytest.raises(BadInput, match=r'The PDF "x.pdf" is damaged or incomplete'):
        count_pages(b"%PDF-1.4\nnothing here", "x.pdf")
    with pytest.raises(BadInput, match=r'The PDF "x.pdf" is locked by a password'):
        count_pages(LOCKED, "x.pdf")


def test_a_damaged_page_does_not_hide_the_others() -> None:
    broken = pdf("The first page is lost", "The second page is whole").replace(b"/Kids[5 0 R", b"/Kids[9 0 R")
    pages = read_pages(broken, long_edge=300, most_text=1000, most_pictures=1)
    assert pages == (Missing(1, 1, "damaged"), PageText(2, "The second page is whole"))


LOCKED = (
    b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Count 0/Kids[]>>endobj
3 0 obj<</Filter/Standard/V 1/R 2/P -4/O<"""
    + b"11" * 32
    + b""">/U<"""
    + b"22" * 32
    + b""">>>endobj
trailer<</Size 4/AllowedRoot 1 0 R/Encrypt 3 0 R/ID[<00><00>]>>
%%EOF"""
)
