"""The page itself, and how somebody logs in to it."""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

from angelia.faces.web.guards import RouteGuard
from angelia.faces.web.logins import Logins, cookie_for, cookie_in
from angelia.faces.web.request import RequestRefused, RouteRequest, RouteResponse
from angelia.faces.web.routes import Route

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}


class LoginCode(Struct, forbid_unknown_fields=True):
    """The code that stood in a link."""

    code: str


class _StaticFile(Struct, frozen=True):
    body: bytes
    mime: str
    tag: str


class PageRoutes:
    """The handlers. Where the page is stands behind `#`, which it reads itself."""

    def __init__(self, logins: Logins) -> None:
        self._logins = logins
        self._files = _read(files("angelia.faces.web") / "static")

    def routes(self) -> list[Route]:
        """One row each; to be looked through last."""
        shown = [Route("GET", f"/static/{name}", RouteGuard.NONE, self._static(name)) for name in self._files]
        return [
            Route("POST", "/api/login", RouteGuard.LOGGING_IN, self._log_in),
            Route("POST", "/api/logout", RouteGuard.WRITE, self._log_out),
            *shown,
            Route("GET", "/", RouteGuard.NONE, self._static("index.html")),
        ]

    async def _log_in(self, request: RouteRequest) -> RouteResponse:
        token = await self._logins.log_in((await request.json(LoginCode)).code)
        return RouteResponse(status=204, headers={"set-cookie": cookie_for(token)})

    async def _log_out(self, request: RouteRequest) -> RouteResponse:
        await self._logins.log_out(cookie_in(request.headers.get("cookie", "")))
        return RouteResponse(status=204, headers={"set-cookie": cookie_for("")})

    def _static(self, name: str) -> Callable[[RouteRequest], Awaitable[RouteResponse]]:
        async def handler(request: RouteRequest) -> RouteResponse:
            file = self._files.get(name)
            if file is None:
                raise RequestRefused(404, "There is nothing here.")
            head = {"etag": file.tag, "cache-control": "no-cache"}
            if request.headers.get("if-none-match") == file.tag:
                return RouteResponse(status=304, mime=file.mime, headers=head)
            return RouteResponse(file.body, mime=file.mime, headers=head)

        return handler


def _read(folder: Traversable, within: str = "") -> dict[str, _StaticFile]:
    """The files that are served, by their paths: what is not there when it starts is never there."""
    found: dict[str, _StaticFile] = {}
    for one in folder.iterdir():
        path = f"{within}{one.name}"
        if one.is_dir():
            found |= _read(one, f"{path}/")
            continue
        mime = _TYPES.get(f".{one.name.rpartition('.')[2]}")
        if mime:
            body = one.read_bytes()
            found[path] = _StaticFile(body, mime, f'"{sha256(body).hexdigest()[:20]}"')
    return found
