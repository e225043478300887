"""How somebody logs in to the page and out again, and what the owner sees of it."""

from typing import Any

from msgspec import Struct

from angelia.core.entry import AdminAct
from angelia.core.errors import PolicyDenied
from angelia.core.ids import Clock
from angelia.core.principal import OWNER
from angelia.core.text import clean
from angelia.faces.web.access.attempts import LoginAttempts
from angelia.faces.web.access.logins import Logins, Visitor, cookie_for, cookie_in, login_id, terms_at
from angelia.faces.web.access.passkeys import Passkeys, passkey_site
from angelia.faces.web.access.password import PagePassword
from angelia.faces.web.access.throttle import LoginThrottle, counted_address
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import NOTHING, RequestRefused, RouteRequest, RouteResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.service.audit import Audit
from angelia.store.tables.key_value import KeyValue

_MOST = 16_384
"""Bytes that somebody brings who is not known yet."""
_LINE = 200
"""Characters of what a browser says of itself."""


class LoginCode(Struct, forbid_unknown_fields=True):
    """The code that stood in a link."""

    code: str


class LoginPassword(Struct, forbid_unknown_fields=True):
    """The page's password, as it was typed."""

    password: str


class SignedChallenge(Struct, forbid_unknown_fields=True):
    """What the browser answers (`AuthenticationResponseJSON` of Web Authentication)."""

    credential: dict[str, Any]


class NewPasskey(Struct, forbid_unknown_fields=True):
    """What the browser made (`RegistrationResponseJSON`), and how its owner calls it."""

    name: str
    credential: dict[str, Any]


