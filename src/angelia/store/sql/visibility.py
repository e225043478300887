"""Whose rows a query may show: the owner of the home sees all that is in it, everybody else what is their own."""

from angelia.core.principal import OWNER, Principal

AUDIT = "audit"
"""The door, and the id, of the log that holds what was done to the home."""

RECORDS = f"('schedule', 'import', '{AUDIT}')"
"""The doors of logs that hold what was arranged or done, and nothing that was said."""

APART = "('parent', 'batch')"
"""The doors of conversations in which no person speaks: what opened them shows them."""


def visible_to(viewer: Principal, column: str = "owner") -> tuple[str, tuple[str, ...]]:
    """`Principal.sees` as a condition on the column that says whose a row is, and its values.

    >>> visible_to(OWNER)
    ('true', ())
    >>> visible_to(Principal("telegram", "4711"), "c.owner")
    ('c.owner = ?', ('telegram:4711',))
    """
    return ("true", ()) if viewer == OWNER else (f"{column} = ?", (str(viewer),))
