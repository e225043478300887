"""Which form a medium takes for which model, and that none is dropped without a word."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from angelia.context.media_forms import (
    PAGE_EDGE,
    REDRAWN_PICTURES,
    WIRE_PICTURES,
    AsText,
    Nature,
    Pixels,
    form_of,
    label,
    long_edge_for,
    nature,
    quoted,
    scaled,
    size_words,
    smaller,
    worst_bytes,
)
from angelia.context.request import Shown
from angelia.core.content import BlobRef, Form, Media, MediaKind
from angelia.core.profile import Ability, ImageLimits, Profile

YES, NO, UNKNOWN = Ability.YES, Ability.NO, Ability.UNKNOWN
OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MIMES = sorted(
    WIRE_PICTURES
    | REDRAWN_PICTURES
    | {"application/pdf", "text/plain", "text/csv; charset=utf-8", "application/json", "image/svg+xml", "image/heic"}
    | {"audio/mpeg", "audio/ogg", "audio/x-wav", "video/mp4", "application/zip", "application/octet-stream", "", OFFICE}
)
WIRES = ("openai-chat", "openai-responses", "anthropic", "somebody-else")


def media(
    mime: str, kind: MediaKind = MediaKind.DOCUMENT, *, size: int = 1000, edges: tuple[int, int] = (0, 0)
) -> Media:
    return Media(BlobRef("ab" * 32, size, mime), kind, name="it.bin", width=edges[0], height=edges[1])


def profile(
    images: Ability = YES,
    documents: Ability = YES,
    audio: Ability = YES,
    *,
    wire: str = "openai-chat",
    limits: ImageLimits | None = None,
    body_limit: int = 0,
) -> Profile:
    return Profile(
        "v:m",
        "v",
        "m",
        wire,
        images=images,
        documents=documents,
        audio=audio,
        image_limits=limits or ImageLimits(),
        body_limit=body_limit,
    )


def outcome(medium: Media, who: Profile, refused: frozenset[MediaKind] = frozenset()) -> str:
    found = form_of(medium, who, refused)
    return "cannot" if isinstance(found, AsText) else str(found.form)


@pytest.mark.parametrize(
    ("mime", "images", "documents", "audio", "expected"),
    [
        ("image/png", YES, NO, NO, "native"),
        ("image/png", UNKNOWN, NO, NO, "native"),
        ("image/png", NO, YES, YES, "cannot"),
        ("image/tiff", UNKNOWN, NO, NO, "native"),
        ("image/tiff", NO, YES, YES, "cannot"),
        ("image/heic", YES, YES, YES, "cannot"),
        ("image/svg+xml", NO, NO, NO, "text"),
        ("application/pdf", NO, YES, NO, "native"),
        ("application/pdf", NO, UNKNOWN, NO, "native"),
        ("application/pdf", YES, NO, NO, "text_or_pages"),
        ("application/pdf", UNKNOWN, NO, NO, "text_or_pages"),
        ("application/pdf", NO, NO, NO, "text"),
        ("text/plain", NO, NO, NO, "text"),
        ("text/x-python", NO, NO, NO, "text"),
        ("text/csv; charset=utf-16", NO, NO, NO, "text"),
        ("application/json", NO, NO, NO, "text"),
        ("application/geo+json", NO, NO, NO, "text"),
        ("application/xml", NO, NO, NO, "text"),
        ("application/zip", YES, YES, YES, "cannot"),
        (OFFICE, YES, YES, YES, "cannot"),
        ("application/octet-stream", YES, YES, YES, "cannot"),
        ("audio/mpeg", NO, NO, YES, "native"),
        ("audio/x-wav", NO, NO, UNKNOWN, "native"),
        ("audio/mpeg", YES, YES, NO, "cannot"),
        ("audio/ogg", YES, YES, YES, "cannot"),
        ("video/mp4", YES, YES, YES, "cannot"),
    ],
)
def test_a_medium_takes_the_form_that_the_model_takes(
    mime: str, images: Ability, documents: Ability, audio: Ability, expected: str
) -> None:
    assert outcome(media(mime), profile(images, documents, audio)) == expected


@pytest.mark.parametrize(
    ("wire", "mime", "expected"),
    [
        ("openai-chat", "audio/mpeg", "native"),
        ("openai-chat", "audio/ogg", "cannot"),
        ("anthropic", "audio/mpeg", "cannot"),
        ("bridge", "audio/ogg", "native"),
    ],
)
def test_a_recording_goes_only_where_the_wire_can_carry_it(wire: str, mime: str, expected: str) -> None:
    assert outcome(media(mime, MediaKind.VOICE), profile(wire=wire)) == expected


@pytest.mark.parametrize(
    ("mime", "kind", "expected"),
    [
        ("image/png", MediaKind.IMAGE, "cannot"),
        ("application/pdf", MediaKind.DOCUMENT, "text_or_pages"),
        ("audio/mpeg", MediaKind.AUDIO, "cannot"),
        ("audio/mpeg", MediaKind.VOICE, "cannot"),
    ],
)
def test_what_a_model_refused_is_not_given_to_it_again(mime: str, kind: MediaKind, expected: str) -> None:
    assert outcome(media(mime), profile(UNKNOWN, UNKNOWN, UNKNOWN)) == "native"
    assert outcome(media(mime), profile(UNKNOWN, UNKNOWN, UNKNOWN), frozenset({kind})) == expected


def test_an_empty_file_is_text_whatever_it_is_called() -> None:
    for mime in MIMES:
        assert outcome(media(mime, size=0), profile(NO, NO, NO)) == "text"


def test_a_picture_sent_as_a_document_is_still_a_picture() -> None:
    assert nature(media("image/jpeg", MediaKind.DOCUMENT)) is Nature.PICTURE


def test_a_pdf_too_large_for_the_body_goes_as_its_text() -> None:
    who = profile(body_limit=32_000_000)
    assert outcome(media("application/pdf", size=21_000_000), who) == "native"
    assert outcome(media("application/pdf", size=24_000_000), who) == "text_or_pages"


def test_a_refusal_speaks_to_both_sides() -> None:
    found = form_of(media("image/png", size=1_234_000, edges=(800, 600)), profile(images=NO))
    assert isinstance(found, AsText)
    assert found.because == (
        'The picture "it.bin", 800×600 pixels, 1.2 MB, reaches the model by name only: v:m takes no pictures.'
    )
    assert "angelia models" in found.then
    assert found.line == (
        '[picture "it.bin", 800×600 pixels, 1.2 MB: its content is not shown, because v:m takes no pictures]'
    )


capabilities = st.sampled_from([YES, NO, UNKNOWN])
limits = st.builds(
    ImageLimits,
    bytes=st.sampled_from([0, 50_000, 3_750_000, 20_000_000]),
    long_edge=st.sampled_from([0, 512, 1568, 8000]),
    pixels=st.sampled_from([0, 100_000, 1_200_000, 36_000_000]),
)
profiles = st.builds(
    profile,
    capabilities,
    capabilities,
    capabilities,
    wire=st.sampled_from(WIRES),
    limits=limits,
    body_limit=st.sampled_from([0, 1_000_000, 32_000_000]),
)
edges = st.one_of(st.just((0, 0)), st.tuples(st.integers(1, 12_000), st.integers(1, 12_000)))
media_of_all_kinds = st.builds(
    lambda mime, kind, size, edges, name: Media(
        BlobRef("ab" * 32, size, mime), kind, name=name, width=edges[0], height=edges[1]
    ),
    st.one_of(st.sampled_from(MIMES), st.text(max_size=12)),
    st.sampled_from(MediaKind),
    st.integers(0, 300_000_000),
    edges,
    st.text(max_size=40),
)
refusals = st.frozensets(st.sampled_from(MediaKind))


@given(media_of_all_kinds, profiles, refusals)
def test_no_medium_is_dropped_in_silence(medium: Media, who: Profile, refused: frozenset[MediaKind]) -> None:
    match form_of(medium, who, refused):
        case Shown(media=same, form=form, long_edge=edge):
            assert same == medium
            assert edge >= 0
            assert form is not Form.NATIVE or nature(medium) in (Nature.PICTURE, Nature.PDF, Nature.SOUND)
        case AsText(because=because, then=then, line=line):
            assert because.strip().endswith(".")
            assert then.strip().endswith(".")
            assert line.startswith("[")
            assert "\n" not in because + then + line


@given(media_of_all_kinds, profiles)
def test_what_is_not_known_to_be_refused_goes_natively(medium: Media, who: Profile) -> None:
    found = form_of(medium, who)
    if nature(medium) is Nature.PICTURE and who.images is not NO:
        assert isinstance(found, Shown)
        assert found.form is Form.NATIVE


@given(edges.filter(all), limits, st.sampled_from(sorted(WIRE_PICTURES | REDRAWN_PICTURES)), st.integers(1, 60_000_000))
def test_a_scaled_picture_keeps_every_limit(size: tuple[int, int], most: ImageLimits, mime: str, weight: int) -> None:
    medium = media(mime, MediaKind.IMAGE, size=weight, edges=size)
    edge = long_edge_for(medium, most)
    after = scaled(Pixels(*size), edge)
    assert not most.long_edge or max(after.width, after.height) <= most.long_edge
    assert not most.pixels or after.width * after.height <= most.pixels
    if most.bytes:
        as_it_is = mime in WIRE_PICTURES and (not edge or max(size) <= edge)
        assume(max(size) > 1)
        assert (weight if as_it_is else worst_bytes(after)) <= most.bytes


@given(edges.filter(all), st.integers(1, 13_000))
def test_a_picture_within_its_limits_goes_as_it_is(size: tuple[int, int], weight: int) -> None:
    most = ImageLimits(bytes=weight, long_edge=max(size), pixels=size[0] * size[1])
    assert long_edge_for(media("image/webp", size=weight, edges=size), most) == 0


def test_a_picture_too_heavy_for_its_pixels_is_drawn_anew() -> None:
    medium = media("image/png", size=9_000_000, edges=(1000, 1000))
    assert long_edge_for(medium, ImageLimits(bytes=5_000_000)) == 999


def test_the_body_limit_bounds_a_picture_too() -> None:
    medium = media("image/png", size=9_000_000, edges=(4000, 4000))
    edge = long_edge_for(medium, ImageLimits(), body_limit=2_000_000)
    assert worst_bytes(Pixels(edge, edge)) * 4 / 3 <= 0.9 * 2_000_000 < worst_bytes(Pixels(edge + 1, edge + 1)) * 4 / 3


@given(st.integers(1, 20_000), st.integers(1, 20_000), st.integers(0, 20_000))
def test_scaling_never_enlarges_and_keeps_the_shape(width: int, height: int, edge: int) -> None:
    after = scaled(Pixels(width, height), edge)
    assert 1 <= after.width <= width
    assert 1 <= after.height <= height
    assert abs(after.width * height - after.height * width) <= max(width, height)


@given(media_of_all_kinds, profiles)
def test_a_smaller_form_is_smaller_and_the_steps_end(medium: Media, who: Profile) -> None:
    shown = form_of(medium, who)
    if isinstance(shown, AsText):
        return
    steps = [shown]
    while (after := smaller(steps[-1], who)) is not None:
        before = steps[-1]
        same_form = after.form is before.form
        assert not same_form or not before.long_edge or after.long_edge < before.long_edge
        steps.append(after)
        assert len(steps) < 12
    if nature(medium) is Nature.PDF:
        assert steps[-1].form is Form.TEXT


def test_pages_are_drawn_at_an_edge_within_the_limits() -> None:
    assert form_of(media("application/pdf"), profile(documents=NO)) == Shown(
        media("application/pdf"), Form.TEXT_OR_PAGES, PAGE_EDGE
    )
    small = form_of(media("application/pdf"), profile(documents=NO, limits=ImageLimits(long_edge=800)))
    assert isinstance(small, Shown)
    assert small.long_edge == 800


@given(st.text())
def test_a_name_stays_on_one_line_and_inside_its_quotes(name: str) -> None:
    said = quoted(name)
    assert said == "" or (said[0] == said[-1] == '"' and '"' not in said[1:-1])
    assert all(c.isprintable() for c in said)


def test_sizes_and_labels_read_like_speech() -> None:
    assert [size_words(n) for n in (999_949, 999_950, 12_500_000)] == ["999.9 kB", "1.0 MB", "12.5 MB"]
    pdf = Media(BlobRef("0" * 64, 5000, "application/pdf"), MediaKind.DOCUMENT, name='a "b"\n\u202ec.pdf', pages=3)
    assert label(pdf) == "file \"a 'b' c.pdf\", 3 pages, 5.0 kB"
    assert label(Media(BlobRef("0" * 64, 5, "image/png"), MediaKind.IMAGE)) == "picture, 5 bytes"