class LoginWays:
    """By what somebody can log in."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self.logins = Logins(key_value, clock)
        self.password = PagePassword(key_value, clock)
        self.passkeys = Passkeys(key_value, clock)
        self.attempts = LoginAttempts(key_value, clock)

    async def any_at(self, origin: str) -> bool:
        """Whether there is a password, or a passkey that counts there."""
        return bool(await self.password.since() or await self.passkeys.at(origin))


class LoginRoutes:
    """The handlers. `elsewhere` is the origin that others reach, empty where none do."""

    def __init__(self, ways: LoginWays, audit: Audit, clock: Clock) -> None:
        self._ways, self._audit = ways, audit
        self._throttle = LoginThrottle(clock)
        self.elsewhere = ""

    def routes(self) -> list[Route]:
        """One row each."""
        stranger, read, write = RouteGuard.LOGGING_IN, RouteGuard.LOGIN, RouteGuard.WRITE
        return [
            Route("POST", "/api/login", stranger, self._by_link),
            Route("POST", "/api/login/begin", stranger, self._begin),
            Route("POST", "/api/login/password", stranger, self._by_password),
            Route("POST", "/api/login/passkey", stranger, self._by_passkey),
            Route("POST", "/api/logout", write, self._log_out),
            Route("GET", "/api/logins", read, self._logins),
            Route("POST", "/api/logins/end", write, self._end_all),
            Route("POST", "/api/logins/{id}/end", write, self._end),
            Route("POST", "/api/passkeys/begin", write, self._new_passkey),
            Route("POST", "/api/passkeys", write, self._keep_passkey),
            Route("POST", "/api/passkeys/{id}/remove", write, self._remove_passkey),
        ]

    async def _begin(self, request: RouteRequest) -> RouteResponse:
        await request.json(dict[str, Any], _MOST)
        there = bool(await self._ways.passkeys.at(request.origin))
        return json_response(
            {
                "password": bool(await self._ways.password.since()),
                "passkey": self._ways.passkeys.to_log_in(request.origin) if there else None,
            }
        )

    async def _by_link(self, request: RouteRequest) -> RouteResponse:
        code = (await request.json(LoginCode, _MOST)).code
        try:
            await self._ways.logins.spend(code)
        except RequestRefused as error:
            await self._failed(request, "link", error.what)
            raise
        return await self._enter(request, "link")

    async def _by_password(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(LoginPassword, _MOST)
        self._throttle.begin(counted_address(request.client))
        if not await self._ways.password.fits(given.password):
            await self._ways.attempts.add("password", _visitor(request), "It is another one.")
            raise RequestRefused(401, "This is not the password.", then="`angelia web password` sets a new one.")
        return await self._enter(request, "password")

    async def _by_passkey(self, request: RouteRequest) -> RouteResponse:
        signed = await request.json(SignedChallenge, _MOST)
        try:
            used = await self._ways.passkeys.log_in(request.origin, signed.credential)
        except RequestRefused as error:
            await self._failed(request, "passkey", error.why)
            raise
        return await self._enter(request, f"passkey {used.name}")

    async def _failed(self, request: RouteRequest, by: str, why: str) -> None:
        """Something failed that nobody can guess: it was looked at without a wait, so that the owner gets in by it
        whoever else tries; but it is noted no sooner than another attempt may be made.
        """
        self._throttle.begin(counted_address(request.client))
        await self._ways.attempts.add(by, _visitor(request), why)

    async def _enter(self, request: RouteRequest, by: str) -> RouteResponse:
        self._throttle.succeeded(counted_address(request.client))
        visitor, terms = _visitor(request), terms_at(request.origin)
        token = await self._ways.logins.begin(by, visitor, terms)
        await self._ways.attempts.add(by, visitor)
        return RouteResponse(status=204, headers={"set-cookie": cookie_for(token, request.origin, terms)})

    async def _log_out(self, request: RouteRequest) -> RouteResponse:
        await self._ways.logins.log_out(_token(request))
        return _forgotten(request)

    async def _logins(self, request: RouteRequest) -> RouteResponse:
        return json_response(
            {
                "here": login_id(_token(request)),
                "logins": await self._ways.logins.all(),
                "attempts": await self._ways.attempts.all(),
                "password": await self._ways.password.since(),
                "passkeys": [
                    {"id": one.id, "name": one.name, "site": one.site, "since": one.since, "used": one.used}
                    for one in await self._ways.passkeys.all()
                ],
                "site": passkey_site(request.origin),
            }
        )

    async def _end_all(self, request: RouteRequest) -> RouteResponse:
        await self._ways.logins.log_everybody_out()
        return _forgotten(request)

    async def _end(self, request: RouteRequest) -> RouteResponse:
        await self._ways.logins.end(request.found["id"])
        return NOTHING

    async def _new_passkey(self, request: RouteRequest) -> RouteResponse:
        return json_response(await self._ways.passkeys.to_register(request.origin))

    async def _keep_passkey(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(NewPasskey, _MOST)
        await self._audit.record(AdminAct.PASSKEY_ADDED, OWNER, clean(given.name)[:_LINE])
        kept = await self._ways.passkeys.register(request.origin, given.name, given.credential)
        await self._ways.attempts.add(f"passkey {kept.name} (made)", _visitor(request))
        return json_response({"id": kept.id, "name": kept.name}, 201)

    async def _remove_passkey(self, request: RouteRequest) -> RouteResponse:
        own = request.found["id"]
        if self.elsewhere and not await self._ways.password.since():
            left = [one for one in await self._ways.passkeys.at(self.elsewhere) if one.id != own]
            if not left:
                raise PolicyDenied(
                    "This is the last passkey, and there is no password.",
                    f"Nobody could log in at {self.elsewhere}.",
                    "Make another one first, or set a password: `angelia web password`.",
                )
        name = next((one.name for one in await self._ways.passkeys.all() if one.id == own), "")
        if name:
            await self._audit.record(AdminAct.PASSKEY_REMOVED, OWNER, name)
        await self._ways.passkeys.remove(own)
        return NOTHING


def _token(request: RouteRequest) -> str:
    return cookie_in(request.headers.get("cookie", ""), request.origin)


def _forgotten(request: RouteRequest) -> RouteResponse:
    gone = cookie_for("", request.origin, terms_at(request.origin))
    return RouteResponse(status=204, headers={"set-cookie": gone})


def _visitor(request: RouteRequest) -> Visitor:
    return Visitor(counted_address(request.client), clean(request.headers.get("user-agent", ""))[:_LINE])
