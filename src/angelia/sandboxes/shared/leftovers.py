"""Whether something that a command left still lives in a place that outlives it.

A command's tree is ended with it, as far as it can be known by descent, group, session and mark; one that wants to get
away from all of them can. In such a place what nobody of us begun from outside has a parent there.
"""

from typing import Protocol, runtime_checkable

_LOOKS = 3
COUNT = (
    f"exec 2>/dev/null; for look in {' '.join(map(str, range(_LOOKS)))}; do n=0; for p in /proc/[0-9]*; do "
    "line=; while read -r x; do line=$x; done <$p/stat; "
    "case ${line##*') '} in ''|Z*|X*|?' 0 '*) ;; *) n=$((n + 1));; esac; done; echo $n; done"
)
"""For the place's shell: how many processes live there that have a parent there, looked at three times (proc(5)); a
name may hold line ends.
"""
_OWN = 1
"""Of the place itself: the `sleep` between two looks whether anybody is there. Something that takes its name, and ends
it at each instant, is not told from it.
"""


@runtime_checkable
class HasLeftovers(Protocol):
    """A sandbox whose place outlives its commands."""

    async def lives_on(self) -> bool:
        """Whether something may live there that a command has left, or runs there now; True where nobody tells."""
        ...


def is_quiet(counted: str) -> bool:
    """Whether `COUNT` has found nobody.

    >>> is_quiet("1 0 1"), is_quiet("1 1 2"), is_quiet("")
    (True, False, False)
    """
    counts = counted.split()
    return len(counts) == _LOOKS and all(count.isdigit() and int(count) <= _OWN for count in counts)
