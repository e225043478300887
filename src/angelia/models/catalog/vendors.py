"""The vendors that there are, with those of a person, and the profile of one of their models."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from angelia.core.errors import ConfigError
from angelia.core.profile import Prices, Profile
from angelia.models.catalog.prices import KnownModel
from angelia.models.catalog.vendor import QUIRKS, ModelAbilities, Rows, Vendor
from angelia.models.catalog.vendor_table import VENDORS


def vendors(own: Mapping[str, Mapping[str, object]] | None = None) -> Rows:
    """The table, with rows of the user's `own` laid over it field by field.

    Raises:
        ConfigError: a row of the user's has a field or value that no vendor can have, or no wire.
    """
    return {**VENDORS, **{name: _row(name, fields) for name, fields in (own or {}).items()}}


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
            f"For example openai:{(not colon and name) or 'gpt-5'}.",
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


def _row(name: str, fields: Mapping[str, object]) -> Vendor:
    known = msgspec.to_builtins(VENDORS[name]) if name in VENDORS else {}
    try:
        row = msgspec.convert({**known, **fields, "name": name}, Vendor)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The vendor {name!r} is described wrongly: {error}.") from error
    if unknown := {*row.quirks, *(quirk for model in row.models for quirk in model.quirks)} - QUIRKS:
        raise ConfigError(
            f"The vendor {name!r} has a quirk that nobody knows: {', '.join(sorted(unknown))}.",
            then=f"Quirks are {', '.join(sorted(QUIRKS))}.",
        )
    return row
