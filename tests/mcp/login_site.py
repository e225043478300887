"""A site that wants a login, with the authorization server that gives it, in this process."""

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import mcp_types as types
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    ProviderTokenVerifier,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.lowlevel import Server
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

from angelia.tools.mcp.logins import LoginPerson, Returned, StoredLogin
from tests.ports import free_port


class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Lets everybody in who asks properly; a token holds for an hour, and each refresh token once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_hex(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._token(client, authorization_code.scopes)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._token(client, refresh_token.scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise AssertionError("nobody asks for this")

    def _token(self, client: OAuthClientInformationFull, scopes: list[str]) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.access[access] = AccessToken(token=access, client_id=client.client_id, scopes=scopes)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
        scope = " ".join(scopes) or None
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=3_600, scope=scope)


class _Scoped:
    """Refuses calls of tools to tokens without a scope (RFC 6750, section 3.1)."""

    def __init__(self, app: Any, authority: Authority, scope: str) -> None:
        self._app, self._authority, self._scope = app, authority, scope

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/mcp":
            await self._app(scope, receive, send)
            return
        request = await receive()
        token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        known = self._authority.access.get(token)
        if b'"tools/call"' in request["body"] and known and self._scope not in known.scopes:
            challenge = f'Bearer error="insufficient_scope", scope="{self._scope}"'
            headers = [(b"www-authenticate", challenge.encode())]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        first = [request]

        async def again() -> Any:
            return first.pop() if first else await receive()

        await self._app(scope, again, send)


@asynccontextmanager
async def login_site(authority: Authority, scope: str = "") -> AsyncIterator[str]:
    """The address of a site with one tool, for who has logged in; a call of it wants this scope."""

    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="bloom", input_schema={"type": "object"})])

    async def called(_: Any, __: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="it blooms")])

    server: Server[Any] = Server("garden", on_list_tools=listed, on_call_tool=called)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            resource_server_url=AnyHttpUrl(f"{origin}/mcp"),
            validate_token_resource=False,
            client_registration_options=ClientRegistrationOptions(enabled=True, default_scopes=["plant"]),
        )
        app = server.streamable_http_app(
            auth=settings, auth_server_provider=authority, token_verifier=ProviderTokenVerifier(authority)
        )
        guarded = _Scoped(app, authority, scope) if scope else app
        web = uvicorn.Server(uvicorn.Config(guarded, log_config=None, lifespan="on"))
        serving = asyncio.create_task(web.serve([listening]))
        try:
            yield f"{origin}/mcp"
        finally:
            web.should_exit = web.force_exit = True
            await serving


async def ended_at(address: str) -> str:
    """Where a login at an address ends."""
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as browser:
        return (await browser.get(address)).headers["location"]


def visitor(**changed: str) -> LoginPerson:
    """Somebody who goes where they are sent and comes back; `changed` is what is not as it should be then."""
    back: list[str] = []

    async def show(address: str) -> None:
        back.append(await ended_at(address))

    async def returned() -> Returned:
        query = {name: values[0] for name, values in parse_qs(urlsplit(back[-1]).query).items()} | changed
        return Returned(query["code"], query["state"], query.get("iss", ""))

    return LoginPerson(f"http://127.0.0.1:{free_port()}/callback", show, returned)


class KeptLogins:
    """SiteLogins in memory; see `angelia.tools.mcp.logins.SiteLogins`."""

    def __init__(self) -> None:
        self.kept: dict[str, StoredLogin] = {}
        self._alone = asyncio.Lock()

    def read(self, name: str) -> StoredLogin | None:
        return self.kept.get(name)

    def write(self, name: str, login: StoredLogin) -> None:
        self.kept[name] = login

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        async with self._alone:
            yield
