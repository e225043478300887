"""Who is logged in to the page: a one-time code, a password or a passkey becomes a cookie; only hashes are stored."""

import asyncio
import hashlib
import secrets

import msgspec
from msgspec import Struct

from angelia.core.days import DAY_MS
from angelia.core.errors import NotFound
from angelia.core.ids import Clock
from angelia.core.term import holds
from angelia.faces.web.asgi.request import RequestRefused
from angelia.service.upkeep import Looks
from angelia.store.tables.key_value import KeyValue

CODE_MS = 10 * 60 * 1000
"""How long a link can be opened."""
LOGIN_MS = 30 * DAY_MS
"""How long somebody who does not come back stays logged in."""
LONGEST_MS = 90 * DAY_MS
"""How long anybody does."""
_NOTED_MS = 3600 * 1000
"""How often it is noted that somebody is still there."""

COOKIE = "angelia-login"

_CODES, _LOGINS, _LOOKED = "web-code:", "web-login:", "web-logins-looked"
_CLOCKS_DIFFER_MS = 60_000
"""Of the machine that makes a link and the one that takes it. A link that ends later was made while a clock was ahead.
"""
_KEY = 16


class LoginTerms(Struct, frozen=True):
    """How long a login holds, in milliseconds: unused, and at the most."""

    idle_ms: int = LOGIN_MS
    most_ms: int = LONGEST_MS


FROM_ELSEWHERE = LoginTerms(7 * DAY_MS, 30 * DAY_MS)
"""For a login through an origin that others reach."""


class Visitor(Struct, frozen=True):
    """Who logs in, as far as it is known: the address, and what the browser calls itself."""

    address: str = ""
    browser: str = ""


class _Login(Struct, frozen=True):
    """Unix milliseconds: when somebody logged in, and was last seen; `by` what."""

    since: int
    seen: int
    by: str = "link"
    visitor: Visitor = Visitor()
    terms: LoginTerms = LoginTerms()

    def until(self) -> int:
        """When it ends, if nobody comes back."""
        return min(self.seen + self.terms.idle_ms, self.since + self.terms.most_ms)

    def holds(self, now: int) -> bool:
        """Whether it is one now."""
        return holds(self.since, self.until() + 1, now)


class LoginView(Struct, frozen=True):
    """A login as its owner sees it; `id` names it and opens nothing. Times are Unix milliseconds."""

    id: str
    since: int
    seen: int
    until: int
    by: str
    address: str
    browser: str


