"""A channel of this home, held to the kit on its real account: in a chat that somebody names, once they said yes."""

from collections.abc import Callable
from pathlib import Path

from angelia.core.entry import Address
from angelia.core.errors import BadInput
from angelia.faces.cli.options import open_app
from angelia.service.chats.connected import connected
from angelia.service.chats.gateway import Gateway
from angelia.testing.certificates.certificate import TriedClaim
from angelia.testing.certificates.trial import tried
from angelia.testing.channels.real_account import RealAccount, RealClaim, Untried, real_claims

Agreed = Callable[[str], bool]
"""Says what will be sent to whoever started it, and whether they say yes."""


async def door(
    name: str, to: str, sets: tuple[str, ...], folder: Path, told: Callable[[str], None], agreed: Agreed
) -> list[TriedClaim]:
    """Try the channel `name` in the chat `to`; nothing is sent before `agreed` says so. `told` hears of each claim.

    Raises:
        BadInput: there is no such channel, or it was not agreed; nothing was sent.
    """
    app = await open_app({"sets": sets})
    try:
        line = Gateway(app.chat_services).line(name)
        address = Address(name, to)
        planned = list(real_claims(line.channel, address))
        messages = sum(claim.messages for claim in planned if isinstance(claim, RealClaim))
        said = f"{messages} messages go to {to} through {name} and stay there, so that you can look at them."
        try:
            if not agreed(said):
                raise BadInput("Nothing was sent.", then="Say yes, or start it with --yes.")
        except BadInput:
            await line.channel.close()
            raise
        async with connected(line, app.db, app.loaded.home):
            account = RealAccount(line.channel, address, folder)
            return [await _tried(claim, account, told) for claim in _to_try(planned, told)]
    finally:
        await app.close()


def _to_try(planned: list[RealClaim | Untried], told: Callable[[str], None]) -> list[RealClaim]:
    for one in planned:
        if isinstance(one, Untried):
            told(f"–  {one.name}: not tried; {one.why}")
    return [one for one in planned if isinstance(one, RealClaim)]


async def _tried(claim: RealClaim, account: RealAccount, told: Callable[[str], None]) -> TriedClaim:
    """What came of one claim; what is wrong says how to mend it, as every error of a channel does."""
    found = await tried(claim.name, claim.deed(account))
    told(f"✔  {claim.name}" if found.held else f"✘  {claim.name}: {found.broken[0]}")
    return found
