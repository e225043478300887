"""Where a request carries marks that tell Anthropic which prefix of it to keep in the prompt cache."""

from collections.abc import Sequence

from angelia.context.request import RequestMessage, Role

STRIDE = 8
"""How many messages the resting marks let pass before they move; a look-up goes back 20 blocks from a mark."""


def mark_of(hour: bool) -> dict[str, str]:
    """The mark itself; it lasts five minutes or an hour."""
    return {"type": "ephemeral", "ttl": "1h"} if hour else {"type": "ephemeral"}


def mark_positions(messages: Sequence[RequestMessage], most: int) -> list[int]:
    """Which messages carry a mark: the last one, so that what is new is written once, and before it those
    at multiples of `STRIDE`, which stay while the list grows. An assistant's message is never marked: it may end
    with thinking, which cannot be.

    See "Prompt caching", https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
    """
    last = len(messages) - 1
    resting = range((last - 1) // STRIDE * STRIDE, -1, -STRIDE)
    wanted = [last, *resting][: max(most, 0)]
    found = {next((i for i in range(at, -1, -1) if messages[i].role is not Role.ASSISTANT), -1) for at in wanted}
    return sorted(found - {-1})


def marked(fragment: bytes, mark: bytes) -> bytes:
    """A copy of an encoded message with the mark in its last block; it ends with that block's `}` and `]}`."""
    return fragment[:-3] + b',"cache_control":' + mark + b"}]}" if fragment else fragment
