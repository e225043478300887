"""The page's password: Argon2id's hash of it is stored, and nothing else."""

import asyncio
import unicodedata
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from angelia.core.counts import counted
from angelia.core.errors import BadInput, MissingPart
from angelia.core.ids import Clock
from angelia.faces.web.asgi.request import RequestRefused
from angelia.store.tables.key_value import KeyValue

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LEAST, MOST = 15, 1_000
"""Characters. Fifteen are the least where a password is all that is asked for (NIST SP 800-63B-4, 3.1.1.2)."""
_DIFFERENT = 5
"""Different characters, at the least."""
_KEY = "web-password"
_WAITING = 8
"""Who may wait until theirs is looked at: each costs 64 MiB and a tenth of a second."""


class _Kept(Struct, frozen=True):
    """`hash` is in PHC's form, with its parameters and salt; `since` in Unix milliseconds."""

    hash: str
    since: int


class PagePassword:
    """The password of a home, for every process of it."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self._key_value, self._clock = key_value, clock
        self._one_by_one = asyncio.Lock()
        self._waiting = 0

    async def since(self) -> int:
        """When it was set, in Unix milliseconds; 0 while there is none."""
        kept = await self._kept()
        return kept.since if kept else 0

    async def set(self, password: str) -> None:
        """It counts from now on, in place of an earlier one.

        Raises:
            BadInput: it is too short, too long or too simple.
            MissingPart: argon2-cffi is not installed.
        """
        demand_not_simple(password)
        normal = _normal(password)
        await self._keep(await asyncio.to_thread(_hasher().hash, normal), self._clock())

    async def remove(self) -> None:
        """There is none from now on."""
        await self._key_value.forget(_KEY)

    async def fits(self, password: str) -> bool:
        """Whether it is the password; False as well while there is none.

        Raises:
            RequestRefused: too many are being looked at.
            MissingPart: argon2-cffi is not installed.
        """
        if self._waiting >= _WAITING:
            raise RequestRefused(503, "Too many passwords are being looked at.", then="Try it again in a few seconds.")
        self._waiting += 1
        try:
            async with self._one_by_one:
                return await self._fits(password)
        finally:
            self._waiting -= 1

    async def _fits(self, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError

        kept, hasher, normal = await self._kept(), _hasher(), _normal(password)
        if kept is None or len(normal) > MOST:
            return False
        try:
            await asyncio.to_thread(hasher.verify, kept.hash, normal)
        except (VerificationError, InvalidHashError):
            return False
        if hasher.check_needs_rehash(kept.hash):  # the library's parameters have become stronger
            await self._keep(await asyncio.to_thread(hasher.hash, normal), kept.since)
        return True

    async def _kept(self) -> _Kept | None:
        kept = await self._key_value.get(_KEY)
        return msgspec.json.decode(kept, type=_Kept) if kept else None

    async def _keep(self, hashed: str, since: int) -> None:
        await self._key_value.put(_KEY, msgspec.json.encode(_Kept(hashed, since)).decode())


def demand_not_simple(password: str) -> None:
    """What may become the password.

    Raises:
        BadInput: it is too short, too long or too simple.
    """
    normal = _normal(password)
    if not LEAST <= len(normal) <= MOST:
        raise BadInput(
            f"The password has {counted(len(normal), 'character')}; {LEAST} are the least and {MOST:,} the most.",
            "Whoever knows it can do here all that you can.",
            "Five or six words that nobody would put together are easy to type.",
        )
    if len(set(normal)) < _DIFFERENT:
        raise BadInput(
            f"The password has {counted(len(set(normal)), 'different character')}; {_DIFFERENT} are the least."
        )


def _hasher() -> "PasswordHasher":
    """With the library's parameters, RFC 9106's second choice: Argon2id, 64 MiB, three passes."""
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError as error:
        raise MissingPart("A password for the page", "login") from error
    return PasswordHasher()


def _normal(password: str) -> str:
    """One spelling of what keyboards spell in several (NIST SP 800-63B-4, 3.1.1.2: NFKC)."""
    return unicodedata.normalize("NFKC", password)
