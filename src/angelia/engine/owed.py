"""What may be owed for a call whose end nobody heard: noted before it begins, told and booked where it is cut off."""

from collections.abc import Sequence

from angelia.context.usage_meter import money
from angelia.core import entry as e
from angelia.core.content import Text, ToolCall
from angelia.core.ids import ConversationId, delivery_id
from angelia.policy.verdict import Effect, UsePainter, UseRanker, UseSpeaker


def may_cost(effects: Sequence[Effect]) -> e.Payment:
    """What a call with these effects is owed at most; nothing for one that pays nobody."""
    for one in effects:
        match one:
            case (
                UsePainter(painter=to, may_cost=cost)
                | UseSpeaker(speaker=to, may_cost=cost)
                | UseRanker(ranker=to, may_cost=cost)
            ) if cost:
                return e.Payment(to, cost)
            case _:
                pass
    return e.NO_PAYMENT


def owed_in_words(owed: e.Payment) -> str:
    """A sentence on it; empty where nothing is owed.

    >>> owed_in_words(e.Payment("openai:gpt-image-2", 40_000))
    'openai:gpt-image-2 may have to be paid for it all the same: $0.04 are booked.'
    >>> owed_in_words(e.Payment("openai:gpt-image-2", -1))
    'openai:gpt-image-2 may have to be paid for it all the same, and nobody knows how much.'
    """
    if not owed.cost:
        return ""
    much = f": {money(owed.cost)} are booked." if owed.cost > 0 else ", and nobody knows how much."
    return f"{owed.to} may have to be paid for it all the same{much}"


def with_owed(why: str, owed: e.Payment) -> str:
    """Why a call was cut off, and what may be owed for it."""
    return f"{why} {owed_in_words(owed)}".rstrip()


def notices(
    conversation: ConversationId, calls: Sequence[ToolCall], owed: e.Payment, address: e.Address | None
) -> list[e.AnyFact]:
    """What the person is told where money may be gone for nothing, for the commit that holds the results."""
    if not owed.cost or address is None:
        return []
    return [
        e.DeliveryQueued(
            delivery_id(conversation, f"{call.id}.owed"),
            address,
            (Text(f"`{call.name}` was cut off, and is not run again by itself. {owed_in_words(owed)}"),),
            "notice",
        )
        for call in calls
    ]