class Logins:
    """The codes that were handed out and the logins that there are, for every process of a home."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self._key_value, self._clock = key_value, clock
        self._taking = asyncio.Lock()

    async def new_code(self) -> str:
        """A code that logs in once, within the next ten minutes."""
        await self._tidy()
        code = secrets.token_urlsafe(24)
        await self._key_value.put(_CODES + _hash(code), str(self._clock() + CODE_MS))
        return code

    async def spend(self, code: str) -> None:
        """A code has done its work by this.

        Raises:
            RequestRefused: it is no code, was used, or is too old.
        """
        name = _CODES + _hash(code)
        async with self._taking:
            until = await self._key_value.get(name)
            if not until or not 0 <= int(until) - self._clock() <= CODE_MS + _CLOCKS_DIFFER_MS:
                raise RequestRefused(
                    401,
                    "This link cannot be used any more.",
                    "A link logs in once, within ten minutes.",
                    "`angelia web` prints a new one.",
                )
            await self._key_value.forget(name)

    async def begin(self, by: str, visitor: Visitor = Visitor(), terms: LoginTerms = LoginTerms()) -> str:  # noqa: B008 - frozen values
        """The cookie's value for somebody who has shown who they are."""
        await self._tidy()
        token = secrets.token_urlsafe(32)
        await self._note(token, _Login(self._clock(), self._clock(), by, visitor, terms))
        return token

    async def known(self, token: str) -> bool:
        """Whether this cookie's value stands for a login that holds."""
        now = self._clock()
        login = await self._holding(token, now)
        if login and abs(now - login.seen) > _NOTED_MS:
            await self._note(token, msgspec.structs.replace(login, seen=now))
        return login is not None

    async def holds(self, token: str) -> bool:
        """The same, without counting as a visit: for who is there already."""
        return await self._holding(token, self._clock()) is not None

    async def all(self) -> list[LoginView]:
        """Those that hold, the one used last first."""
        now = self._clock()
        found = [(name.removeprefix(_LOGINS), one) for name, one in await self._key_value.all_as(_Login, _LOGINS)]
        views = [
            LoginView(own[:_KEY], one.since, one.seen, one.until(), one.by, one.visitor.address, one.visitor.browser)
            for own, one in found
            if one.holds(now)
        ]
        return sorted(views, key=lambda view: -view.seen)

    async def end(self, own: str) -> None:
        """That login, by its id, stands for nothing from now on.

        Raises:
            NotFound: there is none.
        """
        for name, _ in await self._key_value.all(_LOGINS + own) if len(own) == _KEY else ():
            await self._key_value.forget(name)
            return
        raise NotFound("There is no such login.", "It has ended already.")

    async def log_out(self, token: str) -> None:
        """It stands for nothing from now on."""
        await self._key_value.forget(_LOGINS + _hash(token))

    async def log_everybody_out(self) -> int:
        """No cookie and no code holds from now on; returns how many logins there were."""
        logins = await self._key_value.all(_LOGINS)
        for name, _ in [*logins, *await self._key_value.all(_CODES)]:
            await self._key_value.forget(name)
        return len(logins)

    async def _holding(self, token: str, now: int) -> _Login | None:
        login = await self._key_value.get_as(_Login, _LOGINS + _hash(token)) if token else None
        return login if login and login.holds(now) else None

    async def _note(self, token: str, login: _Login) -> None:
        await self._key_value.put(_LOGINS + _hash(token), msgspec.json.encode(login).decode())

    async def _tidy(self) -> None:
        """Forget what does not hold any more, and what began while a clock was ahead: it would hold again by then."""
        async with Looks(self._key_value, self._clock).daily(_LOOKED) as look:
            if not look.due:
                return
            for name, until in await self._key_value.all(_CODES):
                if not look.upto <= int(until) <= look.latest:
                    await self._key_value.forget(name)
            for name, login in await self._key_value.all_as(_Login, _LOGINS):
                if look.upto > login.until() or login.since > look.latest:
                    await self._key_value.forget(name)


def login_id(token: str) -> str:
    """The id of the login for which a cookie's value stands."""
    return _hash(token)[:_KEY]


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def cookie_name(origin: str) -> str:
    """The login's, as it is sent to an origin. Of `__Host-` a browser takes none that another host set, and none that
    came unencrypted (RFC 6265bis, 4.1.3.2).

    >>> cookie_name("https://angelia.example.org"), cookie_name("http://localhost:8780")
    ('__Host-angelia-login', 'angelia-login')
    """
    return f"__Host-{COOKIE}" if origin.startswith("https://") else COOKIE


def cookie_in(header: str, origin: str) -> str:
    """The login's value in a `Cookie` header; empty where there is none.

    >>> cookie_in("a=1; angelia-login=x7", "http://localhost:8780")
    'x7'
    """
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == cookie_name(origin):
            return value
    return ""


def cookie_for(token: str, origin: str, terms: LoginTerms) -> str:
    """The `Set-Cookie` header that keeps a login in a browser, or with an empty token forgets it."""
    age = terms.most_ms // 1000 if token else 0
    secure = "; Secure" * origin.startswith("https://")
    return f"{cookie_name(origin)}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


def terms_at(origin: str) -> LoginTerms:
    """How long a login through this origin holds."""
    return FROM_ELSEWHERE if origin.startswith("https://") else LoginTerms()
