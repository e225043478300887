"""What a conversation has used so far, for the status line."""

from collections.abc import Sequence

from angelia.core import entry as e

_LEAST, _FEW = 100, 100_000
"""Millionths of a dollar: what is less is no number any more; what is less has four digits behind the point."""


class UsageMeter:
    """Tokens, money, and how full the context is; fed with entries as they come.

    `tokens` are in and out, `cost` is millionths of a US dollar, `unpriced` counts replies without a known price.
    `context` is the tokens of the last request and its reply, `cached` the share of that request that was cached.
    """

    def __init__(self, entries: Sequence[e.Entry] = ()) -> None:
        self.model = ""
        self.tokens = 0
        self.cost = 0
        self.unpriced = 0
        self.replies = 0
        self.context = 0
        self.cached = 0.0
        for entry in entries:
            self.add(entry)

    def add(self, entry: e.Entry) -> None:
        """Count one entry."""
        match entry.fact:
            case e.ModelAsked(model=model):
                self.model = model
            case e.ModelSaid(usage=usage, cost=cost, covers=covers):
                self._count(usage, cost)
                self.unpriced = max(self.unpriced - covers, 0)  # those that were not counted here need no price
                self.context = usage.input + usage.output
                self.cached = usage.cache_read / usage.input if usage.input else 0.0
            case e.ModelFailed(usage=usage, cost=cost) if usage != e.Usage():
                self._count(usage, cost)
            case e.ViewMoved() as fact:
                if fact.usage != e.Usage():
                    self._count(fact.usage, fact.cost)
                self.context = fact.tokens_after or self.context
            case e.ToolFinished(paid=paid) | e.SpeechMade(paid=paid):
                self.cost += max(paid.cost, 0)
                self.unpriced += paid.cost < 0
            case _:
                pass

    def _count(self, usage: e.Usage, cost: int) -> None:
        self.replies += 1
        self.tokens += usage.input + usage.output
        self.cost += max(cost, 0)
        self.unpriced += cost < 0

    def words(self, window: int) -> list[str]:
        """Tokens, cost and context, each only where it is known; `window` is the model's, in tokens, 0 if unknown."""
        words = [f"{count(self.tokens)} tokens"] if self.tokens else []
        if self.cost or (self.replies and not self.unpriced):
            words.append(cost_words(self.cost, self.unpriced))
        if self.context:
            share = f"{self.context / window:.0%}" if window else count(self.context)
            words.append(f"context {share}" + (f" ({self.cached:.0%} cached)" if self.cached else ""))
        return words


def count(number: int) -> str:
    """A number of tokens, readable at a glance.

    >>> count(950), count(12_345), count(2_500_000)
    ('950', '12.3k', '2.5M')
    """
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def money(millionths: int) -> str:
    """An amount in US dollars; small ones with more digits, as far as they have any. The page says it alike (words.js).

    >>> money(0), money(20), money(1_234), money(20_000), money(2_500_000)
    ('$0.00', 'under $0.0001', '$0.0012', '$0.02', '$2.50')
    """
    if 0 < millionths < _LEAST:
        return f"under ${_LEAST / 1e6:.4f}"
    if millionths >= _FEW:
        return f"${millionths / 1e6:.2f}"
    text = f"${millionths / 1e6:.4f}"
    return text[:-2] + text[-2:].rstrip("0")


def cost_words(millionths: int, unpriced: int) -> str:
    """An amount in US dollars, besides which so many payments have no known price. The page says it alike (words.js).

    >>> cost_words(20_000, 0), cost_words(0, 3), cost_words(20_000, 1)
    ('$0.02', 'price unknown', 'at least $0.02')
    """
    if not unpriced:
        return money(millionths)
    return f"at least {money(millionths)}" if millionths >= _LEAST else "price unknown"
