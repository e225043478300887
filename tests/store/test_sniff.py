"""The type of a file is read off its bytes."""

import io
import zipfile

import pytest

from angelia.store.media.sniff import HEAD, sniff


def archive(*names: str, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as writer:
        for name in names:
            writer.writestr(name, "x" * 500)
    return data.getvalue()


def open_document(kind: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_STORED) as writer:
        writer.writestr("mimetype", kind)
        writer.writestr("content.xml", "<x/>")
    return data.getvalue()


OFFICE = "application/vnd.openxmlformats-officedocument"
ODT = "application/vnd.oasis.opendocument.text"

SAMPLES = {
    "image/png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "image/gif": b"GIF89a\x01\0\x01\0",
    "image/webp": b"RIFF\x24\0\0\0WEBPVP8 ",
    "image/avif": b"\0\0\0\x20ftypavif\0\0\0\0",
    "image/heic": b"\0\0\0\x18ftypheic\0\0\0\0",
    "application/pdf": b"%PDF-1.4\n%\xe2\xe3",
    "application/zip": archive("a.txt"),
    f"{OFFICE}.wordprocessingml.document": archive("[Content_Types].xml", "_rels/.rels", "word/document.xml"),
    f"{OFFICE}.spreadsheetml.sheet": archive("[Content_Types].xml", "xl/workbook.xml"),
    f"{OFFICE}.presentationml.presentation": archive("[Content_Types].xml", "ppt/presentation.xml"),
    ODT: open_document(ODT),
    "application/gzip": b"\x1f\x8b\x08\0",
    "audio/ogg": b"OggS\0\x02",
    "audio/mpeg": b"ID3\x04\0",
    "audio/wav": b"RIFF\x24\0\0\0WAVEfmt ",
    "audio/flac": b"fLaC\0",
    "audio/mp4": b"\0\0\0\x20ftypM4A \0\0\0\0",
    "video/mp4": b"\0\0\0\x20ftypisom\0\0\x02\0",
    "video/quicktime": b"\0\0\0\x14ftypqt  \0\0\0\0",
    "video/webm": b"\x1aE\xdf\xa3\x01",
    "video/x-msvideo": b"RIFF\x24\0\0\0AVI LIST",
    "text/plain": "Grüße, 世界\n\tline\r\n".encode(),
    "application/octet-stream": b"\x7fELF\x02\x01\x01\0",
}


@pytest.mark.parametrize("mime", SAMPLES)
def test_a_sample_is_known_as(mime: str) -> None:
    assert sniff(SAMPLES[mime]) == mime


def test_a_sound_without_tags_is_known_by_its_frames() -> None:
    assert sniff(b"\xff\xfb\x90\x64\0\0") == "audio/mpeg"


def test_text_that_is_cut_within_a_character_is_text() -> None:
    assert sniff(("a" + "é" * HEAD).encode()[:HEAD]) == "text/plain"


@pytest.mark.parametrize("data", [b"a\0b", b"caf\xe9 au lait", b"\x80"])
def test_what_is_not_utf8_is_not_called_text(data: bytes) -> None:
    assert sniff(data) == "application/octet-stream"


def test_nothing_is_empty_text() -> None:
    assert sniff(b"") == "text/plain"


def test_words_at_the_wrong_place_mean_nothing() -> None:
    assert sniff(b"12345678WEBP is an image format") == "text/plain"
