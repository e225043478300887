"""Secrets that stand in settings as references, `${NAME}`, and are filled in at the last moment."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from angelia.core.errors import ConfigError
from angelia.models.catalog.credentials import ReadSecret, key_from_command, keys_in_file, no_secrets
from angelia.tools.mcp.server import HIDDEN, Late, given, plain, secretive, without_secrets

_HANDLE = r"\$\{(?:(file|command|secret):)?([^}]+)\}"
_SCHEME = r"(?i)(?:Bearer|Basic|Token)\s+(\S+)"


class SecretRefs:
    """Every secret that was filled in or handed over, for the redactor."""

    def __init__(self, environ: Mapping[str, str], read_secret: ReadSecret = no_secrets) -> None:
        self._environ, self._read_secret = environ, read_secret
        self._known: set[str] = set()

    def known(self) -> frozenset[str]:
        """What must not be shown."""
        return frozenset(self._known)

    def late(self, owner: str, values: Mapping[str, str]) -> Late:
        """Reads `values` with their handles filled in; `owner` is named where one cannot be had."""

        async def read() -> Mapping[str, str]:
            return {name: await self._filled(owner, name, value) for name, value in values.items()}

        return read

    def handed(self, values: Mapping[str, str]) -> Late:
        """Values that somebody's program handed over; those that are secrets are known from now on."""
        for name, value in values.items():
            self._learn(name, value)
        return given(dict(values))

    async def _filled(self, owner: str, name: str, value: str) -> str:
        found = value
        for handle in re.finditer(_HANDLE, value):
            secret = await self._secret(owner, *handle.groups())
            self._known.add(secret)
            found = found.replace(handle[0], secret)
        if found == value:
            self._learn(name, value)
        return found

    def _learn(self, name: str, value: str) -> None:
        if secretive(name, value):
            scheme = re.fullmatch(_SCHEME, value)
            self._known |= {value, scheme[1]} if scheme else {value}

    async def _secret(self, owner: str, kind: str | None, place: str) -> str:
        match kind:
            case "file":
                return keys_in_file(Path(place).expanduser())[0].secret
            case "command":
                return (await key_from_command(owner, place)).secret
            case "secret":
                return await self._read_secret(place)
            case _:
                if value := self._environ.get(place, "").strip():
                    return value
        raise ConfigError(f"The variable {place} is not set.", f"It is needed for {owner}.")


def shown_server(server: Mapping[str, Any]) -> dict[str, Any]:
    """A server's settings as they are shown: handles are told, other values of `env` and `headers` are not.

    >>> shown_server({"command": ["x", "--token=1"], "url": "", "env": {"A": "${A}"}, "headers": {"B": "s3cret"}})
    {'command': ['x', '--token=…'], 'url': '', 'env': {'A': '${A}'}, 'headers': {'B': '…'}}
    """
    hidden = {
        part: {name: value if re.search(_HANDLE, value) else HIDDEN for name, value in server[part].items()}
        for part in ("env", "headers")
    }
    url = plain(server["url"])
    return {**server, "command": without_secrets(server["command"]), "url": url, **hidden}
