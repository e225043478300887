"""The page itself: what a browser loads of it."""

import asyncio
from collections.abc import Awaitable, Callable

from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.page_files import own_page_files, packed


class PageRoutes:
    """The handlers. Where the page is stands behind `#`, which it reads itself."""

    def __init__(self) -> None:
        self._files = own_page_files()

    def routes(self) -> list[Route]:
        """One row each; to be looked through last."""
        shown = [Route("GET", f"/static/{name}", RouteGuard.NONE, self._static(name)) for name in self._files]
        return [
            *shown,
            Route("GET", "/", RouteGuard.NONE, self._static("index.html")),
        ]

    def _static(self, name: str) -> Callable[[RouteRequest], Awaitable[RouteResponse]]:
        file = self._files[name]

        async def handler(request: RouteRequest) -> RouteResponse:
            head = {"etag": file.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
            if request.headers.get("if-none-match") == file.tag:
                return RouteResponse(status=304, mime=file.mime, headers=head)
            if "gzip" in request.headers.get("accept-encoding", ""):
                body = await asyncio.to_thread(packed, file.body)
                return RouteResponse(body, mime=file.mime, headers=head | {"content-encoding": "gzip"})
            return RouteResponse(file.body, mime=file.mime, headers=head)

        return handler
