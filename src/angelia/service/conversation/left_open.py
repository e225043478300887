"""Which conversations have something open that nobody works on: a process died, and whoever began it may not know."""

from collections.abc import Sequence

from angelia.core.errors import CodecError, StoreDamaged
from angelia.core.ids import ConversationId, short
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, folding, waits_for_program
from angelia.store.log.transcript import Transcript


async def left_open(transcript: Transcript, some: Sequence[ConversationId]) -> list[ConversationId]:
    """Those of these conversations with a turn, or a message that no turn has read, which nobody drives; in the same
    order. A turn that waits for what a program brings is none of them, nor a conversation that cannot be read.
    """
    maybe = await transcript.unfinished(some)
    driven = await transcript.at_work(maybe)
    return [one for one in maybe if one not in driven and await _is_open(transcript, one)]


async def _is_open(transcript: Transcript, conversation: ConversationId) -> bool:
    try:
        turn = await in_slices(folding(Turn(), await transcript.entries(conversation)))
    except (StoreDamaged, CodecError):  # it is told where it is read
        return False
    return bool(turn.opened or turn.unread) and not waits_for_program(turn)


def told(conversations: Sequence[ConversationId]) -> str:
    """What a person reads of them, with what to do; empty for none."""
    if not conversations:
        return ""
    if len(conversations) == 1:
        one = short(conversations[0])
        return (
            f"{one} has a turn that nobody works on any more: the process that did has ended."
            f" angelia chat --resume {one} goes on with it."
        )
    return (
        f"{', '.join(map(short, conversations))} have turns that nobody works on any more: the processes that did have"
        " ended. angelia chat --resume ID goes on with one."
    )
