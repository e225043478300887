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
"""docs.x.ai, "Image Generation" (shapes by `aspect_ratio`, n up to 10) and "Imagine Overview" ("multi-image editing
supports up to 3 source images in a single request")."""

_GEMINI_RATIOS = _ratios("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
_GEMINI_OLD = PainterCapabilities(ratios=_GEMINI_RATIOS, pictures=3)
"""ai.google.dev, "Image generation": "gemini-2.5-flash-image works best with up to 3 images as input"; it names no
number that is refused."""
_GEMINI = PainterCapabilities(ratios=_GEMINI_RATIOS, pictures=14)
"""The same, of gemini-3-pro-image: "5 images with high fidelity, and up to 14 images in total"; 3.1 Flash takes as
many."""

_FLUX_RATIOS = _ratios("1:1", "16:9", "21:9", "3:2", "2:3", "4:5", "5:4", "3:4", "4:3", "9:16", "9:21")
_FLUX_2 = PainterCapabilities(ratios=_FLUX_RATIOS, pictures=4, seed=True)
_KONTEXT = PainterCapabilities(ratios=_FLUX_RATIOS, pictures=1, seed=True)

PAINTERS = (
    PainterRow("openai:gpt-image-1*", "images", "openai", _GPT_IMAGE),
    PainterRow("openai:gpt-image-2*", "images", "openai", _GPT_ANY_SIZE),
    PainterRow("openai:*", "images", "openai", _GPT_IMAGE),
    # The model that reads the wish has the name; which one paints is OpenAI's choice, so the sizes are those of all.
    PainterRow(
        "responses:*",
        "responses",
        "",
        PainterCapabilities(sizes=_GPT_SIZES, pictures=16, mask=True, transparent=True),
    ),
    PainterRow("gemini:gemini-2.5*", "chat", "gemini", _GEMINI_OLD),
    PainterRow("gemini:*", "chat", "gemini", _GEMINI),
    # openrouter.ai/docs, "Image Generation": models that paint and do nothing else are asked for pictures alone.
    PainterRow("openrouter:black-forest-labs/*", "chat", "openrouter-image", PainterCapabilities(pictures=1)),
    PainterRow("openrouter:sourceful/*", "chat", "openrouter-image", PainterCapabilities(pictures=1)),
    PainterRow("openrouter:*", "chat", "openrouter", PainterCapabilities(pictures=3)),
    PainterRow("xai:grok-2-image*", "images", "xai", PainterCapabilities(count=10)),
    PainterRow("xai:*", "images", "xai", _GROK),
    # fal.ai, "API" of each model. The number of pictures is Google's for nano-banana; for FLUX.2 none is published, and
    # four is what the same model takes elsewhere.
    PainterRow(
        "fal:*nano-banana*",
        "fal",
        "",
        PainterCapabilities(ratios=_GEMINI_RATIOS, pictures=14, count=4),
    ),
    PainterRow(
        "fal:fal-ai/flux-2*",
        "fal",
        "",
        PainterCapabilities(step=16, longest=2048, pictures=4, count=4, seed=True),
    ),
    PainterRow("fal:*", "fal", "", PainterCapabilities(step=16, longest=2048, count=4, seed=True)),
    # replicate.com, "API" of each model: its input schema.
    PainterRow("replicate:black-forest-labs/flux-2*", "replicate", "input_images", _FLUX_2),
    PainterRow("replicate:black-forest-labs/flux-kontext*", "replicate", "input_image", _KONTEXT),
    PainterRow(
        "replicate:black-forest-labs/flux-[ds]*",
        "replicate",
        "",
        PainterCapabilities(ratios=_FLUX_RATIOS, count=4, seed=True),
    ),
    PainterRow(
        "replicate:google/nano-banana*",
        "replicate",
        "image_input",
        PainterCapabilities(ratios=_GEMINI_RATIOS, pictures=14),
    ),
    PainterRow("replicate:*", "replicate", "", PainterCapabilities()),
    # What it can be asked for stands in the person's workflow.
    PainterRow("comfyui:*", "comfyui", "", PainterCapabilities()),
    # github.com/leejet/stable-diffusion.cpp, examples/server/api.md. Its mask is white where it paints, ours clear.
    # Sizes: it rounds up in silence to a multiple of its VAE's factor times its model's (src/stable-diffusion.cpp):
    # 8 x 8 with a UNet (SD 1, 2, XL), 8, 16 or 32 with others. What is a multiple of 64 all of them paint as it is.
    PainterRow("sdcpp:*", "images", "sdcpp", PainterCapabilities(step=64, pictures=4, count=4, seed=True)),
    # localai.io, "Image generation": one picture as `file`.
    PainterRow("localai:*", "images", "localai", PainterCapabilities(step=8, pictures=1, count=4, seed=True)),
    PainterRow("webui:*", "webui", "", PainterCapabilities(step=64, longest=2048, pictures=1, seed=True)),
    PainterRow("*", "images", "compatible", PainterCapabilities(step=8, count=4)),
)
"""The first that matches counts; the last is what any server of that wire may be asked for."""


def painter_row(server: str, model: str) -> PainterRow:
    """The row of a model behind a server of this kind."""
    return next(row for row in PAINTERS if fnmatchcase(f"{server}:{model}", row.match))
