"""Opens the painter that speaks a wire; third-party ones are found by entry point."""

from importlib import import_module
from typing import Protocol, cast

from angelia.core.errors import ConfigError
from angelia.models.pictures.context import PainterContext
from angelia.models.pictures.port import Painter

GROUP = "angelia.painters"
"""The entry point group: the name is the wire (`server` in the settings), the value an `OpenPainter`."""

OURS = {
    "images": "angelia.models.pictures.images",
    "chat": "angelia.models.pictures.chat",
    "responses": "angelia.models.pictures.responses",
    "fal": "angelia.models.pictures.fal",
    "replicate": "angelia.models.pictures.replicate",
    "webui": "angelia.models.pictures.webui",
    "comfyui": "angelia.models.pictures.comfyui",
}
"""Modules by wire, each with an `open_painter`; imported when something is painted."""


class OpenPainter(Protocol):
    """How a painter is opened."""

    def __call__(self, context: PainterContext) -> Painter:
        """The painter of one model; nothing is sent yet."""
        ...


def open_painter(context: PainterContext) -> Painter:
    """The painter for the wire that the context's row names.

    Raises:
        ConfigError: nobody speaks that wire.
    """
    wire = context.row.wire
    if wire in OURS:
        return cast("OpenPainter", import_module(OURS[wire]).open_painter)(context)
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=wire):
        return cast("OpenPainter", entry.load())(context)
    raise ConfigError(
        f"Nobody here speaks to painters of the kind {wire!r}.",
        f"Known ones are {', '.join(OURS)}.",
        f"Install the package that brings it, with an entry point of that name in {GROUP}.",
    )
