"""Looks at chat networks: whether each lets us in, and whether somebody may speak there."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

from angelia.channels.failures import ChannelError, LoginFailed
from angelia.channels.settings import ChannelSettings
from angelia.core.counts import counted
from angelia.core.errors import AngeliaError, ConfigError, MissingPart
from angelia.core.person_role import PersonRole
from angelia.core.unambiguous import claimed
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.service.app import App
from angelia.service.chats.accounts import require_own_account
from angelia.service.chats.channel_setup import identity
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel

SECONDS = 20.0
"""How long a network may take to say who we are."""


async def look_at_channels(app: App) -> AsyncIterator[CheckResult]:
    """Each channel of the settings, by one call that changes nothing."""
    channels = app.loaded.config.channels
    if not channels:
        yield absent("channels", "none is configured", "`angelia channels add telegram` sets one up")
    before: dict[str, ChannelSettings] = {}
    for door in channels:
        yield await _look(app, door, before)


async def _look(app: App, door: str, before: dict[str, ChannelSettings]) -> CheckResult:
    """`before` are those that were looked at and are to be opened; this one is added to them."""
    about = f"channel {door}"
    try:
        line = Gateway(app.chat_services).line(door)
    except MissingPart as error:
        return broken(about, error.what, error.then)
    except AngeliaError as error:
        return broken(about, error.what, f"{error.why} `angelia channels edit {door}` changes it.".strip())
    if not line.settings.enabled:
        await line.channel.close()
        return absent(about, "disabled", f"`angelia channels enable {door}` opens it again")
    before[door] = line.settings
    try:
        await require_own_account(door, before, app.tokens.find)
    except ConfigError as twice:
        await line.channel.close()
        return broken(about, f"{twice.what} {twice.why}", twice.then)
    try:
        async with asyncio.timeout(SECONDS):
            who = await identity(line.channel)
    except LoginFailed as error:
        return broken(about, f"{error.what} {error.why}".strip(), f"`angelia channels edit {door}` takes a fresh token")
    except (ChannelError, TimeoutError) as error:
        said = str(error) or f"no answer within {SECONDS:.0f} s"
        return broken(about, said, "Look at the connection; what comes in meanwhile is kept by most networks")
    except AngeliaError as error:
        return broken(about, f"{error.what} {error.why}".strip(), error.then)
    known = f"{claimed(who.name)} is let in" if who else "configured; it is tried by `angelia channels test`"
    return await _spoken(app, line, about, known)


async def _spoken(app: App, line: OpenChannel, about: str, known: str) -> CheckResult:
    door = line.channel.door
    roles = Counter((await app.admission.roles.at(door, line.settings)).values())
    if not roles[PersonRole.OWNER]:
        mend = "write to it while the gateway runs, and approve the code: angelia pair approve CODE --as owner"
        return absent(about, f"{known}; it has no owner", mend)
    people = (counted(roles[one], one) for one in PersonRole if roles[one])
    return well(about, f"{known}; {', '.join(people)}")
