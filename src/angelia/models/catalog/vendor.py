"""What is said of a vendor of models, and of models that differ from its others."""

import os
from collections.abc import Mapping

from msgspec import Struct

from angelia.core.amounts import Count
from angelia.core.profile import Ability, ImageLimits

QUIRKS = frozenset(
    {
        "bearer",
        "cache_mark_on_top",
        "max_completion_tokens",
        "nine_character_ids",
        "no_stream_options",
        "reasoning_object",
        "reasoning_on_calls",
        "reasoning_summary",
        "send_reasoning",
        "signature_on_calls",
        "thinking_budget",
    }
)
"""Every quirk a row may have; `vendor_table` says what each means."""


class ModelAbilities(Struct, frozen=True, forbid_unknown_fields=True):
    """What models take; see `Profile`."""

    images: Ability = Ability.UNKNOWN
    documents: Ability = Ability.UNKNOWN
    audio: Ability = Ability.UNKNOWN
    tools: Ability = Ability.UNKNOWN
    thinking: Ability = Ability.UNKNOWN
    prefill: Ability = Ability.NO


class ModelRow(Struct, frozen=True, forbid_unknown_fields=True):
    """What the models that `match` (a shell pattern) do differently; what is left out stays as it is."""

    match: str
    images: Ability | None = None
    documents: Ability | None = None
    audio: Ability | None = None
    tools: Ability | None = None
    thinking: Ability | None = None
    prefill: Ability | None = None
    window: Count | None = None
    max_output: Count | None = None
    quirks: tuple[str, ...] = ()


class Vendor(ModelAbilities, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of `vendor_table`, which explains the fields."""

    name: str
    wire: str
    base_url: str = ""
    base_url_env: tuple[str, ...] = ()
    key_env: tuple[str, ...] = ()
    local: bool = False
    prices: str = ""
    window: Count = 0
    max_output: Count = 0
    body_limit: Count = 0
    image_limits: ImageLimits = ImageLimits()
    cache_marks: Count = 0
    quirks: tuple[str, ...] = ()
    models: tuple[ModelRow, ...] = ()

    def address(self, environ: Mapping[str, str] = os.environ) -> str:
        """The base URL, from the environment if one of the vendor's variables is set; empty if there is none.

        `OLLAMA_HOST` is the server's own variable: a host and port, perhaps the address it listens on.
        """
        for name in self.base_url_env:
            if not (value := environ.get(name, "").strip()):
                continue
            if not name.endswith("_HOST"):
                return value.rstrip("/")
            url = value if "://" in value else f"http://{value}"
            host = url.replace("//0.0.0.0", "//127.0.0.1").rstrip("/")
            return f"{host if host.count(':') > 1 else host + ':11434'}/v1"
        return self.base_url


Rows = Mapping[str, Vendor]
