"""Channels that are one account under two names: each would take messages that are meant for the other."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from angelia.channels.settings import ChannelSettings, Secret
from angelia.core.errors import AngeliaError, ConfigError

ReadToken = Callable[[str, Secret], Awaitable[str]]
"""What a channel's secret is, empty where there is none: `Tokens.find`."""

_SERVERS = ("api", "server")
"""The settings of a network that say at which server an account is: the same token elsewhere is another one."""


def require_own_accounts(channels: Mapping[str, ChannelSettings]) -> None:
    """Look at what the settings say of each channel, by its name.

    Raises:
        ConfigError: two of one network name the same account, or the same place for its key; says which two.
    """
    known: dict[tuple[tuple[str, ...], Secret | str], str] = {}
    for door, settings in channels.items():
        for account in settings.accounts:
            first = known.setdefault((_network(door, settings), account), door)
            if first != door and account not in ("", Secret()):
                raise _one_account(first, door)


async def require_own_account(door: str, channels: Mapping[str, ChannelSettings], read: ReadToken) -> None:
    """Look at what the secrets of a channel turn out to be, beside those that stand before it in the settings: of two
    that are alike the first one has the account, on every machine. What cannot be read is not looked at here.

    Raises:
        ConfigError: one before it has the same account; says which.
    """
    if door not in channels:
        return
    network, own = _network(door, channels[door]), frozenset[str]()
    for first, settings in channels.items():
        if first == door:
            return
        if _network(first, settings) == network:
            own = own or await _read(door, channels[door], read)
            if own & await _read(first, settings, read):
                raise _one_account(first, door)


async def _read(door: str, settings: ChannelSettings, read: ReadToken) -> frozenset[str]:
    found: set[str] = set()
    for account in settings.accounts:
        with suppress(AngeliaError):  # the channel itself says what is wrong with it
            found.add(account if isinstance(account, str) else (await read(door, account)).strip())
    return frozenset(found - {""})


def _network(door: str, settings: ChannelSettings) -> tuple[str, ...]:
    return (settings.kind or door, *(str(getattr(settings, name, "")) for name in _SERVERS))


def _one_account(first: str, second: str) -> ConfigError:
    return ConfigError(
        f"The channels {first} and {second} are the same account.",
        "Each would take messages that are meant for the other.",
        f"Give {second} an account of its own (`angelia channels edit {second}`), or disable one of the two.",
    )
