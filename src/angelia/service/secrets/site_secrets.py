"""The secrets of a home as they may be given out: to the sites for which each is kept, and to commands."""

from collections.abc import Mapping, Sequence

from angelia.core.errors import ConfigError, NotFound, PolicyDenied
from angelia.service.secrets.store import SecretStore


class SiteSecrets:
    """See `tools.port.SecretsAccess`."""

    def __init__(self, store: SecretStore) -> None:
        self._store = store

    def sites(self) -> Sequence[str]:
        """Those of all of them; none where they cannot be read."""
        try:
            return sorted({origin for one in self._store.kept().values() for origin in one.origins})
        except ConfigError:
            return ()

    def kept_for(self, origin: str) -> tuple[str, ...]:
        """Those of a site; none where they cannot be read, which is told to whoever asks for one."""
        try:
            return tuple(handle for handle, one in self._store.kept().items() if origin in one.origins)
        except ConfigError:
            return ()

    async def value(self, handle: str, origin: str) -> str:
        """What is typed there now.

        Raises:
            NotFound, PolicyDenied, ConfigError, KeyringUnusable, MissingPart: see `tools.port.SecretsAccess`.
        """
        kept = self._store.kept()
        if handle in kept and origin not in kept[handle].origins:
            sites = ", ".join(kept[handle].origins) or "no site at all"
            raise PolicyDenied(
                f"The secret {handle} is kept for {sites}, and not for {origin or 'this page'}.",
                then="Only the person can change that: `angelia secrets add NAME --for SITE`.",
            )
        if handle not in kept:
            there = ", ".join(self.kept_for(origin)) or "none"
            raise NotFound(f"There is no secret {handle!r}. Kept for {origin or 'this page'}: {there}.")
        return await self._store.value(handle)

    def for_commands(self) -> Mapping[str, str]:
        """Those that have a variable; none where they cannot be read."""
        try:
            return {handle: one.variable for handle, one in self._store.kept().items() if one.variable}
        except ConfigError:
            return {}

    async def value_for_command(self, handle: str) -> str:
        """What stands in its variable now.

        Raises:
            NotFound, PolicyDenied, ConfigError, KeyringUnusable, MissingPart: see `tools.port.SecretsAccess`.
        """
        kept = self._store.kept()
        if handle in kept and not kept[handle].variable:
            raise PolicyDenied(
                f"The secret {handle} is not for commands.",
                then=f"Only the person can change that: `angelia secrets add {handle} --env NAME`.",
            )
        return await self._store.value(handle)
