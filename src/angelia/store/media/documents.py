"""PDFs, page by page: the text in them, and pictures of the pages that have none."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct

from angelia.context.media_forms import quoted
from angelia.core.errors import BadInput, MissingPart
from angelia.core.text import clean, shorten
from angelia.store.media.pictures import ONE_AT_A_TIME, encode

if TYPE_CHECKING:
    from types import ModuleType

_BARE = 16
"""A page with fewer letters than this is shown as a picture: scans often carry a stamp or a page number as text."""

_PASSWORD = 4
"""`FPDF_ERR_PASSWORD` (PDFium, fpdfview.h)."""


class PageText(Struct, frozen=True, tag=True):
    """What is written on a page (numbered from 1); empty where nothing is."""

    number: int
    text: str


class PagePicture(Struct, frozen=True, tag=True):
    """A picture of a page."""

    number: int
    mime: str
    data: bytes


class Missing(Struct, frozen=True, tag=True):
    """Pages that are left out, and why."""

    first: int
    last: int
    because: str


Page = PageText | PagePicture | Missing


def can_read() -> bool:
    """Whether the part that reads PDFs is installed."""
    return find_spec("pypdfium2") is not None


def count_pages(data: bytes | Path | BinaryIO, name: str = "") -> int:
    """How many pages a PDF has; one that lies in a file is not held in memory whole.

    Raises:
        BadInput: damaged, or locked by a password.
        MissingPart: pypdfium2 is not installed.
    """
    with _opened(data, name) as document:
        return len(document)


def read_pages(
    data: bytes | BinaryIO, *, long_edge: int, most_text: int, most_pictures: int, name: str = ""
) -> tuple[Page, ...]:
    """Every page of a PDF, in order, as text, as a picture, or as missing for a reason.

    Pages without text become pictures of `long_edge` pixels, the first `most_pictures` of them; 0 makes none.
    Over `most_text` characters, the pages in the middle are left out.

    Raises:
        BadInput: damaged, or locked by a password.
        MissingPart: pypdfium2 is not installed.
    """
    with _opened(data, name) as document:
        texts = [_text(document, index) for index in range(len(document))]
        kept = keep_ends([len(text or "") for text in texts], most_text)
        pages: list[Page] = []
        left = most_pictures if long_edge else 0
        for index, text in enumerate(texts):
            number = index + 1
            if text is None:
                pages.append(Missing(number, number, "damaged"))
            elif not long_edge or not _is_bare(text):
                too_much = Missing(number, number, f"at most {most_text} characters are shown")
                pages.append(PageText(number, shorten(text, most_text)) if index in kept else too_much)
            elif left:
                left -= 1
                pages.append(_drawn(document, number, long_edge))
            else:
                pages.append(Missing(number, number, f"at most {most_pictures} pages are shown as pictures"))
        return join_missing(pages)


def keep_ends(lengths: Sequence[int], most: int) -> frozenset[int]:
    """Which items to keep so that their lengths add up to at most `most`: three quarters from the front, then the end.

    The first is always kept.

    >>> sorted(keep_ends([10, 10, 10, 10, 10, 10], 40))
    [0, 1, 2, 5]
    """
    if sum(lengths) <= most:
        return frozenset(range(len(lengths)))
    kept, used = {0}, lengths[0]
    for order, limit in ((range(1, len(lengths)), most * 3 // 4), (range(len(lengths) - 1, 0, -1), most)):
        for index in order:
            if index in kept or used + lengths[index] > limit:
                break
            kept.add(index)
            used += lengths[index]
    return frozenset(kept)


def join_missing(pages: Sequence[Page]) -> tuple[Page, ...]:
    """Neighbouring pages that are missing for one reason become one."""
    joined: list[Page] = []
    for page in pages:
        last = joined[-1] if joined else None
        if isinstance(page, Missing) and isinstance(last, Missing) and last.because == page.because:
            joined[-1] = Missing(last.first, page.last, page.because)
        else:
            joined.append(page)
    return tuple(joined)


def _is_bare(text: str) -> bool:
    return sum(c.isalnum() for c in text) < _BARE


def _text(document: Any, index: int) -> str | None:
    """What is written on a page; None when it is damaged."""
    try:
        page = document[index]
    except _pdfium().PdfiumError:
        return None
    with closing(page), closing(page.get_textpage()) as words:
        return clean(words.get_text_bounded()).replace("\r\n", "\n").strip()


def _drawn(document: Any, number: int, long_edge: int) -> PagePicture:
    with closing(document[number - 1]) as page:
        scale = long_edge / max(*page.get_size(), 1.0)
        with closing(page.render(scale=scale * (1 - 1e-6))) as bitmap:  # PDFium rounds up: stay within the edge
            drawn = encode(bitmap.to_pil().convert("RGB"), photo=False)
    return PagePicture(number, drawn.mime, drawn.data)


@contextmanager
def _opened(data: bytes | Path | BinaryIO, name: str) -> Iterator[Any]:
    """The document, for one thread at a time; what PDFium says of a broken one becomes a sentence."""
    pdfium = _pdfium()
    called = f"The PDF {quoted(name)}".rstrip()
    with ONE_AT_A_TIME:
        try:
            with closing(pdfium.PdfDocument(data)) as document:
                yield document
        except pdfium.PdfiumError as error:
            if error.err_code == _PASSWORD:
                raise BadInput(f"{called} is locked by a password.", then="Save a copy without it.") from error
            raise BadInput(
                f"{called} is damaged or incomplete: it does not open.", then="Copy or export it once more."
            ) from error


def _pdfium() -> "ModuleType":
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingPart("Reading PDFs", "documents") from error
    return pypdfium2  # type: ignore[no-any-return]  # it is not typed
