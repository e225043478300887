"""Asks the same again: a conversation in which a person's messages of another one are said once more, in order.

It works in a copy of the folder as it was then, in a sandbox of its own, and nobody is there who could be asked; so
what needed a person's yes is refused. What was said while a turn ran is said when that turn is over. Nothing goes out:
what it would have delivered is settled at once.
"""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.ids import Clock, ConversationId, DeliveryId
from angelia.policy.approvers import nobody
from angelia.service.conversation.conversations import Conversations
from angelia.service.conversation.forks import LayOut, fork_conversation
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.store.log.transcript import Transcript


class ReplayDeps(Struct, frozen=True):
    """What a replay needs of a home. `lay_out` puts the files where they were."""

    conversations: Conversations
    transcript: Transcript
    clock: Clock
    lay_out: LayOut


async def replay(deps: ReplayDeps, source: ConversationId, model: str, since: int) -> ConversationId:
    """Say again what was said in `source` from entry `since` on, to `model`. What came before is the past of both.

    Raises:
        BadInput: nothing was said there from that entry on, or it cannot be forked before it.
        StoreError, SandboxError, ConfigError: it cannot be read, worked in, or asked.
    """
    entries = await deps.transcript.entries(source)
    messages = [entry.fact for entry in entries[since - 1 :] if isinstance(entry.fact, e.Opening)]
    session = await _begun(deps, source, entries, since)
    try:
        if not messages and not session.turn.opened:
            raise BadInput(f"Nothing was said from entry {since} on.", then="`angelia show --json` has the numbers.")
        await deps.conversations.employ(session, model, approvers=nobody)
        if session.turn.opened:
            await session.settled()
        for message in messages:
            await session.say(message.parts, address=TERMINAL)
            await session.settled()
        if settled := [e.DeliverySettled(one, e.DeliveryStatus.SENT) for one in _unsettled(session.log.entries)]:
            await session.record(*settled)
    finally:
        await deps.conversations.leave(session)
    return session.conversation


async def _begun(deps: ReplayDeps, source: ConversationId, entries: Sequence[e.Entry], since: int) -> Session:
    if since > 1:
        made = await fork_conversation(deps.transcript, source, since - 1, deps.clock, deps.lay_out)
        return await deps.conversations.resume(made, door=TERMINAL.door)
    first = entries[0].fact
    assert isinstance(first, e.ConversationOpened)
    folder = await deps.lay_out(deps.transcript, source, 1)
    opened = e.ConversationOpened(TERMINAL.door, folder, first.sandbox, first.owner, first.preset, notes=first.notes)
    return deps.conversations.begin_as(opened, door=TERMINAL.door)


def _unsettled(entries: Sequence[e.Entry]) -> list[DeliveryId]:
    facts = [entry.fact for entry in entries]
    settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
    return [fact.id for fact in facts if isinstance(fact, e.DeliveryQueued) and fact.id not in settled]
