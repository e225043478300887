"""Whether a painter can do what is asked of it, said before it costs anything; pure."""

import math
import re

from msgspec.structs import replace

from angelia.context.media_forms import Pixels, size_words
from angelia.core.errors import BadInput
from angelia.models.pictures.port import MOST_BYTES, AnySize, AspectRatio, PainterCapabilities, PaintWish, WishedSize

_PIXELS = re.compile(r"([1-9]\d{0,4})\s*[x×]\s*([1-9]\d{0,4})", re.IGNORECASE)
_RATIO = re.compile(r"([1-9]\d?(?:\.\d)?)\s*:\s*([1-9]\d?(?:\.\d)?)")
_USUAL = 1024 * 1024
"""Pixels of a picture for which only a shape was asked, where the painter wants pixels."""


class CannotPaint(BadInput):
    """The painter cannot do this; nothing was asked of it and nothing was paid. Says the nearest that it can."""


def wished_size(text: str) -> WishedSize:
    """What a size means: `1536x1024` is pixels, `16:9` a shape, empty or `auto` whatever the painter likes.

    Raises:
        BadInput: it is none of these.
    """
    plain = text.strip().lower()
    if plain in ("", "auto"):
        return AnySize()
    if found := _PIXELS.fullmatch(plain):
        return Pixels(int(found[1]), int(found[2]))
    if found := _RATIO.fullmatch(plain):
        return AspectRatio(float(found[1]), float(found[2]))
    raise BadInput(f"{text[:40]!r} is no size.", then="Write pixels such as 1536x1024, or a shape such as 16:9.")


def size_text(size: WishedSize) -> str:
    """A size as it is written.

    >>> size_text(AspectRatio(19.5, 9)), size_text(Pixels(64, 32)), size_text(AnySize())
    ('19.5:9', '64x32', 'auto')
    """
    match size:
        case Pixels(width=width, height=height):
            return f"{width}x{height}"
        case AspectRatio(wide=wide, high=high):
            return f"{wide:g}:{high:g}"
        case AnySize():
            return "auto"


def fitting(wish: PaintWish, able: PainterCapabilities, name: str) -> PaintWish:
    """The wish as the painter takes it; a shape becomes pixels where it wants these.

    Raises:
        CannotPaint: it cannot be done; nothing else was looked at or paid.
    """
    if not wish.prompt.strip():
        raise CannotPaint("There are no words to paint from.")
    _demand_count(wish, able, name)
    _demand_pictures(wish, able, name)
    if wish.transparent and not able.transparent:
        raise _cannot(f"{name} makes no transparent background", "ask for a plain one of a single colour")
    if wish.seed >= 0 and not able.seed:
        raise _cannot(f"{name} takes no seed", "leave it out; each picture is a new one")
    return replace(wish, size=_fitting_size(wish.size, able, name))


def _cannot(what: str, nearest: str) -> CannotPaint:
    return CannotPaint(f"{what}.", "Nothing was asked of it, and nothing was paid.", f"The nearest: {nearest}.")


def _demand_count(wish: PaintWish, able: PainterCapabilities, name: str) -> None:
    if wish.count < 1:
        raise CannotPaint(f"{wish.count} pictures cannot be painted.", then="Ask for 1 or more.")
    if wish.count > able.count:
        raise _cannot(f"{name} makes at most {able.count} at once, not {wish.count}", f"ask for {able.count}")


def _demand_pictures(wish: PaintWish, able: PainterCapabilities, name: str) -> None:
    given = len(wish.pictures)
    if given and not able.pictures:
        raise _cannot(f"{name} works from words alone, not from pictures", "describe in words what the picture shows")
    if given < able.least:
        many = f"{able.least} picture{'s' if able.least > 1 else ''}"
        raise _cannot(f"{name} changes {many}, and makes none without, not from {given}", f"give {many}")
    if given > able.pictures:
        raise _cannot(f"{name} works on at most {able.pictures} pictures, not {given}", f"give {able.pictures}")
    for number, picture in enumerate((*wish.pictures, *wish.mask), 1):
        if len(picture.data) > MOST_BYTES:
            size, most = size_words(len(picture.data)), size_words(MOST_BYTES)
            raise _cannot(f"Picture {number} has {size}, and {name} takes at most {most}", "give a smaller one")
    for mask in wish.mask:
        if not able.mask:
            raise _cannot(f"{name} takes no mask", "say in words which part is to change")
        if not wish.pictures:
            raise CannotPaint("A mask needs the picture to which it belongs.", then="Give it in `pictures`.")
        first = wish.pictures[0]
        if mask.mime != "image/png":
            raise _cannot("A mask has to be a PNG with transparent parts", "make one of the picture's size")
        if (mask.width, mask.height) != (first.width, first.height):
            sizes = f"{mask.width}x{mask.height}, and the picture {first.width}x{first.height}"
            raise _cannot(f"The mask is {sizes}", "make a mask of the picture's size")


