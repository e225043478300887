"""Which painters there are: how each is spoken to, and what it can be asked for."""

from fnmatch import fnmatchcase

from msgspec import Struct

from angelia.context.media_forms import Pixels
from angelia.models.pictures.port import AspectRatio, PainterCapabilities


class PainterRow(Struct, frozen=True):
    """`match` is a shell pattern for `server:model`; `wire` names who speaks to it, `dialect` which of its variants."""

    match: str
    wire: str
    dialect: str
    able: PainterCapabilities


def _ratios(*written: str) -> tuple[AspectRatio, ...]:
    return tuple(AspectRatio(*map(float, one.split(":"))) for one in written)


_GPT_SIZES = (Pixels(1024, 1024), Pixels(1536, 1024), Pixels(1024, 1536))
_GPT_IMAGE = PainterCapabilities(sizes=_GPT_SIZES, pictures=16, mask=True, count=10, transparent=True)
"""OpenAI reference, "Create image" and "Create image edit": 16 pictures of less than 50 MB, n up to 10."""
_GPT_ANY_SIZE = PainterCapabilities(
    step=16,
    longest=3840,
    most_pixels=3840 * 2160,
    thinnest=3.0,
    pictures=16,
    mask=True,
    count=10,
    transparent=True,
)
"""The same: from gpt-image-2 on sides are multiples of 16, between 1:3 and 3:1, up to 3840x2160."""

_GROK = PainterCapabilities(
    ratios=_ratios(
        *("1:1", "3:4", "4:3", "9:16", "16:9", "2:3", "3:2", "9:19.5", "19.5:9", "9:20", "20:9", "1:2", "2:1")
    ),
    pictures=3,
    count=10,
)
"""docs.x.ai, "Image Generation": shapes by `aspect_ratio`, up to three pictures for an edit, n up to 10."""

_GEMINI = PainterCapabilities(
    ratios=_ratios("1:1", "2:3", "3:2", "3:4", "4:3", "9:16", "16:9", "21:9"),
    pictures=3,
)
"""ai.google.dev, "Image generation": these shapes; up to three pictures work best with 2.5 Flash Image."""

PAINTERS = (
    PainterRow("openai:gpt-image-1*", "images", "openai", _GPT_IMAGE),
    PainterRow("openai:gpt-image-2*", "images", "openai", _GPT_ANY_SIZE),
    PainterRow("openai:*", "images", "openai", _GPT_IMAGE),
    PainterRow("gemini:*", "chat", "gemini", _GEMINI),
    # openrouter.ai/docs, "Image Generation": models that paint and do nothing else are asked for pictures alone.
    PainterRow("openrouter:black-forest-labs/*", "chat", "openrouter-image", PainterCapabilities(pictures=1)),
    PainterRow("openrouter:sourceful/*", "chat", "openrouter-image", PainterCapabilities(pictures=1)),
    PainterRow("openrouter:*", "chat", "openrouter", PainterCapabilities(pictures=3)),
    PainterRow("xai:grok-2-image*", "images", "xai", PainterCapabilities(count=10)),
    PainterRow("xai:*", "images", "xai", _GROK),
    # github.com/leejet/stable-diffusion.cpp, examples/server/api.md. Its mask is white where it paints, ours clear.
    PainterRow("sdcpp:*", "images", "sdcpp", PainterCapabilities(step=64, pictures=4, count=4, seed=True)),
    # localai.io, "Image generation": one picture as `file`.
    PainterRow("localai:*", "images", "localai", PainterCapabilities(step=8, pictures=1, count=4, seed=True)),
    PainterRow("webui:*", "webui", "", PainterCapabilities(step=64, longest=2048, pictures=1, seed=True)),
    PainterRow("*", "images", "compatible", PainterCapabilities(step=8, count=4)),
)
"""The first that matches counts; the last is what any server of that wire may be asked for."""

SERVERS = tuple(dict.fromkeys(row.match.partition(":")[0] for row in PAINTERS if ":" in row.match))
"""What may stand in the setting `painter.server`."""


def painter_row(server: str, model: str) -> PainterRow:
    """The row of a model behind a server of this kind."""
    return next(row for row in PAINTERS if fnmatchcase(f"{server}:{model}", row.match))
