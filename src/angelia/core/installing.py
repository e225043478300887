"""How an optional part is installed."""


def installing(extra: str) -> str:
    """The command, for a package and for a clone, whose environment has no pip.

    >>> installing("voice")
    "pip install 'angelia[voice]' (in a clone: make add PART=voice)"
    """
    return f"pip install 'angelia[{extra}]' (in a clone: make add PART={extra})"
