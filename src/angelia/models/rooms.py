"""Opens the room that speaks a model's wire; rooms of strangers are found by entry point."""

from importlib import import_module
from typing import Protocol, cast

from angelia.context.request import OpenMedia
from angelia.core.errors import ConfigError
from angelia.core.profile import Profile
from angelia.models.port import ModelRoom
from angelia.models.wire import GetClient, Timeouts

GROUP = "angelia.models"
"""The entry point group: the name is the wire, the value an `OpenRoom`."""

OURS = {
    "openai-chat": "angelia.models.openai_chat",
    "openai-responses": "angelia.models.openai_responses",
    "anthropic": "angelia.models.anthropic",
    "pydantic-ai": "angelia.models.pydantic_ai",
    "local": "angelia.models.local",
}
"""Modules by wire, each with an `open_room`; imported when a model of theirs is used."""


class OpenRoom(Protocol):
    """How a room is opened. Rooms that do not speak HTTP leave the client alone."""

    def __call__(self, profile: Profile, client: GetClient, open_media: OpenMedia, timeouts: Timeouts) -> ModelRoom:
        """The room of one model."""
        ...


def open_room(
    profile: Profile, client: GetClient | None, open_media: OpenMedia, timeouts: Timeouts | None = None
) -> ModelRoom:
    """The room for the wire that `profile` names.

    Raises:
        ConfigError: nobody speaks that wire, or it needs a base URL and its vendor has none.
    """
    if profile.wire in OURS:
        opener = cast("OpenRoom", import_module(OURS[profile.wire]).open_room)
    else:
        opener = _of_strangers(profile.wire)
    return opener(profile, cast("GetClient", client), open_media, timeouts or Timeouts())


def _of_strangers(wire: str) -> OpenRoom:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=wire):
        return cast("OpenRoom", entry.load())
    raise ConfigError(
        f"Nobody here speaks the wire {wire!r}.",
        f"Known ones are {', '.join(OURS)}.",
        f"Install the package that brings it, with an entry point of that name in {GROUP}.",
    )
