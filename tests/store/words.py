"""Short ways to say common facts."""

from angelia.core.content import Text
from angelia.core.entry import Address, ModelSaid, StopReason, Usage, UserSaid


def said(text: str, key: str = "", door: str = "terminal") -> UserSaid:
    return UserSaid((Text(text),), key=key, address=Address(door))


def answered(text: str, cost: int = 0, usage: Usage | None = None) -> ModelSaid:
    return ModelSaid("test:model", (Text(text),), StopReason.END, usage or Usage(), cost)
