"""What a shell may complete where a command wants a name: what there is, as far as it can be read."""

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress

import click
from click.shell_completion import CompletionItem

from angelia.core.errors import AngeliaError
from angelia.core.ids import short
from angelia.core.principal import OWNER
from angelia.core.text import one_line
from angelia.core.visible import visible
from angelia.service.settings.config import Loaded, home_folder, listed, load

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_MOST = 100
"""The newest of many."""
_WIDE = 60


def _of(names: Callable[[Loaded], Iterable[tuple[str, str]]]) -> Completer:
    """Completes names, each with what it is in some words, which zsh and fish show."""

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        with suppress(AngeliaError, OSError):
            found = names(load(home_folder(), os.environ))
            return [
                CompletionItem(name, help=visible(one_line(about, _WIDE)))
                for name, about in found
                if name.startswith(begun)
            ]
        return []

    return complete


def _conversations(loaded: Loaded) -> Iterable[tuple[str, str]]:
    from angelia.service.stored_home import StoredHome

    with closing((home := StoredHome.open(loaded)).db):
        return [(short(one.id), one.title) for one in asyncio.run(home.transcript.conversations(OWNER, _MOST))]


def _schedules(loaded: Loaded) -> Iterable[tuple[str, str]]:
    from angelia.service.stored_home import StoredHome
    from angelia.store.tables.schedules import Schedules

    with closing(StoredHome.open(loaded).db) as db:
        found = asyncio.run(Schedules(db).changed(0))
        return [(short(one.id), one.scheduled.text) for one in reversed(found)][:_MOST]


def _channel_kinds(_: Loaded) -> Iterable[tuple[str, str]]:
    from angelia.channels.registry import OURS

    return [(kind, "") for kind in OURS]


def _secrets(loaded: Loaded) -> Iterable[tuple[str, str]]:
    from angelia.service.secrets.store import SecretStore

    return [(handle, ", ".join(kept.origins)) for handle, kept in SecretStore(loaded.home).kept().items()]


conversations = _of(_conversations)
schedules = _of(_schedules)
settings = _of(lambda loaded: [(name, f"{value!r}, {origin}") for name, value, origin in listed(loaded)])
channel_kinds = _of(_channel_kinds)
channels = _of(lambda loaded: [(name, str(one.get("kind", ""))) for name, one in loaded.config.channels.items()])
servers = _of(lambda loaded: [(name, "") for name in loaded.config.mcp.servers])
secrets = _of(_secrets)
