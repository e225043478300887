"""Which turn is open at an entry of a long log, read from the end of what came before it."""

from collections.abc import Sequence

from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.engine.state import Turn, advance
from angelia.store.log.transcript import Transcript

TURNS = (e.UserSaid, e.Occurred, e.Delegated, e.ModelAsked, e.CancelAsked, e.TurnClosed)
"""What opens and closes turns, and what says which messages have been read."""

_FEW = 200
"""Entries among which the end of an earlier turn is looked for first."""


async def turn_at(transcript: Transcript, conversation: ConversationId, upto: int) -> Turn:
    """The turn that is open after entry number `upto`: which message opened it, and who. The rest of it is not known.

    Raises:
        CodecError: an entry cannot be read by this version.
    """
    few = _FEW
    while True:
        after = max(upto - few, 0)
        told = await transcript.of_kinds(conversation, TURNS, after, upto)
        begin = after_rest(told) if after else 0
        if begin or not after:
            return advance(Turn(), told[begin:])
        few *= 8


def after_rest(told: Sequence[e.Entry]) -> int:
    """The place in `told`, entries of the kinds of `TURNS`, after the last ending which certainly left nothing to be
    read; 0 if none is known.

    A turn that ends may leave messages, which open the next one or go along with it. The next request reads one of
    them at least; so where it reads only what was said since, none was left.
    """
    heard: Sequence[int] = ()
    for place in range(len(told) - 1, -1, -1):
        match told[place]:
            case e.Entry(fact=e.ModelAsked() as asked):
                heard = asked.heard
            case e.Entry(seq=seq, fact=e.TurnClosed()) if heard and min(heard) > seq:
                return place + 1
            case _:
                pass
    return 0
