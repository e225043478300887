"""The search services that a home may ask: which are configured, and where their keys come from."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.channels.settings import Secret
from angelia.core.errors import ConfigError
from angelia.core.ids import steady_clock
from angelia.service.settings.tokens import Tokens
from angelia.tools.port import Tool, Toolset
from angelia.tools.standalone import Standalone
from angelia.tools.web.search_providers import PROVIDERS, SearchProvider
from angelia.tools.web.search_settings import SearchModel, SearchSettings
from angelia.tools.web.vendor_search import VENDORS

if TYPE_CHECKING:
    from angelia.tools.web.searcher import Searcher


class WebSearch:
    """What `[search]` says, as services; one `Searcher` for all conversations, so that a pause holds for all."""

    def __init__(self, settings: SearchSettings, environ: Mapping[str, str], tokens: Tokens) -> None:
        """Raises ConfigError for a service that nobody knows."""
        known = (*PROVIDERS, *VENDORS)
        if unknown := [name for name in settings.order if name not in known]:
            raise ConfigError(
                f"search.order names {', '.join(map(repr, unknown))}, and there is no such service.",
                then=f"There are: {', '.join(known)}.",
            )
        self._settings, self._environ = settings, environ
        self._tokens = tokens
        ready = (provider for name in settings.order if (provider := self._ready(name)))
        self.providers = tuple(ready)

    how_to_get_one = 'set BRAVE_API_KEY, TAVILY_API_KEY or EXA_API_KEY, or your own server: search.searxng = "http://…"'

    def toolset(self) -> Toolset:
        """The tool `search`; none where nobody could be asked."""
        return Standalone("search", self.tool()) if self.providers else Standalone("search")

    def tool(self) -> Tool:
        """The tool, whether or not anybody could be asked."""
        from angelia.tools.web.search import Search

        return Search([one.name for one in self.providers], lambda: self.searcher)

    @cached_property
    def searcher(self) -> "Searcher":
        """Made when it is first used: it brings an HTTP client."""
        from angelia.tools.web.searcher import Searcher

        return Searcher(self.providers, self.key, steady_clock, pause_seconds=self._settings.pause_minutes * 60)

    def _ready(self, name: str) -> SearchProvider | None:
        if name in VENDORS:
            chosen: SearchModel = getattr(self._settings, name)
            return VENDORS[name].provider(chosen.model, chosen.url) if chosen.model else None
        provider = PROVIDERS[name]
        if not provider.keyed:
            address: str = getattr(self._settings, provider.name)
            return replace(provider, url=address) if address else None
        secret = self._secret(name)
        there = bool(secret.file or secret.command or (secret.env and self._environ.get(secret.env, "").strip()))
        return provider if there else None

    def _secret(self, name: str) -> "Secret":
        if name in VENDORS:
            chosen: SearchModel = getattr(self._settings, name)
            return chosen.key if chosen.key != Secret() else Secret(env=VENDORS[name].env)
        secret: Secret = getattr(self._settings, name)
        return secret

    async def key(self, provider: SearchProvider) -> str:
        """That of a service.

        Raises:
            ConfigError: there is none.
        """
        if key := await self._tokens.find(provider.name, self._secret(provider.name)):
            return key
        raise ConfigError(f"There is no key for {provider.name}.", then=f"Set search.{provider.name}.")
