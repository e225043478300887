"""A conversation that begins with the past of another: where it may begin, and what of that past is not its own.

Of the past only those entries are read that say this, however long it is: the store copies it as it lies there, and
whoever goes on with it looks whether it is whole.
"""

from collections.abc import Awaitable, Callable

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.counts import counted
from angelia.core.errors import BadInput
from angelia.core.ids import NO_KEY, Clock, CommandKey, ConversationId, DeliveryId, new_conversation
from angelia.core.principal import OWNER
from angelia.engine.background import BackgroundWork
from angelia.engine.state import Turn
from angelia.service.conversation.turn_at_entry import turn_at
from angelia.service.settings.rules import SCHEDULE
from angelia.store.log.transcript import Transcript

_ALONE = frozenset({"terminal", "python", e.BATCH})
"""Doors at which a turn that is gone on with answers whoever forked it, and nobody else."""


LayOut = Callable[[Transcript, ConversationId, int], Awaitable[str]]
"""Lays out the files of a conversation as they were at one of its entries; where."""


async def same_folder(transcript: Transcript, source: ConversationId, upto: int) -> str:
    """The folder of the original, as it is by now; see `LayOut`."""
    return (await transcript.summary(OWNER, source)).workspace


async def fork_conversation(
    transcript: Transcript,
    source: ConversationId,
    at: int,
    clock: Clock,
    lay_out: LayOut = same_folder,
    asked: CommandKey = NO_KEY,
) -> ConversationId:
    """Begin a conversation with the entries of `source` up to the number `at`; 0 is the last one at which no turn was
    open. It works where its files are laid out, in a place of its own. Asked for again under the same key, it is the
    one that was begun.

    What the original had sent out, and what went on behind its calls, stays its own.

    Raises:
        NotFound, BadInput: there is no such conversation or entry, or none can begin there.
        StoreDamaged, CodecError: what was read of it is not readable, or an entry is missing. What else is damaged in
            it is so in the fork, and told to whoever goes on with that.
    """
    first = await transcript.opening(source)
    if first.door in (SCHEDULE, e.PARENT):
        what = "is a schedule" if first.door == SCHEDULE else "works for another conversation"
        raise BadInput(f"This {what}, and cannot be forked.", then="Fork the conversation in which you speak.")
    last = (await transcript.summary(OWNER, source)).last_seq
    if at > last:
        raise BadInput(
            f"It has {counted(last, 'entry')}, and none of number {at}.", then="`angelia show --json` has them."
        )
    turn = await turn_at(transcript, source, at or last)
    if at:
        _demand_own_turn(turn, at)
    upto = at or (max(turn.opened - 1, 1) if turn.opened else last)
    left = await _left_with_the_original(transcript, source, upto, last)
    made = new_conversation(clock)
    opened = e.ConversationOpened(
        "terminal",
        await lay_out(transcript, source, upto),
        first.sandbox,
        first.owner,
        first.preset,
        notes=first.notes,
        fork=e.ForkedFrom(source, upto, asked.door, asked.key),
    )
    if not await transcript.fork(opened, made, left):
        known = await transcript.of_key(OWNER, asked.door, asked.key)
        assert known is not None
        return known
    return made


def _demand_own_turn(turn: Turn, at: int) -> None:
    """A turn in whose midst it begins goes on in it; where that would be answered in a chat, there is none.

    Raises:
        BadInput: it would.
    """
    if turn.opened and turn.opener and turn.opener.address.door not in _ALONE:
        raise BadInput(
            f"A turn is open at entry {at}; it would be answered at {turn.opener.address.door} once more.",
            then=f"Fork it at {turn.opened - 1}, before that turn.",
        )


async def _left_with_the_original(
    transcript: Transcript, source: ConversationId, upto: int, last: int
) -> list[e.AnyFact]:
    """Ends what is not gone on with here: work, and what was on its way."""
    past = await transcript.of_kinds(source, (e.WorkStarted, e.WorkEnded), 0, upto)
    told = Text("It goes on in the conversation that this one was forked from, and is not told of here.")
    return [
        *(e.WorkEnded(work.call, work.work, CallStatus.UNKNOWN, (told,)) for work in BackgroundWork().now(past)),
        *(
            e.DeliverySettled(one, e.DeliveryStatus.SENT)  # a detail would be told to the model
            for one in await _on_its_way(transcript, source, upto, last)
        ),
    ]


async def _on_its_way(transcript: Transcript, source: ConversationId, upto: int, last: int) -> list[DeliveryId]:
    """What had been sent out at an entry, and not settled: now neither, or settled after it."""
    told = await transcript.of_kinds(source, (e.DeliveryQueued, e.DeliverySettled), upto, last)
    later = [entry.fact for entry in told]
    queued = {fact.id for fact in later if isinstance(fact, e.DeliveryQueued)}
    settled = (fact.id for fact in later if isinstance(fact, e.DeliverySettled) and fact.id not in queued)
    return list(dict.fromkeys((*await transcript.undelivered(source, upto), *settled)))
