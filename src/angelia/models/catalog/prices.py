"""What models cost and how much they take in, from genai-prices, remembered so that a start never waits for it."""

import time
from contextlib import suppress
from math import ceil
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.entry import Usage
from angelia.core.profile import Prices, Profile

STALE = 30 * 86_400
"""Seconds after which what is remembered should be looked up again, when there is time."""


class KnownModel(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known of one model. `window` is tokens, 0 if unknown; `prices` hold up to `tier` tokens of input
    (0: always); above, and for cache marks that last an hour, genai-prices is asked. `at` is Unix seconds.
    """

    window: int = 0
    prices: Prices = Prices()
    tier: int = 0
    at: int = 0


class PriceBook:
    """What has been learnt about models, kept in one small file (`None`: for this process alone).

    The file is a cache: one that is missing, damaged or cannot be written costs a look-up and nothing else.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._models: dict[str, KnownModel] = {}
        if path is not None:
            with suppress(OSError, ValueError, msgspec.MsgspecError):
                self._models = msgspec.json.decode(path.read_bytes(), type=dict[str, KnownModel])

    def known(self, name: str) -> KnownModel | None:
        """What is remembered of `vendor:model`; costs nothing."""
        return self._models.get(name)

    def stale(self, name: str) -> bool:
        """Whether `learn` is worth its time."""
        known = self._models.get(name)
        return known is None or abs(time.time() - known.at) > STALE

    def learn(self, name: str, provider: str, window: int = 0) -> KnownModel:
        """Look `vendor:model` up under genai-prices' name of the vendor; takes 0.2 s the first time.

        `window` is what the server itself says and goes before what the table says. Run it off the event loop.
        """
        known = _looked_up(provider, name.partition(":")[2]) if provider else KnownModel()
        known = msgspec.structs.replace(known, window=window or known.window, at=int(time.time()))
        self._models[name] = known
        self._keep()
        return known

    def cost(self, profile: Profile, usage: Usage, provider: str, *, hour: bool = False) -> int:
        """What a reply cost: millionths of a US dollar, rounded up; -1 if nobody knows the price.

        Takes 0.2 s the first time that flat prices do not hold: above the tier, or with cache marks that last an
        hour; off the event loop, then.
        """
        known = self._models.get(profile.name, KnownModel())
        above = 0 < known.tier < usage.input
        if provider and profile.prices.input >= 0 and (above or (hour and usage.cache_write)):
            return _exact_cost(provider, profile.model, usage, hour=hour)
        return flat_cost(profile.prices, usage)

    def _keep(self) -> None:
        if self._path is None:
            return
        draft = self._path.with_suffix(".new")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(msgspec.json.encode(self._models))
            draft.replace(self._path)


def flat_cost(prices: Prices, usage: Usage) -> int:
    """Millionths of a US dollar, rounded up; -1 if nobody knows the price.

    >>> flat_cost(Prices(3.0, 15.0, 0.3, 3.75), Usage(input=1000, output=10, cache_read=400, cache_write=100))
    2145
    """
    if prices.input < 0 or prices.output < 0:
        return -1
    fresh = usage.input - usage.cache_read - usage.cache_write
    read = prices.cache_read if prices.cache_read >= 0 else prices.input
    written = prices.cache_write if prices.cache_write >= 0 else prices.input
    total = fresh * prices.input + usage.cache_read * read + usage.cache_write * written + usage.output * prices.output
    return ceil(round(total, 6))


def _looked_up(provider: str, model: str) -> KnownModel:
    import genai_prices
    from genai_prices.types import TieredPrices

    try:
        found = genai_prices.calc_price(genai_prices.Usage(input_tokens=1), model, provider_id=provider)
    except LookupError:
        return KnownModel()
    tiers = [1] if isinstance(found.model.prices, list) else []  # prices that change with the hour: always ask

    def flat(name: str) -> float:
        value = getattr(found.model_price, name, None)
        if isinstance(value, TieredPrices):
            tiers.extend(tier.start for tier in value.tiers)
            value = value.base
        return -1.0 if value is None else float(value)

    prices = Prices(flat("input_mtok"), flat("output_mtok"), flat("cache_read_mtok"), flat("cache_write_mtok"))
    return KnownModel(found.model.context_window or 0, prices, min(tiers, default=0))


def _exact_cost(provider: str, model: str, usage: Usage, *, hour: bool) -> int:
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        cache_write_1h_tokens=usage.cache_write if hour else None,
        output_tokens=usage.output,
    )
    try:
        price = genai_prices.calc_price(counted, model, provider_id=provider)
    except LookupError:
        return -1
    return ceil(price.total_price * 1_000_000)
