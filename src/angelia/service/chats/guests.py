"""What somebody may do who is let in through a channel, in the words in which the owner is told before and after."""

from typing import Literal

from angelia.store.tables.pairings import PairingRole


def may_do(role: PairingRole, guests: Literal["ask-owner", "confined"]) -> str:
    """What they will be able to do, and what not."""
    if role is PairingRole.OWNER:
        return (
            "As an owner they may do what you may do here: what is asked goes to them, and their yes counts, "
            "outside of the confinement too. They let others in."
        )
    asks = {"ask-owner": "is asked of you, in your own chat", "confined": "is refused"}[guests]
    return (
        "As a guest they may write to Angelia, send files, and have it work for them under your settings, with your "
        f"models and at your cost. What needs a yes {asks}. They cannot allow anything, nor let others in."
    )
