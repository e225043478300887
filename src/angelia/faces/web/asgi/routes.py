"""Which path leads where, and past which guard: one table, which a test walks."""

import re
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import unquote

from msgspec import Struct

from angelia.core.errors import AngeliaError
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import (
    RequestRefused,
    RouteRequest,
    RouteResponse,
    StreamedResponse,
    error_response,
)

Handler = Callable[[RouteRequest], Awaitable[RouteResponse | StreamedResponse]]

_VARIABLE = re.compile(r"\{(\w+)\}")


class Route(Struct, frozen=True):
    """What one method on one path does. `{name}` in the path stands for one segment of it. `told` is how an error is
    put for whoever asks.
    """

    method: str
    path: str
    guard: RouteGuard
    handler: Handler
    told: Callable[[AngeliaError], RouteResponse] = error_response


class Routes:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.all = tuple(routes)
        self._patterns = [(re.compile(_VARIABLE.sub(r"(?P<\1>[^/]+)", one.path)), one) for one in self.all]

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route, and what stands for the variable parts of its path.

        Raises:
            RequestRefused: there is none, or not by this method.
        """
        allowed: list[str] = []
        for pattern, route in self._patterns:
            if not (match := pattern.fullmatch(path)):
                continue
            if route.method == method:
                return route, {name: unquote(value) for name, value in match.groupdict().items()}
            allowed.append(route.method)
        if allowed:
            raise RequestRefused(405, f"This cannot be asked for by {method[:10]}.", f"By {', '.join(allowed)} it can.")
        raise RequestRefused(404, "There is nothing here.")
