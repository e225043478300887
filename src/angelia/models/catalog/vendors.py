"""Vendors as rows of a table, and the profile of one of their models."""

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.errors import ConfigError
from angelia.core.profile import Ability, ImageLimits, Prices, Profile
from angelia.models.catalog.prices import KnownModel

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
"""Every quirk a row may have; the head of vendors.toml says what each means."""


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
    window: int | None = None
    max_output: int | None = None
    quirks: tuple[str, ...] = ()


class Vendor(ModelAbilities, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row of vendors.toml, whose head explains the fields."""

    name: str
    wire: str
    base_url: str = ""
    base_url_env: tuple[str, ...] = ()
    key_env: tuple[str, ...] = ()
    local: bool = False
    prices: str = ""
    window: int = 0
    max_output: int = 0
    body_limit: int = 0
    image_limits: ImageLimits = ImageLimits()
    cache_marks: int = 0
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

SPEECH_VENDORS: Rows = {
    "elevenlabs": Vendor(
        name="elevenlabs",
        wire="elevenlabs",
        base_url="https://api.elevenlabs.io/v1",
        base_url_env=("ELEVENLABS_BASE_URL",),
        key_env=("ELEVENLABS_API_KEY",),
    )
}
"""Vendors that speak and have no models to talk with; a row of the user's is laid over them by its name."""


PICTURE_VENDORS: Rows = {
    one.name: one
    for one in (
        Vendor(
            name="fal",
            wire="fal",
            base_url="https://queue.fal.run",
            base_url_env=("FAL_BASE_URL",),
            key_env=("FAL_KEY",),
        ),
        Vendor(
            name="replicate",
            wire="replicate",
            base_url="https://api.replicate.com/v1",
            base_url_env=("REPLICATE_BASE_URL",),
            key_env=("REPLICATE_API_TOKEN",),
        ),
        Vendor(
            name="comfyui",
            wire="comfyui",
            base_url="http://127.0.0.1:8188",
            base_url_env=("COMFYUI_BASE_URL",),
            local=True,
        ),
    )
}
"""Vendors that make pictures and have no models to talk with; a row of the user's is laid over them by its name."""


def vendors(own: Mapping[str, Mapping[str, object]] | None = None) -> Rows:
    """The table, with rows of the user's `own` laid over it field by field.

    Raises:
        ConfigError: a row of the user's has a field or value that no vendor can have, or no wire.
    """
    if not own:
        return _table()
    raw = _raw()
    return {**_table(), **{name: _row(name, {**raw.get(name, {}), **fields}) for name, fields in own.items()}}


def vendor(name: str, rows: Rows | None = None) -> Vendor:
    """The vendor of that name.

    Raises:
        ConfigError: there is none.
    """
    rows = rows or vendors()
    if name not in rows:
        raise ConfigError(
            f"There is no vendor named {name!r}.",
            f"Known ones are {', '.join(sorted(rows))}.",
            "Name a model as VENDOR:MODEL, or describe the vendor in the config file under [vendors].",
        )
    return rows[name]


def profile(spec: str, rows: Rows | None = None, known: KnownModel | None = None) -> Profile:
    """What is known of the model `spec` (`vendor:model`), without asking anybody; `known` comes from a `PriceBook`.

    >>> profile("anthropic:claude-sonnet-4-5").quirks
    ('thinking_budget',)

    Raises:
        ConfigError: the name has no vendor, or one that does not exist.
    """
    name, colon, model = spec.partition(":")
    if not colon or not model:
        raise ConfigError(
            f"{spec!r} does not name a model.",
            "A model is named VENDOR:MODEL.",
            f"For example openai:{name or 'gpt-5'}.",
        )
    row = vendor(name, rows)
    fields: dict[str, Any] = {field: getattr(row, field) for field in ModelAbilities.__struct_fields__}
    fields |= {"window": row.window, "max_output": row.max_output}
    quirks = list(row.quirks)
    for special in row.models:
        if fnmatchcase(model, special.match):
            quirks += special.quirks
            said = {field: getattr(special, field) for field in fields}
            fields |= {field: value for field, value in said.items() if value is not None}
    if known and known.window:
        fields["window"] = known.window
    prices = Prices(0.0, 0.0, 0.0, 0.0) if row.local else known.prices if known else Prices()
    return Profile(
        name=spec,
        vendor=name,
        model=model,
        wire=row.wire,
        body_limit=row.body_limit,
        image_limits=row.image_limits,
        cache_marks=row.cache_marks,
        quirks=tuple(dict.fromkeys(quirks)),
        prices=prices,
        **fields,
    )


def local_servers(rows: Rows | None = None) -> dict[str, str]:
    """The vendors that are servers on this machine, with where each is looked for."""
    return {name: row.address() for name, row in (rows or vendors()).items() if row.local and row.address()}


@cache
def _raw() -> dict[str, dict[str, object]]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("vendors.toml").read_text("utf-8"))


@cache
def _table() -> dict[str, Vendor]:
    return {name: _row(name, fields) for name, fields in _raw().items()}


def _row(name: str, fields: Mapping[str, object]) -> Vendor:
    try:
        row = msgspec.convert({**fields, "name": name}, Vendor)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The vendor {name!r} is described wrongly: {error}.") from error
    if unknown := {*row.quirks, *(quirk for model in row.models for quirk in model.quirks)} - QUIRKS:
        raise ConfigError(
            f"The vendor {name!r} has a quirk that nobody knows: {', '.join(sorted(unknown))}.",
            then=f"Quirks are {', '.join(sorted(QUIRKS))}.",
        )
    return row
