"""What is on this machine already: models that can be had, and programs of the kind that somebody comes from."""

from pathlib import Path

from msgspec import Struct

from angelia.core.errors import ModelError
from angelia.models.catalog.credentials import NO_KEY
from angelia.models.catalog.listing import list_models
from angelia.models.local.weights import WEIGHTS, offered_weights, weights_path
from angelia.service.models.catalog import ModelCatalog
from angelia.service.models.choice import at_hand, listed_in_place, local_vendors, placed_at, vendors_with_keys

_MOST_OF_A_SERVER = 3
"""Models of one local server that are offered; all can be typed."""

SIGNS = {
    "Hermes": (".hermes", "hermes"),
    "OpenClaw": (".openclaw", "openclaw"),
    "Claude Code": (".claude", "claude"),
    "Codex": (".codex", ""),
}
"""Programs by the folder that they keep in the person's home, and how `angelia import` calls them, if it knows them."""


class OfferedModel(Struct, frozen=True):
    """A model that could be used, and why it is offered. `size` are the bytes that have to be got first."""

    spec: str
    why: str
    size: int = 0


async def models_at_hand(catalog: ModelCatalog) -> list[OfferedModel]:
    """Best first: those of vendors whose keys are here, those of servers on this machine, the embedded one."""
    found = [OfferedModel(spec, f"a key of {spec.partition(':')[0]} is here") for spec in at_hand(catalog)]
    for vendor in vendors_with_keys(catalog):
        if address := placed_at(vendor, catalog):
            there = (await listed_in_place(vendor, catalog))[:_MOST_OF_A_SERVER]
            found += [OfferedModel(f"{vendor}:{one.model}", f"at {address}, with your key") for one in there]
    for vendor in await local_vendors(catalog):
        row = catalog.rows[vendor]
        client = await catalog.client(row)
        try:
            listed = await list_models(row, client, NO_KEY) if client else ()
        except ModelError:
            continue
        found += [
            OfferedModel(f"{vendor}:{one.model}", f"{vendor} runs on this machine")
            for one in listed[:_MOST_OF_A_SERVER]
        ]
    return [*found, embedded_model(catalog.weights)]


def embedded_model(folder: Path) -> OfferedModel:
    """The embedded model that fits this machine, or is here already."""
    name = offered_weights(folder)
    size = 0 if weights_path(name, folder).is_file() else WEIGHTS[name].size
    to_get = f", {size / 1e6:,.0f} MB to get" if size else ""
    return OfferedModel(f"local:{name}", f"within Angelia: free and private, for simple things{to_get}", size)


def programs_seen(person: Path) -> list[str]:
    """The programs that were used here, by the folders they leave in `person`, the user's home."""
    return [name for name, (folder, _) in SIGNS.items() if (person / folder).is_dir()]


def import_commands(person: Path) -> list[str]:
    """What shows, for each of them that can be imported, what there is in it."""
    found = [(folder, name) for folder, name in SIGNS.values() if name and (person / folder).is_dir()]
    return [f"angelia import {name} ~/{folder} --dry-run" for folder, name in found]
