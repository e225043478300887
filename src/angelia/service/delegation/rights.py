"""What a child conversation may call: never what speaks to people by itself, or begins turns elsewhere."""

from angelia.core.entry import ChildTerms

_NEVER = frozenset({"ask_user", "schedule", "schedules", "unschedule", "stay_silent", "remember"})


def may_call(terms: ChildTerms | None, tool: str) -> bool:
    """Whether a conversation has a tool; `terms` are None where a person speaks.

    >>> may_call(None, "ask_user")
    True
    """
    return terms is None or (tool not in _NEVER and (not terms.tools or tool in terms.tools))
