"""Opens the provider that speaks a model's wire; third-party ones are found by entry point."""

from importlib import import_module
from typing import Protocol, cast

from angelia.core.errors import ConfigError
from angelia.core.profile import Profile
from angelia.models.context import ProviderContext
from angelia.models.port import Provider

GROUP = "angelia.models"
"""The entry point group: the name is the wire, the value an `OpenProvider`."""

OURS = {
    "openai-chat": "angelia.models.wires.openai_chat",
    "openai-responses": "angelia.models.wires.openai_responses",
    "anthropic": "angelia.models.wires.anthropic",
    "pydantic-ai": "angelia.models.pydantic_ai.provider",
    "local": "angelia.models.local.provider",
}
"""Modules by wire, each with an `open_provider`; imported when a model of theirs is used."""


class OpenProvider(Protocol):
    """How a provider is opened."""

    def __call__(self, profile: Profile, context: ProviderContext) -> Provider:
        """The provider of one model."""
        ...


def open_provider(profile: Profile, context: ProviderContext) -> Provider:
    """The provider for the wire that `profile` names.

    Raises:
        ConfigError: nobody speaks that wire, or it needs a base URL and its vendor has none.
    """
    if profile.wire in OURS:
        opener = cast("OpenProvider", import_module(OURS[profile.wire]).open_provider)
    else:
        opener = _third_party(profile.wire)
    return opener(profile, context)


def _third_party(wire: str) -> OpenProvider:
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=wire):
        return cast("OpenProvider", entry.load())
    raise ConfigError(
        f"Nobody here speaks the wire {wire!r}.",
        f"Known ones are {', '.join(OURS)}.",
        f"Install the package that brings it, with an entry point of that name in {GROUP}.",
    )
