"""What fills a model's window, by kind."""

from collections.abc import Sequence

from angelia.context.budget import Size, part_size
from angelia.context.request import Result, Role, Shown
from angelia.context.view import View
from angelia.core.content import Thinking, ToolCall

KINDS = (
    "prompt and tools",
    "summary",
    "your words",
    "answers",
    "thinking",
    "calls",
    "results",
    "pictures and files",
)


def contents(view: View, fixed: Size) -> dict[str, int]:
    """Estimated tokens of the next request by kind; every kind of `KINDS` is there, in that order."""
    tokens = dict.fromkeys(KINDS, 0)
    tokens["prompt and tools"] = fixed.tokens
    folded = view.generation if view.moved and view.moved.summary else 0
    for message in (*view.messages, *view.unheard, *view.notes):
        for part in message.parts:
            if message.seq == folded:
                kind = "summary"
            elif isinstance(part, Result):
                _count_result(part, view, tokens)
                continue
            else:
                kind = _kind(part, message.role)
            tokens[kind] += part_size(part, view.profile).tokens
    return tokens


def _count_result(result: Result, view: View, tokens: dict[str, int]) -> None:
    for part in result.parts:
        kind = "pictures and files" if isinstance(part, Shown) else "results"
        tokens[kind] += part_size(part, view.profile).tokens


def _kind(part: object, role: Role) -> str:
    if isinstance(part, Shown):
        return "pictures and files"
    if isinstance(part, Thinking):
        return "thinking"
    if isinstance(part, ToolCall):
        return "calls"
    return "answers" if role is Role.ASSISTANT else "your words"


BAR = 12
"""Blocks of a bar: a row fits a window of fifty columns."""


def bar(tokens: int, of: int, width: int) -> str:
    """A share as a bar of `width` blocks; anything above nothing shows at least one.

    >>> bar(25, 100, 8)
    '██░░░░░░'
    """
    filled = min(width, max(round(tokens / of * width), 1 if tokens else 0)) if of else 0
    return "█" * filled + "░" * (width - filled)


def rows(tokens: dict[str, int], window: int) -> Sequence[tuple[str, str, str, str]]:
    """A table of what fills the window: kind, bar, tokens, share; what is left comes last."""
    used = sum(tokens.values())
    table = [(kind, bar(count, window, BAR), f"{count:,}", f"{count / window:.0%}") for kind, count in tokens.items()]
    left = max(window - used, 0)
    return [row for row in table if row[2] != "0"] + [
        ("free", bar(left, window, BAR), f"{left:,}", f"{left / window:.0%}")
    ]
