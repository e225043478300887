"""What calls may ask of earlier conversations, as a service of `tools.port.ConversationContext`."""

from typing import Protocol

from msgspec import Struct

from angelia.core.entry import NO_PAYMENT, Payment


class PastQuestion(Struct, frozen=True):
    """What is looked for in earlier conversations; days are YYYY-MM-DD, and what is empty does not narrow it.

    `kind` is `people`, `replies` or `tools`; `folder` begins the path in which they worked.
    """

    query: str
    since: str = ""
    before: str = ""
    folder: str = ""
    kind: str = ""


class PastFound(Struct, frozen=True):
    """What a search of earlier conversations is told as, and what it cost, where a model ordered what was found."""

    text: str
    paid: Payment = NO_PAYMENT


class PastAccess(Protocol):
    """Earlier conversations of the same person, in a group those of the chat alone."""

    @property
    def may_cost(self) -> Payment:
        """Who is paid for a search and how much at most, as in `UsePainter`; nothing where nobody is."""
        ...

    async def search(self, question: PastQuestion, limit: int) -> PastFound:
        """The best messages with what stood beside each, and what was searched.

        Raises:
            BadInput: there is no word in it, or no such day.
        """
        ...

    async def read(self, conversation: str, near: int, turns: int) -> str:
        """The messages around number `near` of a conversation, whose id ends so.

        Raises:
            NotFound: there is none that may be read here.
        """
        ...
