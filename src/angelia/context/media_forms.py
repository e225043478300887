"""Which form a medium takes for a model, and the words for both sides when it can take none.

Nothing is dropped: every medium becomes a `Shown`, or a `AsText` that speaks to the person and to the model.
"""

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from angelia.context.request import Shown
from angelia.core.content import Form, Media, MediaKind
from angelia.core.profile import Ability, ImageLimits, Profile
from angelia.core.text import clean, one_line

WIRE_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What all wires take as it is (OpenAI, "Images and vision"; Anthropic, "Vision": both name these four)."""

REDRAWN_PICTURES = frozenset(
    {"image/bmp", "image/x-ms-bmp", "image/tiff", "image/avif", "image/jp2", "image/x-icon", "image/vnd.microsoft.icon"}
)
"""Pictures that `store.media.renditions` draws anew as PNG or JPEG, because no wire takes them."""

PAGE_EDGE = 1568
"""Pixels of a page's longer edge; larger pictures are scaled down to it on arrival (Anthropic, "Vision")."""

MOST_TEXT = 200_000
"""Bytes of a text, or characters of a PDF, that a model is shown at once: some 50,000 tokens."""

MOST_PAGES = 20
"""Pages of a PDF that go as pictures: some 30,000 tokens."""

STEPS = (1568, 1024, 768, 512, 384, 256)
"""Long edges that `smaller` goes down by, in pixels; at the last one a picture costs a hundred tokens."""

_WORDS = frozenset(
    {
        *("json", "x-ndjson", "jsonl", "xml", "yaml", "x-yaml", "toml", "sql", "x-sql", "graphql", "rtf", "x-subrip"),
        *("javascript", "x-javascript", "ecmascript", "typescript", "x-sh", "x-shellscript", "x-csh", "x-perl"),
        *("x-python", "x-ruby", "x-php", "x-httpd-php", "x-tex", "x-latex"),
    }
)
"""Subtypes outside `text/` that are text all the same."""

_SOUNDS: dict[str, frozenset[str]] = {
    "openai-chat": frozenset({"audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3"}),
    "openai-responses": frozenset(),
    "anthropic": frozenset(),
}
"""What a wire can carry at all: `input_audio.format` is wav or mp3 (OpenAI reference, Chat Completions); Responses and
Messages have no sound in what a person says.
"""

Refused = frozenset[MediaKind]
"""The kinds that this model has refused in their native form; what it refused once it is not given again."""


class Nature(StrEnum):
    """What a medium is to a model, judged by its content."""

    PICTURE = "picture"
    PDF = "PDF"
    WORDS = "text"
    SOUND = "recording"
    FILM = "film"
    OTHER = "file"


class Pixels(Struct, frozen=True):
    """The size of a picture."""

    width: int
    height: int


class AsText(Struct, frozen=True):
    """A medium reaches the model as one `line` of text only; the person reads `because` and `then`."""

    because: str
    then: str
    line: str


def form_of(media: Media, profile: Profile, refused: Refused = frozenset()) -> Shown | AsText:
    """The form in which `profile`'s model gets `media`; a picture over the limits is scaled, never refused.

    What nobody knows the model to refuse goes natively. The same arguments give the same form, always.
    """
    match nature(media):
        case Nature.PICTURE:
            return _picture(media, profile, refused)
        case Nature.PDF:
            return _pdf(media, profile, refused)
        case Nature.WORDS:
            return Shown(media, Form.TEXT)
        case Nature.SOUND:
            return _sound(media, profile, refused)
        case Nature.FILM:
            return _cannot(media, "no model here takes films", "Give it single pictures of the film, or its sound.")
        case Nature.OTHER:
            return _cannot(
                media,
                "models take pictures, PDFs, text and sound, but not this",
                "It can still work on the file with its tools.",
            )


