"""`angelia channels`: the chat networks of the gateway."""

import asyncio
import re
from typing import Any

import click

from angelia.channels.capabilities import Capabilities
from angelia.channels.capability_tables import bounds, hearing, sending, table_of
from angelia.channels.port import HasLinking
from angelia.channels.registry import OURS, find_channel, read_settings
from angelia.core.entry import Address
from angelia.core.errors import BadInput, MissingPart
from angelia.faces.cli import completion
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import draw, echo, sure
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.installation import installation
from angelia.service.chats.channel_setup import drafted, make_owner, secret_file, secrets_of
from angelia.service.settings.config_file import ConfigFile

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@click.group(
    invoke_without_command=True,
    epilog=(
        "\b\nExamples:\n  angelia channels\n  angelia channels add telegram\n  angelia channels test telegram --to 4711"
    ),
)
@settings_options
@click.pass_context
def channels(ctx: click.Context, /, **given: Any) -> int | None:
    """List the configured channels, and who may speak through them; `status` asks the networks."""
    return _list(given) if ctx.invoked_subcommand is None else None


def _list(given: dict[str, Any]) -> int:
    rows: list[tuple[str, ...]] = []
    for door, section in loaded_from(given).config.channels.items():
        settings = read_settings(door, section, find_channel(door, section))
        owners, others = len(settings.owners), len(settings.allow)
        who = f"{owners} {'owner' if owners == 1 else 'owners'}, {others} {'other' if others == 1 else 'others'}"
        who = who if settings.owners or settings.allow else "nobody may speak yet"
        rows.append((door, settings.kind or door, who if settings.enabled else f"disabled, {who}"))
    known = ", ".join(OURS)
    for line in table(rows) or [f"No channel is configured. `angelia channels add NAME` sets one up: {known}."]:
        echo(line)
    return 0


@channels.command(
    epilog=("\b\nExamples:\n  angelia channels add telegram\n  angelia channels add irc --with nick=rosa")
)
@click.argument("kind", shell_complete=completion.channel_kinds)
@click.option("--name", default="", help="A name other than the network's, for a second account.")
@click.option("--owner", default="", metavar="ID", help="Your own id in that network.")
@click.option("--token", default="", metavar="TOKEN", help="Asked for without being shown, if it is not given.")
@click.option("--with", "more", multiple=True, metavar="NAME=VALUE", help="What else a network needs: app_token=…")
@click.option("--unchecked", is_flag=True, help="Do not ask the network whether it lets us in.")
@settings_options
def add(kind: str, name: str, **given: Any) -> int:
    """Set up a channel, step by step. You get a token, it is tried, and your first message makes you its owner."""
    from angelia.faces.cli import channel_adding as adding

    home, door = loaded_from(given).home, name or kind
    settings = find_channel(door, {"kind": kind}).settings
    if not _NAME.fullmatch(door):
        raise BadInput(f"{door!r} cannot name a channel.", then="Use small letters, digits, - and _.")
    if door in loaded_from(given).config.channels:
        raise BadInput(f"There is a channel {door} already.", then=f"Change it with: angelia channels edit {door}")
    told = _told(given)
    who = None
    if given["token"] or given["unchecked"] or not adding.person_there():
        told = told if given["token"] else adding.told_by_person(kind, told, known={})
        draft = drafted(door, kind, told)
        who = None if given["unchecked"] else adding.try_draft(draft)
        adding.write_down(draft, given)
    else:
        who = adding.added_by_person(door, kind, told, given)
    if given["owner"]:
        make_owner(home, door, (), given["owner"])
    elif settings.guide.write and adding.person_there() and not adding.meet_owner(door, who, given):
        echo("Later is fine: whoever writes is told a code, and `angelia pair approve CODE` lets them in.")
    echo(f"\nNow: {f'angelia channels link {door}' if settings.linked else installation().gateway()}")
    return 0


@channels.command(
    epilog=("\b\nExamples:\n  angelia channels edit telegram\n  angelia channels edit irc --with nick=rosa")
)
@click.argument("name", shell_complete=completion.channels)
@click.option("--owner", default="", metavar="ID", help="One more id of yours in that network.")
@click.option("--token", default="", metavar="TOKEN", help="A fresh token.")
@click.option("--with", "more", multiple=True, metavar="NAME=VALUE", help="Another setting of it.")
@click.option("--unchecked", is_flag=True, help="Do not ask the network whether it lets us in.")
@settings_options
def edit(name: str, **given: Any) -> int:
    """Change a channel. An empty line keeps what is asked for; what is not asked for stays as it is."""
    from angelia.faces.cli import channel_adding as adding

    loaded = loaded_from(given)
    section = _section(given, name)
    kind, told = str(section.get("kind") or name), _told(given)
    if not told and not given["owner"]:
        told = adding.told_by_person(kind, {}, known=section)
    draft = drafted(name, kind, told, section)
    if draft.settings or draft.secrets:
        if not given["unchecked"]:
            adding.try_draft(draft)
        adding.write_down(draft, given)
    if given["owner"]:
        make_owner(loaded.home, name, section.get("owners", ()), given["owner"])
        echo(f"{given['owner']} is an owner of {name}.")
    echo("A gateway that runs reads it when it is started anew.")
    return 0


