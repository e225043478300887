"""`angelia channels`: the chat networks of the gateway."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click
from msgspec.structs import fields

from angelia.channels.capabilities import Capabilities
from angelia.channels.capability_tables import bounds, hearing, sending, table_of
from angelia.channels.incoming import Envelope
from angelia.channels.port import HasLinking
from angelia.channels.registry import OURS, find_channel, read_settings
from angelia.channels.settings import ChannelSettings, Secret
from angelia.core.entry import Address
from angelia.core.errors import BadInput, MissingPart
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import asked, echo
from angelia.faces.words.widths import table

if TYPE_CHECKING:
    from angelia.service.chats.open_channel import OpenChannel

_ONE_CONNECTION = "What is linked has one connection."

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@click.group(
    invoke_without_command=True,
    epilog="Examples:  angelia channels  ·  angelia channels add telegram  ·  angelia channels test telegram --to 4711",
)
@settings_options
@click.pass_context
def channels(ctx: click.Context, /, **given: Any) -> int | None:
    """List the configured channels, and who may speak through them."""
    return _list(given) if ctx.invoked_subcommand is None else None


def _list(given: dict[str, Any]) -> int:
    rows: list[tuple[str, ...]] = []
    for door, section in loaded_from(given).config.channels.items():
        settings = read_settings(door, section, find_channel(door, section))
        who = f"{len(settings.owners)} owners, {len(settings.allow)} others"
        rows.append((door, settings.kind or door, who if settings.owners or settings.allow else "nobody may speak yet"))
    known = ", ".join(OURS)
    for line in table(rows) or [f"No channel is configured. `angelia channels add NAME` sets one up: {known}."]:
        echo(line)
    return 0


@channels.command(epilog="Examples:  angelia channels add telegram  ·  angelia channels add irc --with nick=rosa")
@click.argument("kind")
@click.option("--name", default="", help="Another name than the network's, for a second account.")
@click.option("--owner", default="", metavar="ID", help="Your own id in that network.")
@click.option("--token", default="", metavar="TOKEN", help="Asked for without being shown, if it is not given.")
@click.option("--with", "more", multiple=True, metavar="NAME=VALUE", help="What else a network needs: app_token=…")
@settings_options
def add(kind: str, name: str, owner: str, token: str, more: tuple[str, ...], **given: Any) -> int:
    """Set up a channel: its secrets go into files that only you can read, the rest into config.toml."""
    home, door = loaded_from(given).home, name or kind
    settings = find_channel(door, {"kind": kind}).settings
    if not _NAME.fullmatch(door):
        raise BadInput(f"{door!r} cannot name a channel.", then="Use small letters, digits, - and _.")
    if door in loaded_from(given).config.channels:
        raise BadInput(f"There is a channel {door} already.", then=f"Change it in {home / 'config.toml'}.")
    told = _told(kind, settings, token, more)
    who = owner or asked("Your own id there (empty: you let yourself in with a code)")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    section = _section(kind, door, settings, told, home / "channels")
    section |= ({"kind": kind} if name else {}) | ({"owners": [who]} if who else {})
    lines = [f"\n[channels.{door}]", *(f"{one} = {_toml(value)}" for one, value in section.items())]
    with (home / "config.toml").open("a", encoding="utf-8") as config:
        config.write("\n".join(lines) + "\n")
    then = f"angelia channels link {door}" if settings.linked else "angelia gateway"
    echo(f"Written to {home / 'config.toml'}. Now: {then}")
    return 0


def _told(kind: str, settings: type[ChannelSettings], token: str, more: Sequence[str]) -> dict[str, str]:
    """What a network needs, by setting: secrets first. If the token is asked for, the others are, too."""
    told = {"token": token, **{one.partition("=")[0]: one.partition("=")[2] for one in more}}
    usual = {one.name: one.default for one in fields(settings)}
    for one in [name for name, value in usual.items() if name == "token" or isinstance(value, Secret)]:
        if not token and not told.get(one):
            told[one] = asked(f"The {one} of {kind}", hidden=True)
    for one in settings.needed:
        if not token and not told.get(one):
            shown = getattr(settings(), one) or ""
            told[one] = asked(f"{kind}: {one}", usual=str(shown))
    return {one: value for one, value in told.items() if value}


def _section(
    kind: str, door: str, settings: type[ChannelSettings], told: dict[str, str], folder: Path
) -> dict[str, object]:
    """The settings as they are written: a secret by the file that it is kept in.

    Raises:
        ConfigError: one of them is none of this network's, or of no use.
    """
    usual = {one.name: one.default for one in fields(settings)}
    hidden = {name for name, hint in get_type_hints(settings).items() if Secret in (hint, *get_args(hint))}
    section: dict[str, object] = {
        one: {"file": str(folder / f"{door}.{one}")} if one in hidden else _read_as(usual.get(one), value)
        for one, value in told.items()
    }
    read_settings(door, {"kind": kind, **section}, find_channel(door, {"kind": kind}))
    for one in hidden & told.keys():
        _keep(folder / f"{door}.{one}", told[one])
    return section


def _read_as(usual: object, value: str) -> object:
    """Words as a list where the setting is one; numbers and yes or no where they are meant."""
    if isinstance(usual, tuple):
        return value.replace(",", " ").split()
    if isinstance(usual, bool | int | float):
        with suppress(ValueError):
            return json.loads(value)
    return value


def _toml(value: object) -> str:
    """A value of one line; strings, numbers and lists are written in TOML as they are in JSON.

    >>> _toml({"file": "/home/ann/irc.token"})
    '{ file = "/home/ann/irc.token" }'
    """
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{one} = {_toml(inner)}' for one, inner in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _keep(path: Path, secret: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(f"{secret.strip()}\n")
    return path


@channels.command(epilog="Example: angelia channels matrix telegram discord")
@click.argument("kinds", nargs=-1)
def matrix(kinds: tuple[str, ...]) -> int:
    """Show what networks can do, side by side: the largest file of a kind, or as what it goes instead."""
    tables: dict[str, Capabilities] = {}
    for kind in kinds or OURS:
        try:
            tables[kind] = table_of(find_channel(kind, {}))
        except MissingPart as missing:
            echo(str(missing), err=True)
    for rows in (sending(tables), hearing(tables), bounds(tables)):
        for line in table([("", *tables), *rows]):
            echo(line)
        echo()
    return 0


@channels.command(epilog="Example: angelia channels link whatsapp-personal")
@click.argument("name")
@settings_options
def link(name: str, **given: Any) -> int:
    """Link a channel to an account, where a token alone is not enough: shows what the phone has to scan."""
    return asyncio.run(_link(name, given))


async def _link(name: str, given: dict[str, Any]) -> int:
    from angelia.service.chats.gateway import Gateway, alone_in

    app = await open_app(given)
    try:
        channel = Gateway(app.chat_services).line(name).channel
        if not isinstance(channel, HasLinking):
            raise BadInput(f"{name} needs no linking.")
        with alone_in(app.loaded.home, _ONE_CONNECTION):
            account = await channel.link(echo)
    finally:
        await app.close()
    echo(f"Linked to {account}. Now: angelia gateway")
    return 0


@channels.command(epilog="Example: angelia channels test telegram --to 4711")
@click.argument("name")
@click.option("--to", required=True, metavar="CHAT", help="The chat, such as your own id.")
@settings_options
def test(name: str, to: str, **given: Any) -> int:
    """Send a real message, and say what became of it."""
    return asyncio.run(_test(name, to, given))


async def _test(name: str, to: str, given: dict[str, Any]) -> int:
    from angelia.channels.outgoing import OutText
    from angelia.service.chats.gateway import Gateway

    app = await open_app(given)
    words = OutText("This is Angelia. If you can read this, messages arrive.")
    try:
        line = Gateway(app.chat_services).line(name)
        async with _connected(line, app.loaded.home):
            with working(f"sending through {name}"):
                number = await line.channel.send(Address(name, to), words, f"test.{app.clock()}")
    finally:
        await app.close()
    echo(f"Accepted by the network as message {number}.")
    return 0


@asynccontextmanager
async def _connected(line: "OpenChannel", home: Path) -> AsyncIterator[None]:
    """Some channels send over the connection that `run` holds. What is linked has but one; what comes in meanwhile
    waits for the gateway.
    """
    from angelia.service.chats.gateway import alone_in

    linked = isinstance(line.channel, HasLinking)
    try:
        with alone_in(home, _ONE_CONNECTION) if linked else nullcontext():
            if not linked and not line.settings.connected:
                yield
                return
            running = asyncio.create_task(line.channel.run(_waiting))
            try:
                yield
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
    finally:
        await line.channel.close()


async def _waiting(_: Envelope) -> str:
    """Takes nothing in."""
    await asyncio.Event().wait()
    return ""
