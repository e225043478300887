"""What a message names behind an @: a file of the workspace, or what a server serves."""

import re

_WHOLE = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_AFTER = ".,;:!?)'"
"""What may stand behind a name in a sentence."""


def mentioned_names(text: str) -> list[tuple[str, ...]]:
    """Each name as it may be meant: as it stands, and without what belongs to the sentence.

    >>> mentioned_names('Compare @a.txt, @"my garden.md"! Not ann@b.txt')
    [('a.txt,', 'a.txt'), ('my garden.md',)]
    """
    names = (found[1] or found[2] for found in _WHOLE.finditer(text))
    return [tuple(dict.fromkeys((name, name.rstrip(_AFTER)))) for name in names]


def can_be_mentioned(mention: str) -> bool:
    """Whether a mention, with its @, is read as one name.

    >>> can_be_mentioned("@a.txt"), can_be_mentioned('@a"b')
    (True, False)
    """
    return _WHOLE.fullmatch(mention) is not None
