"""Models, ready to be asked: profile, provider, keys, prompt, tools and price, by name."""

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from angelia.context.request import OpenMedia, ToolSpec
from angelia.core import entry as e
from angelia.core.errors import KeyMissing
from angelia.core.profile import Profile
from angelia.engine.driver import BoundModel, Refresh
from angelia.engine.model_call import Cost
from angelia.http.client import base, open_server
from angelia.http.server import HttpServer
from angelia.models.catalog.credentials import KEY_PLACES, Keyring, KeySource, ReadSecret, no_secrets
from angelia.models.catalog.prices import KnownModel, PriceBook
from angelia.models.catalog.vendor import Rows, Vendor
from angelia.models.catalog.vendors import profile, vendors
from angelia.models.context import GetServer, ProviderContext, WireTimeouts
from angelia.models.port import Credential, Price, Provider
from angelia.models.registry import open_provider
from angelia.service.models.routes import RememberedRoutes
from angelia.service.settings.config import Loaded
from angelia.store.media.blobs import BlobStore
from angelia.store.tables.key_value import KeyValue

if TYPE_CHECKING:
    import httpx2

_NEWER, _OLDER = "openai-responses", "openai-chat"
_HAS_BOTH = "https://api.openai.com/v1"
"""OpenAI's own server needs no second route."""


