"""Who works for whom: a conversation and its helpers, as far as the log tells."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from angelia.context.usage_meter import UsageMeter, cost_words
from angelia.core import entry as e
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId, short
from angelia.core.text import one_line
from angelia.engine.state import Turn, advance
from angelia.service.delegation.outcome import cost_of, steps_of
from angelia.store.log.transcript import Transcript

NOT_OPENED = "not opened yet"
HEAD = ("WHO", "STATE", "SINCE", "CALLS", "COST", "WHAT")


class TreeRow(Struct, frozen=True):
    """A conversation in a tree, `depth` below the one that was asked for. `since` is Unix milliseconds.

    `state` is how it ended, or `works`, `asks`, `waits`; `cost` is millionths of a US dollar, with its ended children;
    `unpriced` are payments, of its own and below it, whose price nobody knows.
    """

    id: ConversationId
    depth: int
    name: str
    what: str
    state: str
    since: int
    steps: int
    cost: int
    unpriced: int = 0


async def tree_of(transcript: Transcript, conversation: ConversationId, title: str) -> list[TreeRow]:
    """A conversation and all below it, each parent before its children, these in the order in which they were opened.

    Raises:
        NotFound: it is gone.
        CodecError, StoreDamaged: an entry of it cannot be read.
    """
    return await _below(transcript, conversation, 0, short(conversation), title, None)


async def below(transcript: Transcript, conversation: ConversationId) -> list[ConversationId]:
    """The conversations that work for one, the deepest first: they are erased with it.

    Raises:
        NotFound, CodecError, StoreDamaged: as `tree_of`.
    """
    rows = await tree_of(transcript, conversation, "")
    return [row.id for row in reversed(rows[1:]) if row.state != NOT_OPENED]


async def _below(
    transcript: Transcript,
    conversation: ConversationId,
    depth: int,
    name: str,
    what: str,
    ended: e.WorkEnded | None,
) -> list[TreeRow]:
    log = await transcript.entries(conversation)
    steps, cost, unpriced = steps_of(log), cost_of(log), UsageMeter(log).unpriced
    rows: list[TreeRow] = []
    facts = [entry.fact for entry in log]
    ends = {fact.call: fact for fact in facts if isinstance(fact, e.WorkEnded)}
    for entry in log:
        started = entry.fact
        if isinstance(started, e.WorkStarted) and started.child:
            child, over = started.child, ends.get(started.call)
            try:
                rows += await _below(transcript, child.id, depth + 1, started.call, started.what, over)
            except NotFound:
                rows.append(TreeRow(child.id, depth + 1, started.call, started.what, NOT_OPENED, entry.at, 0, 0))
    unpriced += sum(row.unpriced for row in rows if row.depth == depth + 1)
    own = TreeRow(conversation, depth, name, what, _state(log, ended), log[0].at, steps, cost, unpriced)
    return [own, *rows]


def _state(log: Sequence[e.Entry], ended: e.WorkEnded | None) -> str:
    if ended and ended.child:
        return type(ended.child.ending).__name__ if ended.child.ending else "could not go on"
    turn = advance(Turn(), log)
    if not turn.opened:
        return "at rest"
    return "asks" if turn.waiting_since else "works"


def shown_rows(rows: Sequence[TreeRow], when: Callable[[int], str]) -> list[tuple[str, ...]]:
    """The rows of a table under `HEAD`."""
    return [
        (
            "  " * row.depth + row.name,
            row.state,
            when(row.since),
            str(row.steps),
            cost_words(row.cost, row.unpriced),
            one_line(row.what, 80),
        )
        for row in rows
    ]
