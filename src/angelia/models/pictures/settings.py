"""What the settings say of the painter."""

from typing import Annotated

from msgspec import Meta, Struct

from angelia.core.amounts import PositiveAmount


class PainterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`model` is `vendor:model`, or `command:LINE` with `{prompt}` and `{out}` in it; empty paints nothing.

    `server` says how the vendor's server is spoken to, where its name does not: openai, responses, xai, gemini,
    openrouter, fal, replicate, webui, sdcpp, localai, comfyui. `price` is US dollars for one picture, and goes before
    what the price list says; -1 for unknown. `seconds` is how long one picture may take. `workflow` is the file of
    ComfyUI's workflow, with `{prompt}` in it.
    """

    model: str = ""
    server: str = ""
    price: Annotated[float, Meta(ge=-1)] = -1.0
    seconds: PositiveAmount = 300.0
    workflow: str = ""
