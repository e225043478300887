"""What the page asks about settings, and how it changes one: in config.toml, whose comments stay."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from angelia.core.errors import ConfigError
from angelia.faces.web.asgi.guards import RouteGuard
from angelia.faces.web.asgi.request import RouteRequest, RouteResponse, json_response
from angelia.faces.web.asgi.routes import Route
from angelia.faces.web.conversations.entry_view import View
from angelia.service.settings.config import Loaded, listed, load
from angelia.service.settings.config_file import ConfigFile


class ChangedSetting(Struct, forbid_unknown_fields=True):
    """A setting by its dotted name, and its value as one writes it; none takes it out of the file."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    value: Annotated[str, Meta(max_length=20_000)] | None


class SettingsRoutes:
    """The handlers. What is changed holds from the next start on; until then both values are told."""

    def __init__(self, loaded: Loaded, environ: Mapping[str, str]) -> None:
        self._loaded, self._environ = loaded, environ

    def routes(self) -> list[Route]:
        """One row each."""
        return [
            Route("GET", "/api/settings", RouteGuard.LOGIN, self._settings),
            Route("POST", "/api/settings", RouteGuard.WRITE, self._change),
        ]

    async def _settings(self, _: RouteRequest) -> RouteResponse:
        coming = await asyncio.to_thread(self._coming)
        rows: list[View] = []
        for name, value, origin in listed(self._loaded):
            row: View = {"name": name, "value": value, "from": origin}
            later = coming.get(name, value)
            if later != value and not origin.startswith("--"):  # a flag is given anew at each start, or not
                row["next"] = later
            rows.append(row)
        return json_response({"settings": rows, "file": str(self._file)})

    def _coming(self) -> dict[str, Any]:
        """What holds from the next start on; nothing where the file is wrong by now."""
        with suppress(ConfigError):
            return {name: value for name, value, _ in listed(load(self._loaded.home, self._environ))}
        return {}

    async def _change(self, request: RouteRequest) -> RouteResponse:
        given = await request.json(ChangedSetting)
        file = ConfigFile(self._loaded.home)
        if given.value is None:
            await asyncio.to_thread(file.unset, given.name)
            return json_response({"name": given.name})
        return json_response({"name": given.name, "value": await asyncio.to_thread(file.set, given.name, given.value)})

    @property
    def _file(self) -> Path:
        return self._loaded.home / "config.toml"
