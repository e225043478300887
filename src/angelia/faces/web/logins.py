"""Who is logged in to the page: a one-time code becomes a cookie; of both only hashes are stored."""

import asyncio
import hashlib
import secrets

import msgspec
from msgspec import Struct

from angelia.core.ids import Clock
from angelia.faces.web.request import RequestRefused
from angelia.store.tables.key_value import KeyValue

CODE_MS = 10 * 60 * 1000
"""How long a link can be opened."""
LOGIN_MS = 30 * 24 * 3600 * 1000
"""How long somebody who does not come back stays logged in."""
_NOTED_MS = 3600 * 1000
"""How often it is noted that somebody is still there."""

COOKIE = "angelia-login"

_CODES, _LOGINS = "web-code:", "web-login:"


class _Login(Struct, frozen=True):
    """Unix milliseconds: when somebody logged in, and was last seen."""

    since: int
    seen: int


class Logins:
    """The codes that were handed out and the logins that they became, for every process of a home."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self._key_value, self._clock = key_value, clock
        self._taking = asyncio.Lock()

    async def new_code(self) -> str:
        """A code that logs in once, within the next ten minutes."""
        await self._tidy()
        code = secrets.token_urlsafe(24)
        await self._key_value.put(_CODES + _hash(code), str(self._clock() + CODE_MS))
        return code

    async def log_in(self, code: str) -> str:
        """The cookie's value for a code, which is spent by this.

        Raises:
            RequestRefused: it is no code, was used, or is too old.
        """
        name = _CODES + _hash(code)
        async with self._taking:
            until = await self._key_value.get(name)
            if not until or int(until) < self._clock():
                raise RequestRefused(
                    401,
                    "This link cannot be used any more.",
                    "A link logs in once, within ten minutes.",
                    "`angelia web` prints a new one.",
                )
            await self._key_value.forget(name)
        token = secrets.token_urlsafe(32)
        await self._note(token, _Login(self._clock(), self._clock()))
        return token

    async def known(self, token: str) -> bool:
        """Whether this cookie's value stands for a login that holds."""
        kept = await self._key_value.get(_LOGINS + _hash(token)) if token else ""
        if not kept:
            return False
        login = msgspec.json.decode(kept, type=_Login)
        now = self._clock()
        if now - login.seen > LOGIN_MS:
            return False
        if now - login.seen > _NOTED_MS:
            await self._note(token, _Login(login.since, now))
        return True

    async def log_out(self, token: str) -> None:
        """It stands for nothing from now on."""
        await self._key_value.forget(_LOGINS + _hash(token))

    async def log_everybody_out(self) -> int:
        """No cookie and no code holds from now on; returns how many logins there were."""
        logins = await self._key_value.all(_LOGINS)
        for name, _ in [*logins, *await self._key_value.all(_CODES)]:
            await self._key_value.forget(name)
        return len(logins)

    async def _note(self, token: str, login: _Login) -> None:
        await self._key_value.put(_LOGINS + _hash(token), msgspec.json.encode(login).decode())

    async def _tidy(self) -> None:
        """Forget what does not hold any more."""
        now = self._clock()
        for name, until in await self._key_value.all(_CODES):
            if int(until) < now:
                await self._key_value.forget(name)
        for name, kept in await self._key_value.all(_LOGINS):
            if now - msgspec.json.decode(kept, type=_Login).seen > LOGIN_MS:
                await self._key_value.forget(name)


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def cookie_in(header: str) -> str:
    """The login's value in a `Cookie` header; empty where there is none.

    >>> cookie_in("a=1; angelia-login=x7")
    'x7'
    """
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def cookie_for(token: str) -> str:
    """The `Set-Cookie` header that keeps a login in a browser, or with an empty token forgets it."""
    age = LOGIN_MS // 1000 if token else 0
    return f"{COOKIE}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