def smaller(shown: Shown, profile: Profile) -> Shown | None:
    """The next smaller form of what was refused or takes too much space; None when there is none."""
    if nature(shown.media) is Nature.PDF and shown.form is Form.NATIVE:
        return _read_out(shown.media, profile, profile.images)
    if shown.form is Form.TEXT or nature(shown.media) not in (Nature.PICTURE, Nature.PDF):
        return None
    now = max(shown.media.width, shown.media.height) or PAGE_EDGE + 1
    edge = min(shown.long_edge or now, now)
    step = next((step for step in STEPS if step < edge), 0)
    if step:
        return Shown(shown.media, shown.form, step)
    return Shown(shown.media, Form.TEXT) if shown.form is Form.TEXT_OR_PAGES else None


def nature(media: Media) -> Nature:
    """What `media` is: by its MIME type first, by its kind where the type says nothing."""
    mime = _mime(media)
    main, _, sub = mime.partition("/")
    if media.blob.size == 0:
        return Nature.WORDS
    if mime in WIRE_PICTURES or mime in REDRAWN_PICTURES:
        return Nature.PICTURE
    if mime == "application/pdf":
        return Nature.PDF
    if main == "audio" or media.media in (MediaKind.AUDIO, MediaKind.VOICE):
        return Nature.SOUND
    if main == "video" or media.media is MediaKind.VIDEO:
        return Nature.FILM
    if main == "text" or sub in _WORDS or sub.endswith(("+json", "+xml", "+yaml")):
        return Nature.WORDS
    return Nature.OTHER


