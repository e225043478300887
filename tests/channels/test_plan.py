"""A delivery becomes messages: each file by its best kind, its next one, a link, or a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.channels.capabilities import As, Capabilities, IncomingKind, Kind, NativeMethod, Units, Way, faults
from angelia.channels.markup.html import TelegramHtml
from angelia.channels.plan import CannotPiece, FilePiece, Piece, TextPiece, plan
from angelia.core.content import BlobRef, Content, Media, MediaKind, Text

MB = 1_000_000
WAYS: dict[Kind, Way] = {
    **dict.fromkeys(Kind, NativeMethod("do")),
    Kind.PHOTO: NativeMethod("photo", 10 * MB, 30, ("image/jpeg", "image/png"), longest=10_000, ratio=20),
    Kind.ANIMATION: NativeMethod("animation", 50 * MB, 20),
    Kind.VOICE: NativeMethod("voice", 50 * MB, 20),
    Kind.AUDIO: NativeMethod("audio", 50 * MB, 0, ("audio/mpeg", "audio/mp4")),
    Kind.VIDEO: As(Kind.DOCUMENT, "this chat has no videos"),
    Kind.DOCUMENT: NativeMethod("document", 50 * MB, 20),
    Kind.ALBUM: NativeMethod("album", most=3),
}
ABILITIES = Capabilities(WAYS, dict.fromkeys(IncomingKind, NativeMethod("hear")), 400, Units.UTF16)
FILMS = Capabilities({**WAYS, Kind.VIDEO: NativeMethod("video", 50 * MB, 20)}, ABILITIES.hears, 100)


def media(mime: str, kind: MediaKind = MediaKind.IMAGE, **other: object) -> Media:
    """A medium of 1 kB."""
    size = other.pop("size", 1000)
    return Media(BlobRef("ab" * 32, size, mime), kind, **({"name": "a file"} | other))  # type: ignore[arg-type]


def planned(*parts: Content, capabilities: Capabilities = ABILITIES) -> tuple[Piece, ...]:
    """What becomes of these."""
    return plan(parts, capabilities, TelegramHtml())


def test_the_table_of_this_test_is_complete() -> None:
    assert not faults(ABILITIES)


JPEG = media("image/jpeg", width=800, height=600)
LARGE = "too large for a photo (12.0 MB, at most 10.0 MB)"
ROWS = [
    (JPEG, Kind.PHOTO, ""),
    (media("image/webp"), Kind.DOCUMENT, "sent as a file: image/webp is not taken as a photo"),
    (media("image/tiff"), Kind.DOCUMENT, ""),
    (media("image/gif"), Kind.ANIMATION, ""),
    (media("image/jpeg", size=12 * MB), Kind.DOCUMENT, f"sent as a file: {LARGE}"),
    (
        media("image/png", width=9000, height=1001),
        Kind.DOCUMENT,
        "sent as a file: too many pixels for a photo (9000 × 1001, at most 10000 for both together)",
    ),
    (
        media("image/png", width=10, height=201),
        Kind.DOCUMENT,
        "sent as a file: too narrow for a photo (10 × 201, at most 20 to 1)",
    ),
    (media("image/jpeg", MediaKind.DOCUMENT), Kind.DOCUMENT, ""),
    (media("audio/ogg", MediaKind.VOICE), Kind.VOICE, ""),
    (
        media("audio/mpeg", MediaKind.VOICE),
        Kind.AUDIO,
        "sent as a recording: a voice message has to be Ogg with Opus",
    ),
    (media("audio/mpeg", MediaKind.AUDIO), Kind.AUDIO, ""),
    (media("audio/ogg", MediaKind.AUDIO), Kind.DOCUMENT, "sent as a file: audio/ogg is not taken as a recording"),
    (media("video/mp4", MediaKind.VIDEO), Kind.DOCUMENT, "sent as a file: this chat has no videos"),
    (
        media("application/octet-stream", MediaKind.VIDEO, name="A.MP4"),
        Kind.DOCUMENT,
        "sent as a file: this chat has no videos",
    ),
    (media("application/pdf", MediaKind.AUDIO), Kind.DOCUMENT, ""),
    (media("text/plain", MediaKind.IMAGE, name="not.jpg"), Kind.DOCUMENT, ""),
    (media("", MediaKind.IMAGE, name="Makefile", size=0), Kind.DOCUMENT, ""),
]


@pytest.mark.parametrize(("given_media", "kind", "note"), ROWS)
def test_a_file_goes_as(given_media: Media, kind: Kind, note: str) -> None:
    (piece,) = planned(given_media)
    assert isinstance(piece, FilePiece)
    assert (piece.kind, piece.note, piece.media) == (kind, note, given_media)


def test_words_before_a_file_are_its_caption_if_they_fit() -> None:
    caption, alone = Text("*short* & sweet"), Text("these words are too long for it")
    (piece,) = planned(caption, JPEG)
    assert isinstance(piece, FilePiece)
    assert piece.caption
    assert piece.caption.plain == "short & sweet"
    before, after = planned(alone, JPEG)
    assert before == TextPiece(alone.text, alone.text)
    assert isinstance(after, FilePiece)
    assert after.caption is None


def test_a_kind_without_captions_has_the_words_before_it() -> None:
    kinds = [type(piece) for piece in planned(Text("song"), media("audio/mpeg", MediaKind.AUDIO), Text("after"))]
    assert kinds == [TextPiece, FilePiece, TextPiece]


def test_what_no_kind_takes_fails_with_its_numbers_and_stops_nothing() -> None:
    huge = media("application/zip", MediaKind.DOCUMENT, name="all.zip", size=60 * MB)
    words, cannot, other = planned(Text("here"), huge, media("application/pdf", MediaKind.DOCUMENT))
    assert words == TextPiece("here", "here")
    assert cannot == CannotPiece(
        huge, "all.zip (60.0 MB) cannot go to this chat: too large for a file (60.0 MB, at most 50.0 MB)."
    )
    assert isinstance(other, FilePiece)


def test_what_no_kind_takes_goes_as_a_link_where_links_are_made() -> None:
    huge = media("application/zip", MediaKind.DOCUMENT, name="a<b>.zip", size=60 * MB)
    (piece,) = plan([huge], ABILITIES, TelegramHtml(), lambda one: f"https://files.example/{one.blob.sha256[:4]}")
    assert isinstance(piece, TextPiece)
    assert piece.marked.startswith('<a href="https://files.example/abab">a&lt;b&gt;.zip</a> (60.0 MB), sent as a link')
    assert "https://files.example/abab" in piece.plain


def test_a_nameless_file_has_a_name_of_its_type() -> None:
    names = [
        planned(media(mime, kind, name=""))[0]
        for mime, kind in (("image/png", MediaKind.IMAGE), ("x/y", MediaKind.DOCUMENT))
    ]
    assert [one.name for one in names if isinstance(one, FilePiece)] == ["photo.png", "file"]


mimes = st.sampled_from(["image/jpeg", "image/gif", "audio/ogg", "audio/mpeg", "video/mp4", "application/pdf", "", "x"])
files = st.builds(
    lambda mime, kind, size, name: Media(BlobRef("cd" * 32, size, mime), kind, name=name),
    mimes,
    st.sampled_from(MediaKind),
    st.integers(0, 80 * MB),
    st.text(max_size=8),
)


@given(st.lists(files | st.text(max_size=300).map(Text), max_size=8), st.sampled_from([ABILITIES, FILMS]))
def test_every_file_is_in_exactly_one_message_or_refused(parts: list[Content], capabilities: Capabilities) -> None:
    found: list[Media] = []
    for piece in plan(parts, capabilities, TelegramHtml()):
        match piece:
            case FilePiece(media=one) | CannotPiece(media=one):
                found.append(one)
            case TextPiece(plain=plain):
                assert plain.strip()
    assert found == [part for part in parts if isinstance(part, Media)]