def _fitting_size(size: WishedSize, able: PainterCapabilities, name: str) -> WishedSize:
    match size:
        case AnySize():
            return size
        case Pixels():
            return _fitting_pixels(size, able, name)
        case AspectRatio():
            return _fitting_ratio(size, able, name)


def _fitting_pixels(size: Pixels, able: PainterCapabilities, name: str) -> Pixels:
    if size in able.sizes or (able.step and _nearest_step(size, able) == size):
        return size
    if not able.sizes and not able.step:
        shapes = [size_text(_nearest(able.ratios, size.width / size.height))] if able.ratios else []
        raise _cannot(f"{name} takes no size in pixels", f"size {shapes[0]}" if shapes else "leave the size out")
    nearest = _nearest_step(size, able) if able.step else min(able.sizes, key=lambda one: _distance(one, size))
    raise _cannot(f"{name} does not paint {size_text(size)}", f"size {size_text(nearest)}")


def _fitting_ratio(shape: AspectRatio, able: PainterCapabilities, name: str) -> WishedSize:
    if shape in able.ratios:
        return shape
    ratio = shape.wide / shape.high
    if able.step:
        high = math.sqrt(_USUAL / ratio)
        made = _nearest_step(Pixels(round(high * ratio), round(high)), able)
        if _close(made.width / made.height, ratio):
            return made
        raise _cannot(f"{name} paints nothing as thin as {size_text(shape)}", f"size {size_text(made)}")
    if same := [size for size in able.sizes if _close(size.width / size.height, ratio)]:
        return same[0]
    if able.ratios:
        raise _cannot(
            f"{name} does not paint the shape {size_text(shape)}", f"size {size_text(_nearest(able.ratios, ratio))}"
        )
    if able.sizes:
        nearest = min(able.sizes, key=lambda one: abs(math.log(one.width / one.height / ratio)))
        raise _cannot(f"{name} does not paint the shape {size_text(shape)}", f"size {size_text(nearest)}")
    raise _cannot(f"{name} takes no size", "leave the size out")


def _nearest_step(size: Pixels, able: PainterCapabilities) -> Pixels:
    """The nearest size that the painter takes; the same where it takes it as it is."""
    width, height = min(size.width, able.longest), min(size.height, able.longest)
    shrink = min(1.0, math.sqrt(able.most_pixels / (width * height)))
    width, height = (max(able.step, round(side * shrink / able.step) * able.step) for side in (width, height))
    while width * height > able.most_pixels:  # rounded up beyond it, by less than a step
        width, height = (width - able.step, height) if width >= height else (width, height - able.step)
    longer = math.floor(min(width, height) * able.thinnest / able.step) * able.step
    return Pixels(min(width, longer), min(height, longer))


def _nearest(ratios: tuple[AspectRatio, ...], ratio: float) -> AspectRatio:
    return min(ratios, key=lambda one: abs(math.log(one.wide / one.high / ratio)))


def _distance(one: Pixels, other: Pixels) -> float:
    shape = abs(math.log(one.width / one.height / (other.width / other.height)))
    return shape + abs(math.log(one.width * one.height / (other.width * other.height))) / 4


def _close(one: float, other: float) -> bool:
    """Within a fiftieth: sides are whole pixels, and often multiples of 16."""
    return abs(one / other - 1) <= 0.02


def in_words(able: PainterCapabilities) -> str:
    """What a painter can be asked for, for people.

    >>> in_words(PainterCapabilities(step=8, pictures=1, seed=True))
    'any size up to 4096 pixels a side, changes 1 picture, seeds'
    """
    said = [f"any size up to {able.longest} pixels a side"] if able.step else []
    said += [", ".join(map(size_text, able.sizes))] if able.sizes and not able.step else []
    said += [f"shapes such as {', '.join(map(size_text, able.ratios[:3]))}"] if able.ratios else []
    said += [f"{able.count} at once"] if able.count > 1 else []
    said += [f"changes {able.pictures} picture{'s' if able.pictures > 1 else ''}"] if able.pictures else []
    marks = {"masks": able.mask, "transparent backgrounds": able.transparent, "seeds": able.seed}
    return ", ".join([*said, *(name for name, known in marks.items() if known)])


OPAQUE = "has no transparent part; asked for was a transparent background."
"""What is told of a picture that came back without it."""


def differences(wish: PaintWish, made: list[Pixels]) -> list[str]:
    """What came back otherwise than it was asked for, as measured."""
    told = [f"{wish.count} were asked for, and {len(made)} came."] if len(made) != wish.count else []
    for number, size in enumerate(made, 1):
        if not (size.width and size.height):
            continue
        match wish.size:
            case Pixels() if size != wish.size:
                other = True
            case AspectRatio(wide=wide, high=high):
                other = not _close(size.width / size.height, wide / high)
            case _:
                other = False
        if other:
            told.append(f"Picture {number} is {size_text(size)}; asked for was {size_text(wish.size)}.")
    return told
