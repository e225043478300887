"""A conversation that begins with the past of another: where it may begin, and what of that past is not its own."""

from collections.abc import Awaitable, Callable, Sequence

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.core.ids import NO_KEY, Clock, CommandKey, ConversationId, new_conversation
from angelia.core.principal import OWNER
from angelia.engine.background import BackgroundWork
from angelia.engine.state import Turn, advance
from angelia.service.conversation.worked_folder import WorkedFolder
from angelia.service.settings.rules import SCHEDULE
from angelia.store.log.transcript import Transcript

_ALONE = frozenset({"terminal", "python", e.BATCH})
"""Doors at which a turn that is gone on with answers whoever forked it, and nobody else."""


LayOut = Callable[[Sequence[e.Entry], int], Awaitable[str]]
"""Lays out the files of a conversation as they were at one of its entries; where."""


async def same_folder(entries: Sequence[e.Entry], upto: int) -> str:
    """The folder of the original, as it is by now; see `LayOut`."""
    return WorkedFolder().now(entries)


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
        StoreDamaged, CodecError: it cannot be read.
    """
    entries = await transcript.entries(source)
    first = entries[0].fact
    assert isinstance(first, e.ConversationOpened)
    if first.door in (SCHEDULE, e.PARENT):
        what = "is a schedule" if first.door == SCHEDULE else "works for another conversation"
        raise BadInput(f"This {what}, and cannot be forked.", then="Fork the conversation in which you speak.")
    if at > len(entries):
        raise BadInput(
            f"It has {len(entries)} entries, and none of number {at}.", then="`angelia show --json` has them."
        )
    upto = at or _last_rest(entries)
    past = entries[:upto]
    if at:
        _demand_own_turn(past)
    made = new_conversation(clock)
    opened = e.ConversationOpened(
        "terminal",
        await lay_out(entries, upto),
        first.sandbox,
        first.owner,
        first.preset,
        notes=first.notes,
        fork=e.ForkedFrom(source, upto, asked.door, asked.key),
    )
    if not await transcript.fork(opened, made, _left_with_the_original(past)):
        known = await transcript.of_key(OWNER, asked.door, asked.key)
        assert known is not None
        return known
    return made


def _last_rest(entries: Sequence[e.Entry]) -> int:
    """The last entry before the turn that is open, or the last of all."""
    turn = advance(Turn(), entries)
    return max(turn.opened - 1, 1) if turn.opened else len(entries)


def _demand_own_turn(past: Sequence[e.Entry]) -> None:
    """A turn in whose midst it begins goes on in it; where that would be answered in a chat, there is none.

    Raises:
        BadInput: it would.
    """
    turn = advance(Turn(), past)
    if turn.opened and turn.opener and turn.opener.address.door not in _ALONE:
        raise BadInput(
            f"A turn is open at entry {past[-1].seq}; it would be answered at {turn.opener.address.door} once more.",
            then=f"Fork it at {turn.opened - 1}, before that turn.",
        )


def _left_with_the_original(past: Sequence[e.Entry]) -> list[e.AnyFact]:
    """Ends what is not gone on with here."""
    facts = [entry.fact for entry in past]
    settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
    sent = [fact.id for fact in facts if isinstance(fact, e.DeliveryQueued) and fact.id not in settled]
    told = Text("It goes on in the conversation that this one was forked from, and is not told of here.")
    return [
        *(e.WorkEnded(work.call, work.work, CallStatus.UNKNOWN, (told,)) for work in BackgroundWork().now(past)),
        *(e.DeliverySettled(one, e.DeliveryStatus.SENT) for one in sent),  # a detail would be told to the model
    ]
