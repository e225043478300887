"""A change of a text file, as the model and as people see it."""

from itertools import islice

from angelia.core.counts import counted
from angelia.core.entry import Diff
from angelia.core.text import shorten

MOST_LINES = 60
"""Lines of a diff that the model is shown."""

MOST_CHARACTERS = 1_000_000
"""Of old and new together: larger changes are not kept as a `Diff`, which stores both texts whole."""


def diff_text(old: str, new: str) -> str:
    """A unified diff without its header, two lines of context, at most 60 lines of at most 200 characters."""
    if len(old) + len(new) > MOST_CHARACTERS:
        return "(too large to show as a diff)"
    import difflib

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
    shown = [shorten(line, 200) for line in islice(lines, 2, 2 + MOST_LINES)]
    more = sum(1 for _ in lines)
    if more:
        shown.append(f"… ({counted(more, 'more line')} of diff)")
    return "\n".join(shown)


def saved_note(written: str, stands: str) -> str:
    r"""What the model should know where the file is not quite what was written; empty where it is.

    >>> saved_note("a=1", "a = 1\n")
    ' The editor gave it another form when it saved it; the diff shows what stands there.'
    """
    same = written.replace("\r\n", "\n") == stands.replace("\r\n", "\n")
    return "" if same else " The editor gave it another form when it saved it; the diff shows what stands there."


def diffs_of(path: str, old: str, new: str) -> tuple[Diff, ...]:
    """The change for people; none where it is too large to keep, or where nothing changed."""
    if old == new or len(old) + len(new) > MOST_CHARACTERS:
        return ()
    return (Diff(path, old, new),)
