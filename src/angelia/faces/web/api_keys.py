"""The keys by which other programs speak to the API: each is a principal with a scope and caps, stored as a hash."""

import hashlib
import re
import secrets
from enum import StrEnum

import msgspec
from msgspec import Struct

from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import Clock
from angelia.core.person_role import PersonRole
from angelia.core.principal import KEY, Principal
from angelia.store.tables.key_value import KeyValue, read_as

_PREFIX = "api-key:"
_BEGINNING = "angelia_"
"""What every key begins with, so that a search for forgotten secrets finds it."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class KeyScope(StrEnum):
    """What a key is good for; each includes the one before."""

    READ = "read"
    """To read what was said under it."""
    CHAT = "chat"
    """To speak. What needs a person's yes is refused."""
    ADMIN = "admin"
    """To speak; what needs a yes waits for the owner's, on the page."""


class KeyTerms(Struct, frozen=True):
    """What a key costs at most and where its conversations work, as in `ApiKey`."""

    max_cost: float = 0.0
    day_cost: float = 0.0
    folder: str = ""
    preset: str = ""


class ApiKey(Struct, frozen=True):
    """A key, without its secret. Money is US dollars, 0 for no cap of its own: of one turn, and of all turns of a day
    (UTC's). `folder` is where its conversations work, one of its own if it is empty; `preset` is the sandbox preset or
    spec in which they do, empty for the one of the settings.
    """

    name: str
    scope: KeyScope
    since: int
    max_cost: float = 0.0
    day_cost: float = 0.0
    folder: str = ""
    preset: str = ""

    @property
    def principal(self) -> Principal:
        """Whose the conversations are that begin by it."""
        return Principal(KEY, self.name)

    @property
    def role(self) -> PersonRole:
        """What its program is here, as far as it may speak at all."""
        return PersonRole.MEMBER if self.scope is KeyScope.ADMIN else PersonRole.GUEST


class ApiKeys:
    """The keys of a home, for every process of it."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self._key_value, self._clock = key_value, clock

    async def add(self, name: str, scope: KeyScope, terms: KeyTerms = KeyTerms()) -> str:  # noqa: B008 - a frozen value
        """A new key, as its program sends it: this is the only time that anybody sees it.

        Raises:
            BadInput: the name is none, or taken.
        """
        if not _NAME.fullmatch(name):
            raise BadInput(f"{name[:60]!r} is no name of a key.", "Up to 40 of a-z, 0-9, - and _, such as open-webui.")
        secret = _BEGINNING + secrets.token_urlsafe(32)
        key = ApiKey(name, scope, self._clock(), terms.max_cost, terms.day_cost, terms.folder, terms.preset)
        stored = msgspec.json.encode(key).decode()
        if not await self._key_value.add(_PREFIX + _hash(secret), stored, _PREFIX, lambda kept: _named(kept) == name):
            raise BadInput(
                f"There is a key {name} already.",
                "Its secret cannot be shown again.",
                f"`angelia web keys remove {name}` ends it; what was said under it is the next key's of this name.",
            )
        return secret

    async def list(self) -> list[ApiKey]:
        """All, by their names."""
        found = await self._key_value.all_as(ApiKey, _PREFIX)
        return sorted((key for _, key in found), key=lambda key: key.name)

    async def require(self, name: str) -> None:
        """Raises NotFound where there is none of this name."""
        if not await self._stored(name):
            raise NotFound(f"There is no key {name[:60]!r}.", then="`angelia web keys` lists them.")

    async def remove(self, name: str) -> None:
        """It opens nothing from now on, and neither does another of its name, which a home may have from before.

        Raises:
            NotFound: there is none of this name.
        """
        await self.require(name)
        for stored in await self._stored(name):
            await self._key_value.forget(stored)

    async def _stored(self, name: str) -> tuple[str, ...]:
        return tuple(stored for stored, key in await self._key_value.all_as(ApiKey, _PREFIX) if key.name == name)

    async def known(self, secret: str) -> ApiKey | None:
        """The key that a program sent; None if it is none."""
        return await self._key_value.get_as(ApiKey, _PREFIX + _hash(secret)) if secret else None

    async def of(self, principal: Principal) -> ApiKey | None:
        """The key that somebody is; None if it was removed, or they are not one."""
        if principal.door != KEY:
            return None
        return next((key for key in await self.list() if key.principal == principal), None)


def _named(kept: str) -> str:
    key = read_as(ApiKey, _PREFIX, kept)
    return key.name if key else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def key_in(authorization: str, x_api_key: str) -> str:
    """The key in the headers of a request: `Authorization: Bearer`, or `x-api-key`; empty where there is none.

    >>> key_in("Bearer angelia_x", ""), key_in("Basic eDp5", "angelia_y")
    ('angelia_x', 'angelia_y')
    """
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else x_api_key.strip()
