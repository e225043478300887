"""Where logins at MCP servers are kept: a file each that only its owner can read, known to the redactor."""

import asyncio
import fcntl
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from angelia.core.errors import ConfigError, fault_words
from angelia.service.settings.secret_refs import SecretRefs
from angelia.tools.mcp.logins import StoredLogin

_SECRET = ("access_token", "refresh_token", "id_token", "client_secret")


class ServerLogins:
    """See `tools.mcp.logins.SiteLogins`."""

    def __init__(self, home: Path, secret_refs: SecretRefs) -> None:
        self._folder = home / "keys" / "mcp-logins"
        self._secret_refs = secret_refs

    def read(self, name: str) -> StoredLogin | None:
        """See `SiteLogins`."""
        path = self.path(name)
        try:
            if path.stat().st_mode & 0o077:
                raise ConfigError(f"Others could read {path}.", "It holds a login.", f"chmod 600 {path}")
            login = msgspec.json.decode(path.read_bytes(), type=StoredLogin)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigError(
                f"The login in {path} cannot be read: {fault_words(error)}.",
                then=f"`angelia mcp login {name}` makes another.",
            ) from error
        self._known(login)
        return login

    def write(self, name: str, login: StoredLogin) -> None:
        """See `SiteLogins`."""
        from angelia.service.settings.private_file import write_private

        self._known(login)
        write_private(self.path(name), msgspec.json.encode(login).decode())

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """See `SiteLogins`. The kernel takes the lock back from who dies (flock(2))."""
        path = self.path(name).with_suffix(".lock")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("w") as handle:
            await asyncio.to_thread(fcntl.flock, handle, fcntl.LOCK_EX)
            yield

    def forget(self, name: str) -> bool:
        """Remove it; False if there is none."""
        path = self.path(name)
        found = path.exists()
        path.unlink(missing_ok=True)
        return found

    def path(self, name: str) -> Path:
        """Where the login at a server lies, or would."""
        plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:40]
        mark = "" if plain == name else f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return self._folder / f"{plain}{mark}.json"

    def _known(self, login: StoredLogin) -> None:
        values = {**msgspec.json.decode(login.client), **msgspec.json.decode(login.tokens)}
        self._secret_refs.handed({name: str(values[name]) for name in _SECRET if values.get(name)})
