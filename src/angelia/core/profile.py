"""What a model can take and what it costs, as far as anybody knows."""

from enum import StrEnum

from msgspec import Struct

from angelia.core.amounts import Count


class Ability(StrEnum):
    """Whether a model takes something. UNKNOWN is tried, and a refusal is learnt from."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ImageLimits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one picture may be. 0 means no known limit. `tokens` names the vendor's formula (`context.budget`)."""

    bytes: Count = 0
    long_edge: Count = 0
    pixels: Count = 0
    count: Count = 0
    tokens: str = "patch"


class Prices(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """US dollars per million tokens; -1 when unknown."""

    input: float = -1.0
    output: float = -1.0
    cache_read: float = -1.0
    cache_write: float = -1.0


class Profile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model. `name` is `vendor:model` as people write it; `wire` names the protocol.

    `window` and `max_output` are tokens, 0 when unknown. `body_limit` is bytes of one request, 0 when unknown.
    `cache_marks` is how many explicit prompt-cache marks the wire allows, 0 where caching is automatic.
    `quirks` are named in `models/catalog/vendor_table.py`. `prefill` says whether a reply can be continued in place.
    """

    name: str
    vendor: str
    model: str
    wire: str
    window: int = 0
    max_output: int = 0
    images: Ability = Ability.UNKNOWN
    documents: Ability = Ability.UNKNOWN
    audio: Ability = Ability.UNKNOWN
    tools: Ability = Ability.UNKNOWN
    thinking: Ability = Ability.UNKNOWN
    prefill: Ability = Ability.NO
    body_limit: int = 0
    image_limits: ImageLimits = ImageLimits()
    cache_marks: int = 0
    quirks: tuple[str, ...] = ()
    prices: Prices = Prices()
