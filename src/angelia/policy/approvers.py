"""Who may answer a question of a conversation, where they are asked, and as whose it is judged."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from angelia.core.entry import Address, QuestionKind
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal


class Approvers(Struct, frozen=True):
    """Who may answer, and the address at which they are asked; where nobody may, `principals` is empty.

    `role` is that of those who want it, None for whoever has none.
    """

    principals: tuple[Principal, ...] = ()
    address: Address = Address("terminal")
    role: PersonRole | None = None


ApproversOf = Callable[[QuestionKind, Sequence[Principal]], Awaitable[Approvers]]
"""Who may answer such a question in the running turn, in which these have a say besides the owner: it is asked anew
for each."""


async def nobody(_: QuestionKind, __: Sequence[Principal]) -> Approvers:
    """There is nobody who could answer, so that every question is a no."""
    return Approvers()


def owner_at(address: Address) -> ApproversOf:
    """The owner of the home is there and answers everything."""

    async def owner(_: QuestionKind, __: Sequence[Principal]) -> Approvers:
        return Approvers((OWNER,), address, PersonRole.OWNER)

    return owner
