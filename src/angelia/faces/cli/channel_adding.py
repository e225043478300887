"""Adding a chat network with a person there: the steps to a token, the token tried, and the first message's sender."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

from angelia.channels.failures import ChannelError, LoginFailed
from angelia.channels.incoming import Envelope, IncomingMessage
from angelia.channels.port import AccountIdentity
from angelia.channels.registry import find_channel
from angelia.channels.settings import ChannelSettings
from angelia.core.errors import BadInput
from angelia.core.text import one_line
from angelia.core.unambiguous import claimed, unambiguous_line
from angelia.faces.cli.options import loaded_from, open_app
from angelia.faces.cli.progress import working
from angelia.faces.cli.qr_code import qr_code
from angelia.faces.words.output import asked, draw, echo, sure
from angelia.faces.words.paint import screen
from angelia.faces.words.steps import done, failed, heading, note, numbered, paragraph
from angelia.service.chats.channel_setup import (
    ChannelDraft,
    drafted,
    first_message,
    keep,
    make_owner,
    secret_file,
    tried,
    usual_of,
)

_TRIES = 3
"""How often a token that is refused is asked for again."""
_SHOWN = 60
"""Characters of somebody's first message."""


def told_by_person(kind: str, given: Mapping[str, str], *, known: Mapping[str, Any]) -> dict[str, str]:
    """What a network needs: what is not `given` is asked for, secrets without being shown; `known` is what holds now,
    which an empty line keeps.
    """
    settings = find_channel(kind, {"kind": kind}).settings
    told, usual = dict(given), usual_of(kind)
    for name in settings.guide.secrets:
        if not told.get(name):
            kept = " (Enter keeps what there is)" if name in known else ""
            told[name] = asked(f"{_called(name)} of {kind}, which is not shown{kept}", hidden=True)
    for name in settings.needed:
        if not told.get(name):
            now = known.get(name, usual.get(name)) or ""
            told[name] = asked(f"{kind}: {name}", usual=" ".join(now) if isinstance(now, list | tuple) else str(now))
    return told


def show_guide(kind: str, settings: type[ChannelSettings]) -> None:
    """The steps to what the network needs, and where they begin."""
    heading(settings.guide.title or kind.capitalize())
    numbered(settings.guide.steps)
    if settings.guide.link:
        show_link(settings.guide.link)
    echo()


def show_link(link: str) -> None:
    """A link, and its code for a phone where the terminal can show one."""
    echo(f"\n  {link}\n")
    paint = screen()
    for line in qr_code(link, paint):
        echo("  ", end="")
        draw(line)
        echo()


def try_draft(draft: ChannelDraft) -> AccountIdentity | None:
    """Ask the network who we are, and say it.

    Raises:
        LoginFailed: it does not let us in.
        BadInput: it cannot be reached now; says how to go on without.
    """
    try:
        with working(f"asking {draft.kind} who this is"):
            who = asyncio.run(tried(draft))
    except LoginFailed:
        raise
    except ChannelError as error:
        then = "Nothing was changed. --unchecked keeps it without trying."
        raise BadInput(f"{draft.kind} could not be tried. {error}", then=then) from error
    if who:
        done(f"It works: this is {claimed(who.name)}.")
    return who


def added_by_person(door: str, kind: str, first: Mapping[str, str], given: dict[str, Any]) -> AccountIdentity | None:
    """Add a channel by asking: its steps, what it needs, a try; a token that is refused is asked for again."""
    settings = find_channel(kind, {"kind": kind}).settings
    show_guide(kind, settings)
    for more in reversed(range(_TRIES)):
        draft = drafted(door, kind, told_by_person(kind, first, known={}))
        try:
            who = try_draft(draft)
        except LoginFailed as refused:
            if not more:
                raise
            failed(f"{refused.what} {refused.why} Was all of it copied? Once more, or Ctrl-C to leave it.")
            continue
        write_down(draft, given)
        return who
    raise AssertionError


def write_down(draft: ChannelDraft, given: dict[str, Any]) -> None:
    """Keep a draft, and say where."""
    home = loaded_from(given).home
    keep(draft, home)
    for name in draft.secrets:
        done(f"The {name} is in {secret_file(home, draft.door, name)}, which only you can read.")
    done(f"The channel {draft.door} is in {home / 'config.toml'}.")


def meet_owner(door: str, who: AccountIdentity | None, given: dict[str, Any]) -> bool:
    """Wait for somebody's first message, and make them the owner if they are who sits here; False for later."""
    heading(f"Write to {claimed(who.name) if who else door} now")
    paragraph("Whoever writes first, and is confirmed here, is the owner: they may approve, and let others in.")
    if who and who.link:
        show_link(who.link)
    declined: set[str] = set()
    while True:
        note("Waiting for your first message. Enter: later.")
        envelope = asyncio.run(_first(door, declined, given))
        if envelope is None:
            return False
        said = envelope.what.text if isinstance(envelope.what, IncomingMessage) else ""
        sender = envelope.sender
        echo()
        who_wrote = f"“{claimed(sender.name)}” ({unambiguous_line(sender.id)})"
        paragraph(f"{who_wrote} wrote: {one_line(said)[:_SHOWN] or 'a file'}")
        if sure("Is that you?"):
            loaded = loaded_from(given)
            make_owner(loaded.home, door, loaded.config.channels[door].get("owners", ()), sender.id)
            done(f"You are the owner of {door}, by the id {unambiguous_line(sender.id)}.")
            return True
        declined.add(sender.id)


async def _first(door: str, declined: set[str], given: dict[str, Any]) -> Envelope | None:
    """The next first message, None when the person at the terminal presses Enter instead."""
    from angelia.service.chats.gateway import Gateway

    loop, pressed = asyncio.get_running_loop(), asyncio.Event()
    app = await open_app(given)
    try:
        coming = asyncio.create_task(first_message(Gateway(app.chat_services).line(door), declined))
        later = asyncio.create_task(pressed.wait())
        loop.add_reader(sys.stdin.fileno(), _line_typed, pressed)
        try:
            await asyncio.wait([coming, later], return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(sys.stdin.fileno())
            later.cancel()
            if not coming.done():
                coming.cancel()
            await asyncio.gather(coming, later, return_exceptions=True)
        return None if coming.cancelled() else coming.result()
    finally:
        await app.close()


def _line_typed(pressed: asyncio.Event) -> None:
    if sys.stdin.readline().strip():
        note("Words typed here reach nobody: write them in the chat. Enter alone: later.")
    else:
        pressed.set()


def person_there() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _called(name: str) -> str:
    return f"The {name.replace('_', ' ')}"
