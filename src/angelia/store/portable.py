"""What SQLite and PostgreSQL do not have in common."""

_NUL, _SEEN_NUL = "\0", "\N{SYMBOL FOR NULL}"


def without_nul(value: object) -> object:
    r"""A value as both can hold it: PostgreSQL's texts hold no NUL. Entries are bytes and keep theirs; what is derived
    of them shows it by a sign.

    >>> without_nul("a\0b"), without_nul(b"a\0b")
    ('a␀b', b'a\x00b')
    """
    return value.replace(_NUL, _SEEN_NUL) if isinstance(value, str) else value


def ends_with(column: str) -> str:
    """A text column ends with a text, which is given twice.

    >>> ends_with("c.id")
    'substr(c.id, length(c.id) - length(?) + 1) = ?'
    """
    return f"substr({column}, length({column}) - length(?) + 1) = ?"