class ModelCatalog:
    """One per home: one server per vendor, one keyring, one price book. `notes` are what the person has to be told."""

    def __init__(
        self,
        loaded: Loaded,
        blobs: BlobStore,
        open_media: OpenMedia,
        key_value: KeyValue,
        environ: Mapping[str, str] = os.environ,
        read_secret: ReadSecret = no_secrets,
    ) -> None:
        self.notes: list[str] = []
        self._key_value = key_value
        rows, self._sources = _split(loaded.config.vendors)
        self.rows: Rows = vendors(rows)
        self.keyring = Keyring(self._sources, environ, read_secret)
        self._book = PriceBook(loaded.home / "models.json")
        self.weights = loaded.home / "models"
        self._blobs = blobs
        self._open_media = open_media
        self._environ = environ
        self._cache_hour = loaded.config.context.cache_hour
        times = loaded.config.timeouts
        self.timeouts = WireTimeouts(times.connect, times.first_byte, times.silence)
        self._servers: dict[str, asyncio.Task[HttpServer]] = {}

    def profile(self, spec: str) -> Profile:
        """What is known of a model.

        Raises:
            ConfigError: `spec` names no vendor or no model.
        """
        vendor, _, model = spec.partition(":")
        if vendor == "local" and model:
            from angelia.models.local.provider import local_profile

            return local_profile(model, self.weights)
        return profile(spec, self.rows, self._book.known(spec))

    def address(self, vendor: str) -> str:
        """The base URL at which a vendor is asked; empty if there is none."""
        return self.rows[vendor].address(self._environ)

    async def client(self, vendor: Vendor) -> "httpx2.AsyncClient | None":
        """The vendor's one HTTP client, made now if need be; None for a vendor that is not reached by HTTP.

        Raises:
            ConfigError: its base URL, its proxy or its certificates are of no use; a later call tries again.
        """
        server = await self.server(vendor)
        return server.client if server else None

    async def server(self, vendor: Vendor) -> HttpServer | None:
        """The vendor's one server, as `client` says."""
        get = self._way(vendor)
        return await get() if get else None

    def _way(self, vendor: Vendor) -> GetServer | None:
        address = vendor.address(self._environ)
        if not address:
            return None
        base(address)

        async def server() -> HttpServer:
            made = self._servers.get(vendor.name)
            if made is None or (made.done() and made.exception()):
                made = self._servers[vendor.name] = asyncio.create_task(open_server(address, self._environ))
            return await asyncio.shield(made)

        return server

    async def credentials(self, spec: str) -> tuple[Credential, ...]:
        """The keys with which a model is asked, at least one.

        Raises:
            KeyMissing: there is none; says what to set.
            ConfigError: no such vendor, or a key that cannot be read.
        """
        vendor = self.rows[self.profile(spec).vendor]
        if found := await self.keyring.pool(vendor):
            return found
        variable = vendor.key_env[0] if vendor.key_env else "key_command"
        raise KeyMissing(
            f"There is no key for {spec}.",
            then=f"Set {variable} in the environment, or key_command under [vendors.{vendor.name}] in config.toml.",
        )

    async def bound(self, spec: str, system: str, tools: tuple[ToolSpec, ...]) -> BoundModel:
        """A model with everything it takes to ask it; nothing is sent yet.

        Raises:
            KeyMissing: there is no key; says what to set.
            ConfigError: no such vendor, or a key that cannot be read.
            MissingPart: its provider needs an extra.
        """
        known = self.profile(spec)
        vendor = self.rows[known.vendor]
        credentials = await self.credentials(spec)
        context = ProviderContext(self._open_media, self._way(vendor), self.timeouts, self.weights)
        provider = self._fallback(known, vendor, context) or open_provider(known, context)
        return BoundModel(
            profile=known,
            session=provider.session(),
            system=system,
            tools=tools,
            setup=await setup_of(self._blobs, known, system, tools),
            credentials=credentials,
            cost=self._cost(known, vendor),
            refresh=self._refresh(vendor),
            first_byte=self.timeouts.first_byte if context.server else 0.0,
        )

    def _fallback(self, known: Profile, vendor: Vendor, context: ProviderContext) -> Provider | None:
        """A provider that knows two routes, for a server that need not have the one of its vendor's wire.

        What it makes by Chat Completions is marked as another maker's, since the two have no dialect in common.
        """
        address = vendor.address(self._environ)
        if known.wire != _NEWER or address == _HAS_BOTH:
            return None
        from angelia.models.wires import openai_chat, openai_responses
        from angelia.models.wires.fallback import FallbackProvider

        older = msgspec.structs.replace(known, wire=_OLDER, vendor=_OLDER)
        memory = RememberedRoutes(self._key_value, address, self.notes.append)
        newer = openai_responses.open_provider(known, context)
        return FallbackProvider(newer, openai_chat.open_provider(older, context), memory)

    def _cost(self, known: Profile, vendor: Vendor) -> Cost:
        """Prices are looked up beside the first request that needs them, never before it."""
        learning: asyncio.Task[KnownModel] | None = None

        async def price(usage: e.Usage) -> Price:
            nonlocal learning
            if vendor.prices and learning is None and self._book.stale(known.name):
                learning = asyncio.create_task(asyncio.to_thread(self._book.learn, known.name, vendor.prices))
            if learning:
                await learning
            fresh = self._book.known(known.name)
            priced = msgspec.structs.replace(known, prices=fresh.prices) if fresh else known
            hour = self._cache_hour
            return Price(
                await asyncio.to_thread(self._book.cost, priced, usage, vendor.prices, hour=hour)
                if hour
                else self._book.cost(priced, usage, vendor.prices)
            )

        return price

    def _refresh(self, vendor: Vendor) -> Refresh | None:
        if not any(source.command or source.file for source in self._sources.get(vendor.name, ())):
            return None

        async def refresh() -> tuple[Credential, ...]:
            self.keyring.forget(vendor)
            return await self.keyring.pool(vendor)

        return refresh

    async def close(self) -> None:
        """Close every connection."""
        made = await asyncio.gather(*self._servers.values(), return_exceptions=True)
        for client in made:
            if not isinstance(client, BaseException):
                await client.aclose()
        self._servers.clear()


async def setup_of(blobs: BlobStore, known: Profile, system: str, tools: tuple[ToolSpec, ...]) -> e.SetupChanged:
    """The fact of a model's setup, its parts stored."""
    prompt = await blobs.put(system.encode(), mime="text/plain")
    described = await blobs.put(msgspec.json.encode(tools), mime="application/json")
    as_json = await blobs.put(msgspec.json.encode(known), mime="application/json")
    return e.SetupChanged(known.name, prompt, described, as_json)


def _split(rows: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, dict[str, Any]], dict[str, list[KeySource]]]:
    """A vendor's row without the fields about keys, and these."""
    plain: dict[str, dict[str, Any]] = {}
    sources: dict[str, list[KeySource]] = {}
    for name, row in rows.items():
        plain[name] = {key: value for key, value in row.items() if key not in KEY_PLACES}
        keys = {KEY_PLACES[key]: value for key, value in row.items() if key in KEY_PLACES}
        if keys:
            sources[name] = [msgspec.convert(keys, KeySource)]
    return plain, sources
