"""Opens the channel that a section of the settings names; others come by entry point."""

from collections.abc import Mapping
from importlib import import_module
from typing import cast, get_type_hints

import msgspec

from angelia.channels.port import Channel, ChannelContext, ChannelProvider
from angelia.channels.settings import WHERE_KEPT, ChannelSettings, Secret
from angelia.core.errors import ConfigError, MissingPart
from angelia.core.principal import RESERVED

GROUP = "angelia.channels"
"""The entry point group: the name is the network's, the value a `ChannelProvider`."""

OURS = {
    "discord": "angelia.channels.discord.channel",
    "irc": "angelia.channels.irc.channel",
    "matrix": "angelia.channels.matrix.channel",
    "slack": "angelia.channels.slack.channel",
    "telegram": "angelia.channels.telegram.channel",
    "whatsapp": "angelia.channels.whatsapp.channel",
    "whatsapp-personal": "angelia.channels.whatsapp.bridge.channel",
}
"""Modules by name, each with a `CHANNEL`; imported when a channel of theirs is opened."""

_LIBRARIES = {"discord": "websockets", "slack": "websockets"}
"""The module that a channel of ours cannot do without, which the extra of its name brings; others need none."""


def open_channel(door: str, section: Mapping[str, object], context: ChannelContext) -> Channel:
    """The channel `door`, as its section of the settings says. Nothing has to be reached yet.

    Raises:
        ConfigError: a setting is wrong, or nobody knows such a network; names the key.
        MissingPart: the channel needs an extra.
    """
    provider = find_channel(door, section)
    return provider.open(read_settings(door, section, provider), context)


def read_settings(door: str, section: Mapping[str, object], provider: ChannelProvider) -> ChannelSettings:
    """A section as the network's own type.

    Raises:
        ConfigError: a key is unknown, missing or of another type; names it.
    """
    try:
        return msgspec.convert(section, provider.settings)
    except msgspec.ValidationError as error:
        fault, _, where = str(error).partition(" - at `$.")
        name = where.rstrip("`")
        key = f"channels.{door}.{name}" if name else f"channels.{door}"
        if get_type_hints(provider.settings).get(name) is Secret and isinstance(section[name], str):
            raise ConfigError(
                f"The setting {key} is text.",
                "It takes the place where the secret is kept, and never the secret itself.",
                f"Write {name} = {WHERE_KEPT}.",
            ) from error
        raise ConfigError(f"The setting {key} cannot be used: {fault}.") from error


def find_channel(door: str, section: Mapping[str, object]) -> ChannelProvider:
    """What opens a channel: the provider of its `kind`, or of the door's own name.

    Raises:
        ConfigError: nobody knows such a network, or a channel cannot be called so.
        MissingPart: the channel needs an extra.
    """
    if door in RESERVED or not door or ":" in door:
        why = (
            "Whoever writes through a channel is called by its name, a colon and their id; this would be somebody else."
        )
        raise ConfigError(f"No channel can be called {door!r}.", why, "Give its section of the settings another name.")
    name = str(section.get("kind") or door)
    if name in OURS:
        try:
            return cast("ChannelProvider", import_module(OURS[name]).CHANNEL)
        except ModuleNotFoundError as error:
            if error.name != _LIBRARIES.get(name, ""):
                raise
            raise MissingPart(f"The channel {door}", name) from error
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        return cast("ChannelProvider", entry.load())
    raise ConfigError(
        f"The channel {door} is of the kind {name!r}, and there is none of that name.",
        f"Known are {', '.join(sorted(OURS))}.",
        f"Set channels.{door}.kind to one of these, or install the package that brings {name!r}.",
    )
