"""A channel that is being set up: what is told of it, whether its network lets us in, and who first writes to it."""

import asyncio
import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import fields

from angelia.cancellation import cancel_and_wait
from angelia.channels.incoming import Envelope, IncomingMessage
from angelia.channels.port import AccountIdentity, Channel, ChannelContext, HasIdentity
from angelia.channels.registry import find_channel, open_channel, read_settings
from angelia.channels.settings import ChannelSettings, Secret
from angelia.core.ids import wall_clock
from angelia.held_folder import HeldFolder
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.settings.config_file import ConfigFile
from angelia.service.settings.private_file import write_private
from angelia.service.settings.tokens import Tokens


class ChannelDraft(Struct, frozen=True):
    """What somebody told of a channel: of its `settings` and its `secrets`, both by the setting's name, as text.

    `known` is what is configured of it already; what is told is laid over that.
    """

    door: str
    kind: str
    settings: Mapping[str, str]
    secrets: Mapping[str, str]
    known: Mapping[str, object]

    @property
    def section(self) -> dict[str, object]:
        """Its settings without secrets, as the configuration has them."""
        usual = usual_of(self.kind)
        named = {} if self.door == self.kind else {"kind": self.kind}
        return named | {name: _read_as(usual.get(name), value) for name, value in self.settings.items()}


def usual_of(kind: str) -> dict[str, object]:
    """The settings of a network with their defaults.

    Raises:
        ConfigError, MissingPart: nobody knows such a network, or it needs an extra.
    """
    return {one.encode_name: one.default for one in fields(_settings(kind))}


def secrets_of(kind: str) -> frozenset[str]:
    """The names of a network's settings that are secrets. Raises as `usual_of`."""
    hints = get_type_hints(_settings(kind))
    return frozenset(name for name, hint in hints.items() if Secret in (hint, *get_args(hint)))


def drafted(door: str, kind: str, told: Mapping[str, str], known: Mapping[str, object] | None = None) -> ChannelDraft:
    """A draft of what was told.

    Raises:
        ConfigError: one of it is none of this network's settings, or of no use there.
    """
    hidden = secrets_of(kind)
    given = {name: value.strip() for name, value in told.items() if value.strip()}
    draft = ChannelDraft(
        door,
        kind,
        {name: value for name, value in given.items() if name not in hidden},
        {name: value for name, value in given.items() if name in hidden},
        known or {},
    )
    read_settings(door, {**draft.known, **draft.section}, find_channel(door, {"kind": kind}))
    return draft


async def tried(draft: ChannelDraft) -> AccountIdentity | None:
    """Who the network says we are; None where it cannot be asked without being connected. Nothing is kept.

    Raises:
        ChannelError: we are not let in, or it cannot be reached now.
        ConfigError: a secret cannot be read.
    """
    kept: dict[str, str] = {}

    async def secret(where: Secret) -> str:
        if where.env in draft.secrets:
            return draft.secrets[where.env]
        return await Tokens(os.environ).read(draft.door, where)

    async def recall(key: str) -> str:
        return kept.get(key, "")

    async def remember(key: str, value: str) -> None:
        kept[key] = value

    section = {**draft.known, **draft.section, **{name: {"env": name} for name in draft.secrets}}
    with HeldFolder() as folder:
        context = ChannelContext(draft.door, folder, wall_clock, secret, recall, remember, lambda _: None, {})
        return await identity(open_channel(draft.door, section, context))


async def identity(channel: Channel) -> AccountIdentity | None:
    """Who we are there, and the channel is closed. Raises as `tried`."""
    try:
        return await channel.identify() if isinstance(channel, HasIdentity) else None
    finally:
        await channel.close()


def keep(draft: ChannelDraft, home: Path) -> None:
    """Write a draft down: its secrets into files that only their owner can read, the rest into config.toml.

    Raises:
        BadInput: it cannot be configured so; nothing was changed.
    """
    section = dict(draft.section)
    for name, value in draft.secrets.items():
        write_private(path := secret_file(home, draft.door, name), f"{value}\n")
        section[name] = {"file": str(path)}
    ConfigFile(home).set_all({f"channels.{draft.door}.{name}": value for name, value in section.items()})


def secret_file(home: Path, door: str, name: str) -> Path:
    """Where a secret of a channel is kept."""
    return home / "channels" / f"{door}.{name}"


async def first_message(line: OpenChannel, but: Collection[str]) -> Envelope:
    """Wait for the first message that somebody writes in private, except from these ids. It is not taken in: a network
    that keeps what was not acknowledged brings it again.

    Raises:
        BadInput: the channel has stopped; says why.
    """
    came: asyncio.Queue[Envelope] = asyncio.Queue()

    async def hear(envelope: Envelope) -> str:
        sender = envelope.sender
        if envelope.private and isinstance(envelope.what, IncomingMessage) and not sender.bot and sender.id not in but:
            came.put_nowait(envelope)
        await asyncio.Event().wait()
        return ""

    running = asyncio.create_task(line.channel.run(hear))
    waiting = asyncio.create_task(came.get())
    try:
        done, _ = await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        if running in done and (error := running.exception()):
            raise error
        return await waiting
    finally:
        await cancel_and_wait(running, waiting)
        await line.channel.close()


def make_owner(home: Path, door: str, owners: Sequence[str], person: str) -> None:
    """Add somebody to a channel's owners."""
    ConfigFile(home).set_all({f"channels.{door}.owners": [*owners, *([] if person in owners else [person])]})


def _settings(kind: str) -> type[ChannelSettings]:
    return find_channel(kind, {"kind": kind}).settings


def _read_as(usual: object, value: str) -> object:
    """Words as a list where the setting is one; numbers and yes or no where they are meant."""
    if isinstance(usual, tuple):
        return value.replace(",", " ").split()
    if isinstance(usual, bool | int | float):
        with suppress(ValueError):
            return json.loads(value)
    return value