def _told(given: dict[str, Any]) -> dict[str, str]:
    told = {"token": given["token"], **{one.partition("=")[0]: one.partition("=")[2] for one in given["more"]}}
    return {name: value for name, value in told.items() if value}


def _section(given: dict[str, Any], name: str) -> dict[str, Any]:
    channels = loaded_from(given).config.channels
    if name not in channels:
        raise BadInput(f"There is no channel {name!r}.", f"There are {', '.join(channels) or 'none'}.")
    return channels[name]


@channels.command()
@click.argument("name", shell_complete=completion.channels)
@settings_options
def disable(name: str, **given: Any) -> int:
    """Keep a channel's settings, but do not open it."""
    return _enabled(name, given, on=False)


@channels.command()
@click.argument("name", shell_complete=completion.channels)
@settings_options
def enable(name: str, **given: Any) -> int:
    """Open a disabled channel again."""
    return _enabled(name, given, on=True)


def _enabled(name: str, given: dict[str, Any], *, on: bool) -> int:
    _section(given, name)
    ConfigFile(loaded_from(given).home).set_all({f"channels.{name}.enabled": on})
    echo(f"{name} is {'opened' if on else 'left closed'} by every gateway that is started from now on.")
    return 0


@channels.command(epilog=("\b\nExample:\n  angelia channels remove telegram --yes"))
@click.argument("name", shell_complete=completion.channels)
@click.option("--yes", is_flag=True, help="Do not ask.")
@settings_options
def remove(name: str, yes: bool, **given: Any) -> int:
    """Remove a channel and the secrets kept for it. Its conversations stay."""
    section, home = _section(given, name), loaded_from(given).home
    if not yes and not sure(f"Remove the channel {name}, and its secrets?"):
        echo("Nothing was changed.")
        return 0
    ConfigFile(home).unset(f"channels.{name}")
    for secret in secrets_of(str(section.get("kind") or name)):
        secret_file(home, name, secret).unlink(missing_ok=True)
    echo(f"The channel {name} is removed. Its conversations stay: angelia sessions")
    return 0


@channels.command()
@settings_options
def status(**given: Any) -> int:
    """Ask every network who we are there. Says who owns each channel, too, and whether a gateway runs."""
    return asyncio.run(_status(given))


async def _status(given: dict[str, Any]) -> int:
    from angelia.faces.cli.checkup.channels import look_at_channels
    from angelia.faces.cli.checkup.check_result import CheckState
    from angelia.faces.cli.doctor import shown
    from angelia.service.chats.gateway import gateway_runs

    app, healthy = await open_app(given), True
    try:
        async for finding in look_at_channels(app):
            healthy = healthy and finding.state is not CheckState.BROKEN
            draw(shown(finding, screen()))
        echo("A gateway runs." if gateway_runs(app.loaded.home) else "No gateway runs: angelia gateway")
    finally:
        await app.close()
    return 0 if healthy else 1


@channels.command(epilog=("\b\nExample:\n  angelia channels matrix telegram discord"))
@click.argument("kinds", nargs=-1)
def matrix(kinds: tuple[str, ...]) -> int:
    """Show side by side what networks can do. Of each kind of file: the largest, or what it is sent as instead."""
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


@channels.command(epilog=("\b\nExample:\n  angelia channels link whatsapp-personal"))
@click.argument("name", shell_complete=completion.channels)
@settings_options
def link(name: str, **given: Any) -> int:
    """Link a channel to an account, by a code for the phone to scan. Some networks need this beside a token, or
    instead.
    """
    return asyncio.run(_link(name, given))


async def _link(name: str, given: dict[str, Any]) -> int:
    from angelia.service.chats.gateway import Gateway
    from angelia.service.chats.sole_connection import sole_connection

    app = await open_app(given)
    try:
        channel = Gateway(app.chat_services).line(name).channel
        if not isinstance(channel, HasLinking):
            raise BadInput(f"{name} needs no linking.")
        async with sole_connection(app.db, app.loaded.home, name):
            account = await channel.link(echo)
    finally:
        await app.close()
    echo(f"Linked to {account}. Now: {installation().gateway()}")
    return 0


@channels.command(epilog=("\b\nExample:\n  angelia channels test telegram --to 4711"))
@click.argument("name", shell_complete=completion.channels)
@click.option("--to", required=True, metavar="CHAT", help="The chat, such as your own id.")
@settings_options
def test(name: str, to: str, **given: Any) -> int:
    """Send a real message, and say what became of it."""
    return asyncio.run(_test(name, to, given))


async def _test(name: str, to: str, given: dict[str, Any]) -> int:
    from angelia.channels.outgoing import OutText
    from angelia.service.chats.connected import connected
    from angelia.service.chats.gateway import Gateway

    app = await open_app(given)
    words = OutText("This is Angelia. If you can read this, messages arrive.")
    try:
        line = Gateway(app.chat_services).line(name)
        async with connected(line, app.db, app.loaded.home):
            with working(f"sending through {name}"):
                number = await line.channel.send(Address(name, to), words, f"test.{app.clock()}")
    finally:
        await app.close()
    echo(f"Accepted by the network as message {number}.")
    return 0
