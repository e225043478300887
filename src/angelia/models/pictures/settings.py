"""What the settings say of the painter."""

from msgspec import Struct


class PainterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`model` is `vendor:model`, or `command:LINE` with `{prompt}` and `{out}` in it; empty paints nothing.

    `server` says how the vendor's server is spoken to, where its name does not: openai, xai, gemini, openrouter, webui,
    sdcpp, localai. `price` is US dollars for one picture, and goes before what the price list says; -1 for unknown.
    `seconds` is how long one picture may take.
    """

    model: str = ""
    server: str = ""
    price: float = -1.0
    seconds: float = 300.0
