"""Who may answer a question of a conversation, and where they are asked."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from angelia.core.entry import Address, QuestionKind
from angelia.core.principal import OWNER, Principal


class Approvers(Struct, frozen=True):
    """Who may answer, and the address at which they are asked; where nobody may, `principals` is empty."""

    principals: tuple[Principal, ...] = ()
    address: Address = Address("terminal")


ApproversOf = Callable[[QuestionKind], Awaitable[Approvers]]
"""Who may answer such a question in the running turn: it is asked anew for each."""


async def nobody(_: QuestionKind) -> Approvers:
    """There is nobody who could answer, so that every question is a no."""
    return Approvers()


def owner_at(address: Address) -> ApproversOf:
    """The owner of the home is there and answers everything."""

    async def owner(_: QuestionKind) -> Approvers:
        return Approvers((OWNER,), address)

    return owner