def scaled(size: Pixels, long_edge: int) -> Pixels:
    """`size` scaled down so that its longer edge is at most `long_edge`; 0 leaves it. No side falls below 1.

    >>> scaled(Pixels(4000, 3000), 1568)
    Pixels(width=1568, height=1176)
    """
    longer = max(size.width, size.height)
    if not long_edge or longer <= long_edge:
        return size
    return Pixels(max(1, size.width * long_edge // longer), max(1, size.height * long_edge // longer))


def worst_bytes(size: Pixels) -> int:
    """The most bytes that a picture drawn anew may have: 1.25 a pixel, with what headers and thin pictures take.

    `store.media.pictures` keeps this promise by encoding more coarsely where it must; ordinary photos need 0.2 to 0.5.
    """
    return 4096 + (size.width + 16) * (size.height + 16) * 5 // 4


def long_edge_for(media: Media, limits: ImageLimits, body_limit: int = 0) -> int:
    """The longer edge, in pixels, at which a picture keeps all limits; 0 when it does so as it is.

    `limits.bytes` counts the file, before base64. A picture of unknown size is judged as a square of `PAGE_EDGE`.
    """
    edge = max(media.width, media.height)
    size = Pixels(media.width, media.height) if edge else Pixels(PAGE_EDGE, PAGE_EDGE)
    most, on_wires = _most_bytes(limits, body_limit), _mime(media) in WIRE_PICTURES
    if on_wires and not (most and media.blob.size > most) and not _beyond(size, limits, 0):
        return 0
    longer = max(size.width, size.height)
    fitting = _largest(longer, lambda e: not _beyond(scaled(size, e), limits, most))
    if fitting < longer:
        return fitting
    # Small enough in pixels and too large in bytes: one pixel less makes it be drawn anew, which mends the bytes.
    return max(1, fitting - 1) if on_wires else 0


def size_words(size: int) -> str:
    """Bytes as people write them.

    >>> [size_words(n) for n in (0, 1, 999, 12_345, 3_400_000)]
    ['0 bytes', '1 byte', '999 bytes', '12.3 kB', '3.4 MB']
    """
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    return f"{size / 1e3:.1f} kB" if size < 999_950 else f"{size / 1e6:.1f} MB"


def label(media: Media) -> str:
    """What both sides call a medium: nature, name, size; on one line, whatever its name holds."""
    name = quoted(media.name)
    facts = [f"{media.width}×{media.height} pixels" if media.width else "", size_words(media.blob.size)]
    facts.insert(0, f"{media.pages} pages" if media.pages > 1 else "")
    return ", ".join(fact for fact in (f"{_word(media)} {name}".rstrip(), *facts) if fact)


def quoted(name: str) -> str:
    """A file's name in quotes, on one line, without quotes and control characters of its own; empty stays empty."""
    plain = "".join(c if c.isprintable() else " " for c in clean(name)).replace('"', "'")
    return f'"{one_line(plain)}"' if plain.strip() else ""


def _mime(media: Media) -> str:
    return media.blob.mime.partition(";")[0].strip().lower()


def _word(media: Media) -> str:
    return str(nature(media)) if nature(media) in (Nature.PICTURE, Nature.SOUND, Nature.FILM) else "file"


def _picture(media: Media, profile: Profile, refused: Refused) -> Shown | AsText:
    if _ability(profile.images, MediaKind.IMAGE in refused) is Ability.NO:
        return _cannot(
            media,
            f"{profile.name} takes no pictures",
            "Choose a model that does (`angelia models` lists them), or configure one that describes pictures.",
        )
    if media.as_is and _mime(media) in WIRE_PICTURES:
        return Shown(media, Form.NATIVE)
    return Shown(media, Form.NATIVE, long_edge_for(media, profile.image_limits, profile.body_limit))


def _pdf(media: Media, profile: Profile, refused: Refused) -> Shown:
    most = _most_in_body(profile.body_limit)
    too_large = bool(most and media.blob.size > most)
    if too_large or _ability(profile.documents, MediaKind.DOCUMENT in refused) is Ability.NO:
        return _read_out(media, profile, _ability(profile.images, MediaKind.IMAGE in refused))
    return Shown(media, Form.NATIVE)


def _read_out(media: Media, profile: Profile, pictures: Ability) -> Shown:
    """A PDF's text, with pictures of the pages without text if the model takes them."""
    if pictures is Ability.NO:
        return Shown(media, Form.TEXT)
    most = _most_bytes(profile.image_limits, profile.body_limit)
    edge = _largest(PAGE_EDGE, lambda e: not _beyond(Pixels(e, e), profile.image_limits, most))
    return Shown(media, Form.TEXT_OR_PAGES, edge)


def _sound(media: Media, profile: Profile, refused: Refused) -> Shown | AsText:
    if media.words:
        words = f"[{label(media)}, in which is said: {media.words}]"
        return AsText(f"Of the {label(media)}, the model gets the words.", "", words)
    heard = not refused & {MediaKind.AUDIO, MediaKind.VOICE}
    if _ability(profile.audio, not heard) is Ability.NO:
        return _cannot(
            media,
            f"{profile.name} takes no sound",
            "Choose a model that does, or configure a transcriber, or send the words as text.",
        )
    carried = _SOUNDS.get(profile.wire)
    if carried is not None and _mime(media) not in carried:
        return _cannot(
            media,
            f"the way to {profile.name} carries {'WAV and MP3 only' if carried else 'no sound'}",
            "Convert it to WAV or MP3, or configure a transcriber."
            if carried
            else "Choose a model that takes sound, or configure a transcriber.",
        )
    return Shown(media, Form.NATIVE)


def _cannot(media: Media, why: str, then: str) -> AsText:
    mime = one_line(_mime(media))
    kind = f" ({mime})" if nature(media) is Nature.OTHER and mime else ""
    return AsText(
        because=f"The {label(media)}{kind}, reaches the model by name only: {why}.",
        then=then,
        line=f"[{label(media)}{kind}: its content is not shown, because {why}]",
    )


def _ability(known: Ability, refused: bool) -> Ability:
    return Ability.NO if refused else known


def _most_in_body(body_limit: int) -> int:
    """Bytes of one medium that fit a body: base64 adds a third, and a tenth is left for everything else."""
    return body_limit * 27 // 40


def _most_bytes(limits: ImageLimits, body_limit: int) -> int:
    return min((n for n in (limits.bytes, _most_in_body(body_limit)) if n), default=0)


def _beyond(size: Pixels, limits: ImageLimits, most_bytes: int) -> bool:
    return (
        bool(limits.long_edge and max(size.width, size.height) > limits.long_edge)
        or bool(limits.pixels and size.width * size.height > limits.pixels)
        or bool(most_bytes and worst_bytes(size) > most_bytes)
    )


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest edge from 1 to `most` that fits; `fits` holds for every edge below one for which it holds."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
