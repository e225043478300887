"""Where a turn stands, and the id by which programs know it and ask for it again."""

import re

from msgspec import Struct

from angelia.core.ids import ConversationId
from angelia.faces.web.v1.refusals import unknown

_PLACE = re.compile(r"[a-z]+[-_]([0-9a-z]{26})[-_]([1-9][0-9]{0,9})", re.ASCII)


class TurnPlace(Struct, frozen=True):
    """Where the message stands that opened a turn."""

    conversation: ConversationId
    seq: int

    def named(self, kind: str) -> str:
        """The id by which programs know the turn, such as resp_01jd4v0wkq9m7zx3t5c8r2n6hb_2."""
        return f"{kind}_{self.conversation}_{self.seq}"


def place_in(own: str) -> TurnPlace:
    """The place that an id names; the inverse of `TurnPlace.named`.

    Raises:
        ApiRefused: it names none.
    """
    found = _PLACE.fullmatch(own)
    if found is None:
        raise unknown(own)
    return TurnPlace(ConversationId(found[1]), int(found[2]))
