"""The library's OAuth 2.1 over stored logins: discovery, registration, PKCE, refreshing; importing it takes a while.

The library keeps no expiry and no metadata over a restart, and would then ask for a new login where a refresh is
enough; so both are kept with the tokens, and handed back to it.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from angelia.tools.mcp.logins import (
    LogInAgain,
    LoginEnded,
    LoginPerson,
    RegisteredClient,
    Returned,
    SiteLogins,
    StoredLogin,
)

NOWHERE = "http://127.0.0.1/callback"
"""Where nobody is sent: a connection that may not ask for a login."""


class _Storage:
    """See the library's `TokenStorage`. A login at another address counts for nothing."""

    def __init__(self, name: str, url: str, logins: SiteLogins) -> None:
        self._name, self._url = name, url
        self._logins = logins
        found = logins.read(name)
        self.login = found if found and found.url == url else None
        self.client: OAuthClientInformationFull | None = None
        self.provider: OAuthClientProvider | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken.model_validate_json(self.login.tokens) if self.login else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        assert self.provider
        assert self.client
        context = self.provider.context
        server, resource = context.oauth_metadata, context.protected_resource_metadata
        self.login = StoredLogin(
            self._url,
            tokens.model_dump_json(exclude_none=True),
            self.client.model_dump_json(exclude_none=True),
            server.model_dump_json(exclude_none=True) if server else "",
            resource.model_dump_json(exclude_none=True) if resource else "",
            context.token_expiry_time or 0.0,
        )
        await asyncio.to_thread(self._logins.write, self._name, self.login)

    @property
    def redirect(self) -> str:
        """Where the client that logged in said that it waits."""
        if self.login is None:
            return NOWHERE
        known = OAuthClientInformationFull.model_validate_json(self.login.client).redirect_uris
        return str(known[0]) if known else NOWHERE

    @property
    def expired(self) -> bool:
        """Whether what is known of the login does not hold any more."""
        return bool(self.login and self.login.expires and self.login.expires < time.time())

    def alone(self) -> AbstractAsyncContextManager[None]:
        """See `SiteLogins.alone`."""
        return self._logins.alone(self._name)

    async def look_again(self) -> None:
        """Somebody else may have refreshed it by now."""
        found = await asyncio.to_thread(self._logins.read, self._name)
        if found is None or found.url != self._url or found == self.login:
            return
        self.login = found
        if self.provider:
            self.provider.context.current_tokens = OAuthToken.model_validate_json(found.tokens)
            self.provider.context.token_expiry_time = found.expires or None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self.client is None and self.login:
            self.client = OAuthClientInformationFull.model_validate_json(self.login.client)
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def stored_login(name: str, url: str, logins: SiteLogins, again: LogInAgain | None = None) -> httpx2.Auth:
    """What a connection logs in with: the stored login, refreshed where that is due. Where more than that is wanted,
    `again` has the person log in; with None there is nobody.

    Raises (while it is used):
        LoginEnded: it does not hold any more.
        LoginRefused: nobody logs in again.
    """
    storage = _Storage(name, url, logins)
    back: list[Returned] = []

    async def show(address: str) -> None:
        if again is None:
            raise LoginEnded(f"The login at {name} has ended.", then=f"`angelia mcp login {name}` renews it.")
        back.append(await again(address, redirect))

    async def returned() -> AuthorizationCodeResult:
        came = back.pop()
        return AuthorizationCodeResult(code=came.code, state=came.state, iss=came.issuer or None)

    redirect = storage.redirect
    provider = OAuthClientProvider(url, _metadata(redirect), storage, show, returned)
    _restore(provider, storage)
    return _SharedLogin(provider, storage)


class _SharedLogin(httpx2.Auth):
    """A login that several connections and processes use: one of them refreshes it, and the others read what it got. A
    refresh token often holds once (RFC 9700, section 4.14.2).
    """

    requires_response_body = OAuthClientProvider.requires_response_body

    def __init__(self, provider: OAuthClientProvider, storage: _Storage) -> None:
        self._provider, self._storage = provider, storage

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        async with AsyncExitStack() as turn, aclosing(self._provider.async_auth_flow(request)) as flow:
            if self._storage.expired:
                await turn.enter_async_context(self._storage.alone())
                await self._storage.look_again()
            try:
                asked = await anext(flow)
                while True:
                    if asked is request:  # what was to be refreshed is
                        await turn.aclose()
                    asked = await flow.asend((yield asked))
            except StopAsyncIteration:
                return


def new_login(name: str, url: str, logins: SiteLogins, person: LoginPerson, client: RegisteredClient) -> httpx2.Auth:
    """What asks `person` to log in as soon as the site wants it, and keeps what comes of it."""
    storage = _Storage(name, url, logins)
    storage.login = None
    if client.id:
        storage.client = OAuthClientInformationFull(
            client_id=client.id,
            client_secret=client.secret or None,
            redirect_uris=[AnyUrl(person.redirect)],
            token_endpoint_auth_method="client_secret_basic" if client.secret else "none",
        )

    async def returned() -> AuthorizationCodeResult:
        back = await person.returned()
        return AuthorizationCodeResult(code=back.code, state=back.state, iss=back.issuer or None)

    metadata = _metadata(person.redirect)
    provider = OAuthClientProvider(url, metadata, storage, person.show, returned, client.document or None)
    storage.provider = provider
    return provider


def _metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name="Angelia", redirect_uris=[AnyUrl(redirect)])


def _restore(provider: OAuthClientProvider, storage: _Storage) -> None:
    storage.provider, login, context = provider, storage.login, provider.context
    if login is None:
        return
    context.token_expiry_time = login.expires or None
    if login.server:
        context.oauth_metadata = OAuthMetadata.model_validate_json(login.server)
    if login.resource:
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate_json(login.resource)
