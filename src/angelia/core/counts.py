"""So many of something, in words: one of it in the singular."""


def counted(count: int, what: str) -> str:
    """So many of something, which is given in the singular.

    >>> counted(1, "entry"), counted(0, "sandbox"), counted(2000, "day")
    ('1 entry', '0 sandboxes', '2,000 days')
    """
    return f"{count:,} {what if count == 1 else plural(what)}"


def plural(what: str) -> str:
    """More than one of it, or none.

    >>> [plural(what) for what in ("file", "delivery", "key", "box", "batch")]
    ['files', 'deliveries', 'keys', 'boxes', 'batches']
    """
    if what.endswith("y") and what[-2:-1] not in "aeiou":
        return f"{what[:-1]}ies"
    return f"{what}es" if what.endswith(("s", "x", "ch", "sh")) else f"{what}s"
